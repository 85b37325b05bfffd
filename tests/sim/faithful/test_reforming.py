"""Exchanges, swaps, plans and removals at the same time: nothing is lost, repeated or reordered."""

from __future__ import annotations

from collections import Counter

import pytest

from sapwood.protocol.reconfigure import holding
from sapwood.sim.faithful.reforming import SEEDS, main, problems_of


@pytest.mark.slow
def test_wishes_of_all_kinds_are_carried_out() -> None:
    tally: Counter[str] = Counter()
    assert [problems_of(seed, tally) for seed in range(4)] == [[]] * 4
    assert tally["completed"] > 10
    assert tally["left"] > 0
    assert tally["published"] > 1000


@pytest.mark.slow
def test_notifications_without_colours_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "coloured", lambda ring, gray, effects: effects)
    assert any(problems_of(seed) for seed in range(6))


@pytest.mark.slow
@pytest.mark.long
def test_many_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(SEEDS.failures(range(100, 400))) == []
    assert main(["--seed", "0"]) == 0
    assert "1 seeds, 0 with problems" in capsys.readouterr().err
