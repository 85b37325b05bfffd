"""`sapwood experiment`: what it prints, and what it refuses before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapwood.cli.main import run
from sapwood.experiments.folder import Owner, claim


def test_the_list_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert "T3.F18" in [one["name"] for one in listed]
    assert run(["experiment"]) == 0
    assert "T3.F18: Where filtering stops to pay" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["T3.F99"], "there is no experiment 'T3.F99'; did you mean"),
        (["T3.F9", "--all"], "name one experiment, or say --all, not both"),
        (["T3.F9", "--runs", "0"], "should be greater than or equal to 1"),
        (["T3.F9", "--size", "3"], "No such option: --size"),
    ],
)
def test_wrong_use_is_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["experiment", *arguments]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_folder_of_another_version_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim(tmp_path / "T3.F9", Owner(name="T3.F9", code="0-old", size="full"))
    assert run(["experiment", "T3.F9", "--out", str(tmp_path)]) == 2
    assert "holds results of version 0-old" in capsys.readouterr().err


def test_a_report_of_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "--report", "--out", str(tmp_path)]) == 2
    assert "holds no results" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_experiment_prints_its_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The contract: name, claims, and of each id, verdict, value, expected."""
    assert run(["experiment", "T3.F12", "--json", "--out", str(tmp_path), "--report"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["name"] == "T3.F12"
    assert [(one["id"], one["verdict"], one["expected"]) for one in found["claims"]] == [
        ("T3.F12", "holds", 2000.0),
        ("T3.F12", "holds", 200.0),
    ]
    assert "T3.F12, full: 1 runs, less than a minute on two cores" in printed.err
    assert (tmp_path / "report.html").is_file()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_all_experiments_at_the_quick_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No run fails, and every experiment gives verdicts; some 20 minutes at most on two cores."""
    assert (
        run(["experiment", "--all", "--quick", "--json", "--report", "--out", str(tmp_path)]) == 0
    )
    found = json.loads(capsys.readouterr().out)["experiments"]
    assert [one["name"] for one in found if not one["claims"] or one["failures"]] == []
    assert {claim["verdict"] for one in found for claim in one["claims"]} <= {
        "holds",
        "differs",
        "not judged",
    }
    assert (tmp_path / "report.html").is_file()
