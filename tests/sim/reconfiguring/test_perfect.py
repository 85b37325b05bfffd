"""The swarm of changes over perfect links: nothing lost, repeated or reordered, and it can tell."""

from __future__ import annotations

import pytest

from sapwood.protocol.reconfigure import holding, ways
from sapwood.sim.reconfiguring import perfect
from sapwood.sim.reconfiguring.perfect import SEEDS, PerfectRun, main


@pytest.mark.parametrize("seed", range(6))
def test_a_few_seeds(seed: int) -> None:
    run = PerfectRun(seed)
    assert run.run() == []
    assert run.outcomes["completed"] > 0


def test_a_client_that_moves_twice_in_the_middle_of_a_change() -> None:
    """The mark of its first move was taken for one of the second; then nobody took anything of it.

    1 of 8,200 seeds, 102,347 changes.
    """
    assert perfect.problems_of(37883) == []


def test_a_run_is_drawn_from_its_seed() -> None:
    one, other = PerfectRun(3), PerfectRun(3)
    assert one.run() == other.run()
    assert one.outcomes == other.outcomes
    assert one.tree() == other.tree()


def test_notifications_without_colours_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "coloured", lambda ring, gray, effects: effects)
    assert any(perfect.problems_of(seed) for seed in range(10))


def test_ways_to_clients_that_are_not_turned_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "turned", lambda core, ring: {})
    assert any(perfect.problems_of(seed) for seed in range(10))


def test_the_command_says_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "0", "--count", "1"]) == 0
    said = capsys.readouterr().err
    assert "1 seeds, 0 with problems" in said
    assert "changes asked for" in said


@pytest.mark.slow
def test_some_two_thousand_changes() -> None:
    assert list(SEEDS.failures(range(100, 260))) == []


@pytest.mark.long
def test_a_hundred_thousand_changes() -> None:
    assert list(SEEDS.failures(range(10_000, 18_500))) == []
