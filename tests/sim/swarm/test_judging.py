"""The swarm: seeds that must be right, and that it sees what is wrong.

A seed that ever failed stays in `REGRESSIONS`, with what was wrong with the core then.
"""

from __future__ import annotations

import pytest

from expecting import expect_none
from marking import few
from sapwood.sim.swarm import judging
from sapwood.sim.swarm.case import draw_case

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


@pytest.mark.parametrize("seed", few(REGRESSIONS))
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


def test_a_failure_names_the_case() -> None:
    assert judging.SEEDS.describe(3) == draw_case(3).describe()
    assert judging.command(3) == "python -m sapwood.sim.swarm --seed 3"
