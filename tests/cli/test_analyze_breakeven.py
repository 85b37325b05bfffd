"""`sapwood analyze breakeven`: the thesis' table for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sapwood.cli.main import run

Captured = pytest.CaptureFixture[str]


def analyzed(capsys: Captured, *options: str) -> list[dict[str, Any]]:
    assert run(["analyze", "breakeven", *options, "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_the_eight_settings_of_the_thesis(capsys: Captured) -> None:
    found = analyzed(capsys)
    keys = ("publication_rate", "lifetime", "refresh_period", "subscriptions")
    assert [tuple(one[key] for key in keys) for one in found] == [
        (1000.0, 600.0, 60.0, 299_172),
        (1000.0, 600.0, 600.0, 483_799),
        (1000.0, 60.0, 60.0, 289_926),
        (1000.0, 60.0, 600.0, 467_912),
        (100.0, 600.0, 60.0, 122_460),
        (100.0, 600.0, 600.0, 289_926),
        (100.0, 60.0, 60.0, 92_475),
        (100.0, 60.0, 600.0, 184_450),
    ]
    assert found[6] == {
        "publication_rate": 100.0,
        "lifetime": 60.0,
        "refresh_period": 60.0,
        "subscriptions": 92_475,
        "subscriptions_publishers_at_root": 93_437,
        "gain_min": -2031.14,
        "gain_min_subscriptions": 361_403,
        "loss_share_max": 0.169262,
    }
    assert found[0]["gain_min_subscriptions"] is None


def test_one_setting_without_leases(capsys: Captured) -> None:
    options = ["--publication-rate", "100", "--lifetime", "60", "--refresh-seconds", "0"]
    found = analyzed(capsys, *options)
    assert [(one["refresh_period"], one["subscriptions"]) for one in found] == [(None, 239_564)]


def test_for_people(capsys: Captured) -> None:
    assert run(["analyze", "breakeven", "--lifetime", "600", "--refresh-seconds", "60"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "complete tree of 121 brokers, 81 leaves; 1,000 classes"
    assert lines[3].split() == ["1000", "600", "s", "60", "s", "299,172", "-2,000.0", "the",
                                "limit", "1.67%"]  # fmt: skip
    assert len(lines) == 5


def test_nothing_is_saved_where_there_is_one_broker(capsys: Captured) -> None:
    assert run(["analyze", "breakeven", "--levels", "1"]) == 0
    assert " none " in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_a_figure(tmp_path: Path, capsys: Captured, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / f"curves{suffix}"
    assert run(["analyze", "breakeven", "--figure", str(file)]) == 0
    assert capsys.readouterr().err == f"drew {file}\n"
    drawn = file.read_bytes()
    assert drawn[:4] == b"\x89PNG" if suffix == ".png" else b"renewed every 600 s" in drawn
    assert run(["analyze", "breakeven", "--figure", str(file)]) == 0
    assert file.read_bytes() == drawn


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--lifetime", "-1"], "error: lifetime: is -1; wanted a finite number above 0\n"),
        (["--publication-rate", "nan"], "error: publication_rate: is nan; wanted a finite rate"),
        (["--levels", "99"], "error: levels: is 99; with arity 3 that is more than"),
        (["--refresh-seconds", "-5"], "error: refresh_period: is -5; wanted seconds above 0\n"),
        (["--figure", "a.gif"], "Invalid value for --figure: a.gif ends in neither .svg nor .png"),
    ],
)
def test_what_is_refused(capsys: Captured, options: list[str], said: str) -> None:
    assert run(["analyze", "breakeven", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said.removeprefix("error: ") in captured.err
