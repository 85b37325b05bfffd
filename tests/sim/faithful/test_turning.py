"""Random changes under load over faithful links: nothing is lost, repeated or reordered."""

from __future__ import annotations

import pytest

from sapwood.sim.faithful.turning import (
    CourseRun,
    command,
    draw_course,
    has_faults,
    main,
    outcome_of,
    problems_of,
)

SEEDS = [seed for seed in range(30) if not has_faults(seed)]
FAULTY = [seed for seed in range(30, 60) if has_faults(seed)]


def test_a_course_follows_from_its_seed() -> None:
    assert draw_course(4) == draw_course(4)
    assert draw_course(4) != draw_course(5)
    assert "brokers" in draw_course(4).describe()
    assert command(4).endswith("--seed 4")


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_changes_without_faults(seed: int) -> None:
    assert problems_of(seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [325, 326, 430])
def test_seeds_that_have_shown_something(seed: int) -> None:
    """Answers lost in other changes; a client that had moved; a change asked for twice."""
    assert problems_of(seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[4:])
def test_more_changes_without_faults(seed: int) -> None:
    assert problems_of(seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", FAULTY)
def test_changes_with_faults(seed: int) -> None:
    assert problems_of(seed) == []


@pytest.mark.slow
def test_changes_are_completed_at_all() -> None:
    assert outcome_of(0).completed + outcome_of(3).completed > 0


@pytest.mark.slow
def test_a_loss_is_seen() -> None:
    run = CourseRun(draw_course(0))
    run.run()
    client = next(iter(run.network.clients.values()))
    for wanted in client.subscriptions.values():
        wanted.got.clear()
    assert any(problem.startswith("lost") for problem in run._judge())


@pytest.mark.slow
def test_the_command_says_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "0", "--count", "1"]) == 0
    assert "1 seeds, 0 with problems" in capsys.readouterr().err
