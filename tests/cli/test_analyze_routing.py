"""`sapwood analyze routing`: which edges should flood."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapwood.cli.main import run

Captured = pytest.CaptureFixture[str]
SMALL = ["--levels", "3", "--classes", "10", "--subscriptions", "30"]


def test_the_peak_of_004(capsys: Captured) -> None:
    assert run(["analyze", "routing", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["edges"], len(found["flooding"])) == (252, 140)
    assert {name: round(value) for name, value in found["costs"].items()} == {
        "flooding": 63_000,
        "peer-to-peer": 107_284,
        "hierarchical": 26_654,
        "mix": 25_055,
    }
    assert "B2 -> B1" in found["flooding"]


def test_for_people(capsys: Captured) -> None:
    assert run(["analyze", "routing"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "127 brokers, height 6; 20,000 subscriptions, 500 publications/s"
    assert lines[7] == "140 of 252 edges flood:"
    assert lines[9].split() == ["1", "4", "2", "2"]
    assert lines[-1].split() == ["6", "128", "64", "0"]


def test_dear_control_messages_let_more_edges_flood(capsys: Captured) -> None:
    counts = []
    for price in ("1", "1000"):
        assert run(["analyze", "routing", *SMALL, "--control-cost", price, "--json"]) == 0
        counts.append(len(json.loads(capsys.readouterr().out)["flooding"]))
    assert counts[0] < counts[1]


def test_renewals_count(capsys: Captured) -> None:
    costs = []
    for refresh in ("0", "10"):
        options = ["--algorithm", "identity", "--refresh-seconds", refresh, "--json"]
        assert run(["analyze", "routing", *SMALL, *options]) == 0
        costs.append(json.loads(capsys.readouterr().out)["costs"]["peer-to-peer"])
    assert costs[0] < costs[1]


def test_a_figure(tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "mix.svg"
    assert run(["analyze", "routing", *SMALL, "--figure", str(file)]) == 0
    assert b"cheapest mix" in file.read_bytes()
    assert capsys.readouterr().err == f"drew {file}\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--algorithm", "best"], "routing: is 'best'; there are flooding, simple, identity"),
        (["--control-cost", "-1"], "control: is -1; wanted a finite rate, 0 or more"),
        (["--figure", "a.pdf"], "a.pdf ends in neither .svg nor .png"),
    ],
)
def test_what_is_refused(capsys: Captured, options: list[str], said: str) -> None:
    assert run(["analyze", "routing", *SMALL, *options]) == 2
    assert said in capsys.readouterr().err
