"""`sapwood demo`, as users run it: with processes, the trace, and both judges."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from sapwood.cli.main import run
from sapwood.demo.script import Act


def command(directory: Path, *arguments: str) -> list[str]:
    options = ["--headless", f"--trace={directory}", *arguments]
    return [sys.executable, "-m", "sapwood", "demo", *options]


def left_running(directory: Path) -> list[list[str]]:
    """Processes that were started for a demonstration with its trace in a directory."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if any(str(directory) in word for word in words):
            found.append(words)
    return found


def counts(text: str) -> dict[str, int]:
    lines = re.findall(r"^  (\w[\w ]*?) +([\d,]+)", text, re.MULTILINE)
    return {name: int(number.replace(",", "")) for name, number in lines}


@pytest.mark.long
@pytest.mark.timeout(600)
def test_nothing_is_lost_and_nothing_left_running(tmp_path: Path) -> None:
    done = subprocess.run(
        command(tmp_path, "--brokers=4", "--seconds=10"),
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = counts(done.stdout)
    assert found["expected"] > 100
    assert [found[name] for name in ("lost", "duplicated", "unexpected", "out of order")] == [0] * 4
    acts = re.findall(r"^  ([a-z ]+?)  +([\d.]+) s   bound ([\d.]+) s", done.stdout, re.MULTILINE)
    assert [act for act, _, _ in acts] == list(Act)
    assert all(float(took) <= float(bound) for _, took, bound in acts), acts
    assert "KILL  B1" in done.stdout
    assert "the trace of B1 has a gap" in done.stdout
    assert "both say the same." in done.stdout
    assert left_running(tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_three_losses_are_found(tmp_path: Path) -> None:
    done = subprocess.run(
        command(tmp_path, "--brokers=3", "--seconds=10", "--inject=loss=3", "--json"),
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert (found["lost"], found["duplicated"], found["spark"]) == (3, 0, True)
    assert found["expected"] - found["lost"] + found["early"] == found["delivered"]
    assert [one["act"] for one in found["acts"]] == list(Act)
    assert all(one["took"] > 0 and one["bound"] > 0 for one in found["acts"])
    amid = [one["amid_faults"] is not None for one in found["acts"]]
    assert amid == [False, False, True, True]
    assert left_running(tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_stopped_in_the_middle_it_leaves_nothing_running(tmp_path: Path, number: int) -> None:
    with subprocess.Popen(
        command(tmp_path, "--brokers=2", "--seconds=500"), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "are connected" in line:
                break
        assert len(left_running(tmp_path)) == 3
        process.send_signal(number)
        process.stdout.read()
    assert process.returncode == 130
    assert left_running(tmp_path) == []
    assert not list(tmp_path.rglob("*.open"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--inject", "loss=0"], "error: --inject is 'loss=0'; wanted is loss=K, such as loss=3"),
        (["--inject", "pain"], "error: --inject is 'pain'; wanted is loss=K, such as loss=3"),
        (["--brokers", "1"], "error: Invalid value for '--brokers'"),
    ],
)
def test_a_wrong_option_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["demo", "--headless", *arguments]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_a_directory_in_use_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    assert run(["demo", "--headless", f"--trace={tmp_path}"]) == 2
    assert "which is not empty; name a new one" in capsys.readouterr().err
