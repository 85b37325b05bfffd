"""`sapwood bench`: names, forms of output, exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapwood.bench import registry
from sapwood.bench.registry import Benchmark, Options, Progress
from sapwood.bench.report import Line, Report, Style, Table
from sapwood.cli import bench
from sapwood.cli.main import run as run_command

Captured = pytest.CaptureFixture[str]


def run(options: Options, progress: Progress) -> Report:
    """Stands for a benchmark: says what it was asked for."""
    progress("measuring")
    lines = [
        Line("events/s", style=Style.HEADING),
        Line("Sapwood", ("100", "200"), Style.OWN),
        Line("to reach", ("≥ 50", ""), Style.TARGET),
    ]
    return Report(
        figures={"options": options._asdict()},
        tables=[Table("speed", ("10 filters", "20 filters"), lines)],
        notes=["Measured by hand."],
        conclusion="It is quick.",
        is_right=options.seed != 13,
    )


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("matching", "other")
    made = {name: Benchmark(f"about {name}", __name__) for name in names}
    monkeypatch.setattr(registry, "BENCHMARKS", made)


def test_tables_notes_and_conclusion_are_printed(capsys: Captured) -> None:
    assert run_command(["bench", "matching"]) == 0
    out, err = capsys.readouterr()
    assert err == "measuring\n"
    lines = [" ".join(line.split()) for line in out.splitlines() if line.strip()]
    assert lines[0] == "speed"
    assert lines[1] == "10 filters 20 filters"
    assert lines[3:8] == [
        "events/s",
        "Sapwood 100 200",
        "to reach ≥ 50",
        "Measured by hand.",
        "It is quick.",
    ]
    assert lines[8].startswith("Measured on ")
    assert max(map(len, out.splitlines())) <= 80


def test_json_is_one_object(capsys: Captured) -> None:
    arguments = ["--quick", "--seed", "4", "--filters", "10", "--filters", "20", "--json"]
    assert run_command(["bench", "matching", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == "measuring\n"
    found = json.loads(out)
    machine = found.pop("machine")
    assert machine["cores"] >= 1
    options = {
        "quick": True,
        "seed": 4,
        "filters": [10, 20],
        "before": "",
        "live": 0,
        "figure": "",
    }
    assert found == {
        "seed": 4,
        "quick": True,
        "benchmarks": {"matching": {"options": options}},
    }


def test_without_a_name_all_are_run(capsys: Captured) -> None:
    assert run_command(["bench", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["benchmarks"]) == ["matching", "other"]


def test_wrong_answers_are_a_no(capsys: Captured) -> None:
    assert run_command(["bench", "matching", "--seed", "13"]) == 1
    assert "It is quick." in capsys.readouterr().out


def test_an_unknown_name_is_answered_with_the_known_ones(capsys: Captured) -> None:
    assert run_command(["bench", "nothing"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "error: there is no benchmark 'nothing'; there are: matching, other; "
        "see 'sapwood bench --help'\n"
    )


def test_the_help_names_every_benchmark(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.undo()
    assert run_command(["bench", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert ", ".join(registry.BENCHMARKS) == bench._NAMES
    assert f"One of {bench._NAMES}; all if none is given." in shown


@pytest.mark.parametrize(
    "wrong",
    [["--filters", "0"], ["--filters", "many"], ["--seed", "x"], ["--live", "5"], ["--live", "0"]],
)
def test_wrong_use(wrong: list[str], capsys: Captured) -> None:
    assert run_command(["bench", "matching", *wrong]) == 2
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.slow
def test_the_real_one(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.undo()
    assert run_command(["bench", "matching", "--quick", "--filters", "200", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["benchmarks"]["matching"]
    assert [each["identical"] for each in found["runs"]] == [True, True]


def test_a_figure_that_cannot_be_drawn_is_refused(capsys: Captured, tmp_path: Path) -> None:
    for name in ("cost.png", "missing/cost.svg"):
        assert run_command(["bench", "matching", "--figure", str(tmp_path / name)]) == 2
        assert "is no .svg file in a folder that is there" in capsys.readouterr().err
