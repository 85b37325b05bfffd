"""Trees that make themselves cheaper under load over faithful links: nothing is lost."""

from __future__ import annotations

import pytest

from sapwood.sim.faithful.swapping import (
    SwapRun,
    draw_faulty_swaps,
    draw_settings,
    main,
    outcome_of,
    problems_of,
    swaps_of,
)
from sapwood.sim.faithful.turning import has_faults

SEEDS = [seed for seed in range(30) if not has_faults(seed)]
FAULTY = [seed for seed in range(30) if has_faults(seed)]


def test_settings_follow_from_the_seed() -> None:
    assert draw_settings(4) == draw_settings(4)
    assert draw_settings(4) != draw_settings(5)
    assert draw_settings(4).mode == "on"
    assert draw_faulty_swaps(2).plan == draw_faulty_swaps(2).plan


@pytest.mark.slow
def test_swaps_are_made_and_nothing_is_lost() -> None:
    found = outcome_of(3)
    assert found.problems == []
    assert found.swaps["completed"] > 0
    assert found.published > 0


@pytest.mark.slow
def test_swaps_with_faults() -> None:
    assert problems_of(2) == []


@pytest.mark.slow
def test_a_loss_is_seen() -> None:
    run = SwapRun(0)
    assert run.run() == []
    client = next(one for one in run.network.clients.values() if one.deliveries)
    client.deliveries.pop()
    assert any("lost" in problem for problem in run._judge())
    assert swaps_of(run.network).total() >= 0


@pytest.mark.long
@pytest.mark.parametrize("seed", [*SEEDS, *FAULTY])
def test_more_swaps(seed: int) -> None:
    assert problems_of(seed) == []


@pytest.mark.long
def test_the_command_says_what_happened(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "0"]) == 0
    assert "swaps completed" in capsys.readouterr().err
