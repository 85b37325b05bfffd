"""The swarm: from any state back within the bound, over many seeds; and it would find a bug."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from expecting import expect_none
from sapwood.protocol.stabilize.published.three_colours import ThreeColours
from sapwood.protocol.stabilize.published.three_colours_printed import PrintedColours
from sapwood.sim.recolouring import swarm
from sapwood.sim.recolouring.run import run
from sapwood.sim.recolouring.settings import FAULTS

SEEDS_QUICK = range(20)
SEEDS = range(20, 320)


@pytest.mark.slow
def test_some_seeds() -> None:
    expect_none(list(swarm.failures(SEEDS_QUICK)))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SEEDS.start, SEEDS.stop, 50))
def test_many_seeds(first: int) -> None:
    expect_none(list(swarm.failures(range(first, first + 50))))


def test_all_faults_are_drawn() -> None:
    drawn = Counter(swarm.draw(seed).fault for seed in range(200))
    assert set(drawn) == set(FAULTS)


@pytest.mark.slow
def test_the_printed_form_fails_most_seeds_with_faults() -> None:
    wrong = [
        seed
        for seed in range(12)
        if swarm.draw(seed).fault != "none" and swarm.wrong(run(swarm.draw(seed, "printed")))
    ]
    assert len(wrong) > 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "mutant"),
    [
        ("_asked", PrintedColours._asked),
        ("_ask", lambda self, whom, now: []),
        ("_timed_out", PrintedColours._timed_out),
    ],
)
def test_a_correction_that_is_taken_back_is_found(
    monkeypatch: pytest.MonkeyPatch, method: str, mutant: Any
) -> None:
    monkeypatch.setattr(ThreeColours, method, mutant)
    assert next(swarm.failures(range(40)), None) is not None


def test_a_failure_comes_with_the_command_that_shows_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    late = msgspec.structs.replace(run(swarm.draw(1)), recovered_after=1e6, served_after=1e6)
    monkeypatch.setattr(swarm, "run", lambda settings: late)
    assert swarm.main(["--seed", "1"]) == 1
    printed = capsys.readouterr()
    assert "right after 1000000.0 s, bound" in printed.out
    assert "again: python -m sapwood.sim.recolouring.swarm --seed 1" in printed.out
    assert printed.err == "1 seeds, 1 with problems\n"


def test_what_is_right_is_said_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert swarm.main(["--seed", "1"]) == 0
    assert capsys.readouterr().err == "1 seeds, 0 with problems\n"
