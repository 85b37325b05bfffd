"""Locks that hang while the root is lost close no circle."""

from __future__ import annotations

import pytest

from sapwood.sim.faithful.hanging import command, draw_plan, main, run_of


def test_a_plan_follows_from_its_seed() -> None:
    assert draw_plan(4) == draw_plan(4)
    assert draw_plan(4) != draw_plan(5)
    assert command(4).endswith("hanging --seed 4")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 5])
def test_a_lock_that_hangs_closes_no_circle(seed: int) -> None:
    run, problems = run_of(seed)
    assert run.hung
    assert problems == []


@pytest.mark.slow
@pytest.mark.long
def test_many_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "100", "--count", "100"]) == 0
    assert "changes hung while the root was lost" in capsys.readouterr().err
