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

from sapwood.cli.demo import _judge, _Wishes
from sapwood.cli.main import run
from sapwood.demo import judgement
from sapwood.demo.acts import ActReport
from sapwood.demo.judgement import Judgement
from sapwood.demo.run import Outcome
from sapwood.demo.script import Act
from sapwood.trace.judge.verdict import Verdict


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
    assert amid == [False, False, False, True, True]
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


COUNTS = {
    **dict.fromkeys(Verdict().counts(), 0),
    "published": 1200,
    "expected": 900,
    "delivered": 907,
    "early": 7,
}
JUDGEMENT = Judgement(
    counts=COUNTS,
    amid_faults=({"lost": 0, "unexpected": 0}, {"lost": 1234, "unexpected": 1}),
    all_counts={**COUNTS, "lost": 1234, "unexpected": 1},
    spark=None,
    gaps=("B1",),
    words="Judged.",
)


def outcome(*, has_recovered: bool = True) -> Outcome:
    times = {Act.CUT: 0.5, Act.OFFER: 1.0, Act.SPOIL: 2.0, Act.KILL: 7.0 if has_recovered else None}
    reports = [
        ActReport(
            act=act.value,
            what="what",
            did="did",
            took=took,
            bound=17.6,
            bound_name="tree",
            began_at=0.0,
            ended_at=1.0,
        )
        for act, took in times.items()
    ]
    return Outcome(1200, 907, 3, (), tuple(reports))


def told(monkeypatch: pytest.MonkeyPatch, shown: Outcome, *, as_json: bool = False) -> int:
    """What comes of an outcome if the traces say what is in `JUDGEMENT`."""
    monkeypatch.setattr(judgement, "judge", lambda *_: JUDGEMENT)
    return _judge(Path("nowhere"), shown, _Wishes(headless=True, as_json=as_json, losses=0))


def test_acts_are_told_with_their_bounds_and_what_they_cost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(monkeypatch, outcome()) == 0
    assert capsys.readouterr().out.splitlines() == [
        "What went wrong, when all was right again, and what that cost:",
        "  a link is cut and restored       0.5 s   bound 17.6 s (tree)          nothing",
        "  circles are offered              1.0 s   bound 17.6 s (tree)          nothing",
        "  tables are corrupted             2.0 s   bound 17.6 s (tree)          nothing",
        "  the root is killed for good      7.0 s   bound 17.6 s (tree)          "
        "1,234 lost, 1 unexpected",
        "What the traces of all brokers say:",
        "  published     1,200",
        "  expected      900",
        "  delivered     907   7 of them early: not owed yet, or no more",
        "  lost          0",
        "  duplicated    0",
        "  unexpected    0",
        "  out of order  0 FIFO, 0 causal",
        "  unjudged      0   the trace of B1 has a gap",
        "  amid faults   1,235   the cost of faults, above; among no other figure",
        "Judged.",
    ]


def test_acts_are_part_of_the_verdict_for_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(monkeypatch, outcome(), as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["lost"], found["spark"]) == (0, False)
    assert [one["amid_faults"] for one in found["acts"]] == [
        None,
        None,
        {"lost": 0, "unexpected": 0},
        {"lost": 1234, "unexpected": 1},
    ]
    assert set(found["acts"][0]) == {
        "act",
        "what",
        "did",
        "took",
        "bound",
        "bound_name",
        "amid_faults",
    }


def test_a_network_that_does_not_recover_is_a_no(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(monkeypatch, outcome(has_recovered=False)) == 1
    out, err = capsys.readouterr()
    assert "  the root is killed for good      never   bound 17.6 s (tree) " in out
    assert "error: the root is killed for good: the network did not recover" in err


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
