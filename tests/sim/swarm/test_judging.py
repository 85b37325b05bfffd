"""The swarm: seeds that must be right, and that it sees what is wrong.

A seed that ever failed stays in `REGRESSIONS`, with what was wrong with the core then.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from expecting import expect_none
from sapwood.routing.algorithms import FLOODING
from sapwood.sim.kernel import Kernel
from sapwood.sim.swarm import judging
from sapwood.sim.swarm.case import Oracle, draw_case

BLOCK = 25
"""Seeds of one test: enough to be worth starting, few enough to be shared between processes."""

SEEDS_CI = 300
SEEDS_LONG = 20_000

REGRESSIONS = {
    2: "one of two subscriptions to the same filter ended, and was recorded as the end of both",
    29: "simple routing did not tell the filter that replaced another under the same id",
    492: "what went over a link and over the one in its place was taken for a mistake of the core",
    976: "what was under way when a link came back elsewhere was held to the order of the others",
}
"""Whoever changes what is drawn gives the seeds another meaning: test_mutants.py has these
mistakes, and finds the seeds that show them."""


@pytest.mark.parametrize("seed", REGRESSIONS)
def test_what_once_was_wrong(seed: int) -> None:
    expect_none(judging.failures([seed]))


def test_a_few_seeds() -> None:
    expect_none(judging.failures(range(4)))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, SEEDS_CI, BLOCK))
def test_some_hundred_seeds(start: int) -> None:
    expect_none(judging.failures(range(start, start + BLOCK)))


@pytest.mark.long
@pytest.mark.parametrize("start", range(SEEDS_CI, SEEDS_LONG, 10 * BLOCK))
def test_tens_of_thousands_of_seeds(start: int) -> None:
    expect_none(judging.failures(range(start, start + 10 * BLOCK)))


def test_a_failure_names_the_seed_and_the_command() -> None:
    found = judging.failures([3, 4], lambda seed: ["it is odd"] if seed % 2 else [])
    case = draw_case(3)
    assert found == [
        f"seed 3 ({case.describe()}):\n  it is odd\n  again: python -m sapwood.sim.swarm --seed 3"
    ]


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert judging.main(["--seed", "0", "--count", "2"]) == 0
    assert capsys.readouterr() == ("", "2 seeds, 0 with problems\n")
    monkeypatch.setattr(judging, "EVENTS_MAX", 50)
    assert judging.main(["--seed", "1"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("seed 1 (")
    assert "\n  it does not come to rest: more than 50 events\n" in out
    assert out.endswith("\n  again: python -m sapwood.sim.swarm --seed 1\n")
    assert err == "1 seeds, 1 with problems\n"


@pytest.mark.slow
def test_the_hash_seed_makes_no_difference() -> None:
    script = (
        "from sapwood.sim.swarm.judging import Run\n"
        "from sapwood.sim.swarm.case import draw_case\n"
        "from sapwood.trace.digest import Digest\n"
        "for seed in range(3, 7):\n"
        "    case = draw_case(seed)\n"
        "    for algorithm in case.algorithms():\n"
        "        run, digest = Run(case, algorithm, {}), Digest()\n"
        "        run.sinks.append(digest.add)\n"
        "        print(seed, algorithm, sum(run.run().delivered.values()), digest.hexdigest())\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        ).stdout
        for hash_seed in ("0", "1")
    ]
    assert printed[0].count("\n") > 4
    assert printed[0] == printed[1]


def test_runs_deliver_something() -> None:
    """A swarm that expects nothing would be content with anything."""
    delivered = expected = 0
    for seed in range(5):
        case = draw_case(seed)
        outcome = judging.Run(case, FLOODING, {}).run()
        delivered += outcome.delivered.total()
        expected += len(Oracle(case).expected())
    assert delivered >= expected > 50


def test_a_bounded_kernel_ends() -> None:
    kernel: Kernel = judging.BoundedKernel()

    def again() -> None:
        kernel.at(kernel.now, again)

    again()
    with pytest.raises(judging.RunawayError):
        kernel.run()
