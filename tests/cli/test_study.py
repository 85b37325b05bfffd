"""`sapwood study`: what it prints, what it refuses, and how a failing run is done again."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from pipeline.samples import TINY, changed, tiny, write
from sapwood.cli import study as command
from sapwood.cli.main import run
from sapwood.pipeline.study.runs import runs_of
from sapwood.pipeline.study.study import Failure, Outcome, Progress
from sapwood.pipeline.study.worker import simulate


def point(mean: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    parameters = {"routing.algorithm": "simple"}
    return {"parameters": parameters, "measure": "hops", "runs": 3, "mean": mean,
            "deviation": None, "low": low, "high": high}  # fmt: skip


FAILURE = Failure(run="abc", parameters={"workload.overlap": 1}, seed=7, error="RuntimeError: no")
OUTCOME = Outcome(
    study="tiny",
    code="1",
    folder="/somewhere",
    runs=1200,
    reused=4,
    failures=[FAILURE],
    violations=[],
    digest="d1",
    cpu_seconds=12.3,
    points=[point(1234.5, 1230.0, 1239.0), point(3.0, None, None), point(None, None, None)],
)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Let studies come to `OUTCOME`, and remember where they were to run."""
    asked: list[tuple[str, str | None]] = []

    def fake(loaded: object, out: str, master: str | None) -> Outcome:
        asked.append((out, master))
        return OUTCOME

    monkeypatch.setattr(command, "_run", fake)
    return asked


def test_means_are_shown_with_their_intervals(
    tmp_path: Path, ran: list[tuple[str, str | None]], capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path)
    assert run(["study", str(file)]) == 1
    out, err = capsys.readouterr()
    assert out == (
        "tiny: 1,199 of 1,200 runs done, 4 of them before; 12 s of simulating\n"
        "  routing.algorithm simple: hops 1,234.5 ± 4.5\n"
        "  routing.algorithm simple: hops 3\n"
        "  routing.algorithm simple: hops without value\n"
        "  digest d1\n"
        "  in /somewhere\n"
    )
    assert err == (
        "a run failed (workload.overlap = 1, seed 7): RuntimeError: no\n"
        f"  again: sapwood study {file} --only abc\n"
    )
    assert ran == [("results/tiny", None)]


def test_one_json_object(
    tmp_path: Path, ran: list[tuple[str, str | None]], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["study", str(write(tmp_path)), "--json", "--out", "o", "--master", "local[1]"]
    assert run(arguments) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["runs"], found["digest"], found["failures"][0]["run"]) == (1200, "d1", "abc")
    assert ran == [("o", "local[1]")]


def test_of_many_failures_some_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    command._tell(Path("f.toml"), "failed", [FAILURE] * 8)
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 11
    assert shown[-1] == "3 more failed; --json lists all"


@pytest.mark.slow
def test_a_failing_run_is_done_again_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = runs_of(tiny())[5]
    file = write(tmp_path)
    assert run(["study", str(file), "--only", chosen.run[:12]]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"run": chosen.run, "parameters": chosen.parameters, **simulate(chosen)}
    assert run(["study", str(file), "--only", "none"]) == 2
    assert capsys.readouterr().err.startswith(
        f"error: {file} has no run whose name begins with 'none'; "
    )
    assert run(["study", str(file), "--only", ""]) == 2
    assert f"{file} has 12 runs whose name begins with ''" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (changed(repeats="0"), ": repeats is 0; wanted 1 or more\n"),
        (TINY.replace('"covering"', '"cover"'),
         ": parameters.'routing.algorithm' is 'cover'; did you mean 'covering'? Allowed are "),
    ],
)  # fmt: skip
def test_a_wrong_file_is_wrong_use(
    tmp_path: Path, text: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, text)
    assert run(["study", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {file}{expected}")


def test_a_master_that_does_not_answer_is_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    arguments = ["study", str(write(tmp_path)), "--master", f"spark://127.0.0.1:{port}"]
    assert run([*arguments, "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith(
        f"error: master spark://127.0.0.1:{port} does not answer (127.0.0.1:{port}: Connection"
    )
    assert not (tmp_path / "out").exists()


def test_progress_is_followed_where_nobody_looks() -> None:
    with command._bar("tiny") as follow:
        follow(Progress(runs=3, done=0, failed=0, cost=0.0, cost_done=0.0))
        follow(Progress(runs=3, done=2, failed=1, cost=3.0, cost_done=2.0))


def test_a_terminal_shows_how_far_it_is_and_what_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with command._bar("tiny") as follow:
        follow(Progress(runs=1200, done=1000, failed=1, cost=8.0, cost_done=6.0))
    out, err = capsys.readouterr()
    assert out == ""
    assert "1,000 of 1,200 runs, 1 failed" in err
    assert "-:--:--" in err, "no estimate before anything has been seen to take time"
