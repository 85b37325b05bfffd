"""`sapwood analyze stabilization`: times for people and for programs, and what cannot work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sapwood.analysis.stabilization import Bounds, Network, Periods, bounds
from sapwood.cli.analyze import as_object
from sapwood.cli.main import run

Captured = pytest.CaptureFixture[str]
FORTY = ["--brokers", "40", "--height", "6"]


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAPWOOD_TOKEN", raising=False)


def analyzed(capsys: Captured, *options: str) -> dict[str, Any]:
    """What a program reads."""
    assert run(["analyze", "stabilization", *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def refused(capsys: Captured, *options: str) -> str:
    """The one line that says what cannot work."""
    assert run(["analyze", "stabilization", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removeprefix("error: ").rstrip("\n")


def test_for_people(capsys: Captured) -> None:
    assert run(["analyze", "stabilization", *FORTY]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "40 brokers, height 6, diameter 12; at most 0.05 s over a link",
        "refresh by digest every 30 s, of clients every 30 s; beacons every 3 s; audit every 300 s",
        "",
    ]
    assert "     25.25 s  tree              Δt     then the links are one tree" in lines
    assert (
        "     91.60 s  total             Δ      any fault but of derived state is healed" in lines
    )
    assert lines[-1] == (
        "idle cost: 51.8 bytes/s per link and direction (tables 3.8, streams 1.3, tree 46.7)"
    )
    assert max(map(len, lines)) <= 90


def test_the_bounds_by_name_in_seconds(capsys: Captured) -> None:
    found = analyzed(capsys, *FORTY)
    network = Network(brokers=40, height=6, diameter=12, delay_max=0.05)
    expected = bounds(network, Periods())
    for name in Bounds.__struct_fields__:
        assert found[name] == pytest.approx(getattr(expected, name)), name
    assert found["network"]["diameter"] == 12
    assert found["periods"]["refresh_period"] == 30.0
    assert found["idle_bytes_per_second"]["total"] == pytest.approx(51.766667)
    assert "published" not in found


def test_what_is_not_said_is_the_worst_that_the_defaults_allow(capsys: Captured) -> None:
    network = analyzed(capsys)["network"]
    assert (network["brokers"], network["height"], network["diameter"]) == (127, 63, 126)
    network = analyzed(capsys, "--depth-max", "5")["network"]
    assert (network["brokers"], network["height"], network["diameter"]) == (9, 4, 8)


def test_every_option_counts(capsys: Captured) -> None:
    found = analyzed(
        capsys, "--brokers", "30", "--height", "7", "--diameter", "9", "--delay-max", "0.4",
        "--delay-min", "0.1", "--wait-max", "0.2", "--depth-max", "20", "--ring-max", "8",
        "--refresh", "hop-lease", "--advertisements", "--refresh-seconds", "20",
        "--client-refresh-seconds", "25", "--beacon-seconds", "2", "--audit-seconds", "100",
        "--tick-seconds", "0.25", "--lock-seconds", "40", "--seek-seconds", "10",
        "--entries", "100",
    )  # fmt: skip
    assert found["network"] == {
        "brokers": 30, "height": 7, "diameter": 9, "delay_max": 0.4, "delay_min": 0.1,
        "wait_max": 0.2, "depth_max": 20, "ring_max": 8,
    }  # fmt: skip
    assert found["periods"] == {
        "refresh": "hop-lease", "tree": "beacons", "has_advertisements": True,
        "refresh_period": 20.0, "client_refresh_period": 25.0, "beacon_period": 2.0,
        "audit_period": 100.0, "tick": 0.25, "lock_time": 40.0, "seek_period": 10.0,
        "away_time": 86_400.0, "reconnect_time": 5.0,
    }  # fmt: skip
    assert found["idle_bytes_per_second"]["tables"] == pytest.approx(100 * 94 / 20)


def test_a_file_says_what_options_do_not(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "site.toml"
    file.write_text(
        'advertisements = "required"\n'
        "[stabilization]\nrefresh_seconds = 12\ndelay_max = 0.2\n[tree]\ndepth_max = 10\n"
    )
    found = analyzed(capsys, "--config", str(file), "--beacon-seconds", "2")
    assert (found["network"]["height"], found["network"]["delay_max"]) == (9, 0.2)
    assert found["periods"]["has_advertisements"] is True
    assert found["periods"]["refresh_period"] == 12.0
    assert found["periods"]["beacon_period"] == 2.0


def test_periods_for_a_stated_time(capsys: Captured) -> None:
    found = analyzed(capsys, *FORTY, "--seconds", "121.6")
    assert found["total_derived"] == pytest.approx(121.6)
    assert found["periods"]["refresh_period"] == pytest.approx(30.0)


def test_what_is_off_never_heals(capsys: Captured) -> None:
    assert analyzed(capsys, *FORTY, "--refresh", "off")["total"] is None
    assert run(["analyze", "stabilization", *FORTY, "--refresh", "off"]) == 0
    assert "       never  tables            Δr " in capsys.readouterr().out


def test_how_each_is_computed(capsys: Captured) -> None:
    assert run(["analyze", "stabilization", *FORTY, "--formulas", "--wait-max", "1"]) == 0
    out = capsys.readouterr().out
    assert "tables            Δr     ρ + τ + (d + 3)δ\n" in out
    assert "at most 0.05 s over a link, 1 s more for who waits for credit\n" in out


def test_the_papers_protocols_beside_ours(capsys: Captured) -> None:
    assert run(["analyze", "stabilization", *FORTY, "--published"]) == 0
    line = "    125.44 s      188.15 s       31.21 s  tree with three colours (Eq. 4.3)\n"
    assert line in capsys.readouterr().out
    found = analyzed(capsys, *FORTY, "--published")["published"]
    assert found[-1] == {
        "equation": "4.3",
        "name": "tree with three colours",
        "period": 31.209,
        "printed": 125.436,
        "corrected": 188.154,
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--delay-max", "2"],
            "--beacon-seconds is 3 s; wanted beacon period ≥ 2 · delay_max = 2 · 2 s = 4 s",
        ),
        (["--refresh-seconds", "0"], "--refresh-seconds is 0 s; a period is longer than 0 s"),
        (
            ["--brokers", "40", "--height", "70", "--depth-max", "9"],
            "--height is 70; 40 brokers reach 39 at most",
        ),
        (
            ["--brokers", "40", "--height", "9", "--depth-max", "9"],
            "--depth-max is 9; wanted depth_max ≥ height + 1 = 9 + 1 = 10",
        ),
        ([*FORTY, "--seconds", "20"], "--seconds is 20 s; wanted S ≥ Δs + Δt + Δr + α = 6.05 + "),
        ([*FORTY, "--seconds", "900", "--refresh", "off"], "--refresh is off: nothing heals in "),
        (["--refresh", "lease"], "Invalid value for --refresh: 'lease'; there are digest, batch, "),
        (
            ["--seconds", "300", "--audit-seconds", "3"],
            "--audit-seconds follows from --seconds; give one of the two; see ",
        ),
    ],
)
def test_what_cannot_work_is_one_line(capsys: Captured, options: list[str], said: str) -> None:
    assert refused(capsys, *options).startswith(said)


def test_what_is_wrong_in_a_file_is_said_with_its_key(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "site.toml"
    file.write_text("[tree]\nbeacon_seconds = 2\n")
    said = refused(capsys, "--config", str(file), "--delay-max", "1.5")
    assert said.startswith(f"{file}: tree.beacon_seconds is 2 s; wanted beacon period ≥ 2 · delay")
    file.write_text("[tree]\nbeacon_seconds = 40\n")
    said = refused(capsys, "--config", str(file))
    assert said.startswith(f"{file}: tree.beacon_seconds is 40 s; wanted beacon period ≤ refresh")


def test_a_group_alone_says_what_it_can_do(capsys: Captured) -> None:
    assert run(["analyze"]) == 2
    assert "stabilization" in capsys.readouterr().err


def test_numbers_are_as_exact_as_anybody_needs() -> None:
    network = Network(brokers=3, height=1, diameter=2, delay_max=0.1)
    found = as_object(network, Periods(), 0, with_published=False)
    assert found["age_max"] == 10.1


def test_stabilization_can_be_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    figure = tmp_path / "bounds.svg"
    asked = ["analyze", "stabilization", "--brokers", "7", "--figure", str(figure)]
    assert run(asked) == 0
    assert f"drew {figure}" in capsys.readouterr().err
    text = figure.read_text()
    for words in ("refresh period in seconds", "seconds at most", "7 brokers", "tables"):
        assert words in text
    assert run([*asked[:-1], "x.gif"]) == 2
