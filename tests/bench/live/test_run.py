"""Real processes change their tree again and again under load, and nobody notices."""

from __future__ import annotations

from pathlib import Path

import pytest
import uvloop

from sapwood.bench.live.run import LiveOutcome, LiveSize, change_under_load, upgrade_under_load


def changed(size: LiveSize, folder: Path, *, with_spark: bool) -> LiveOutcome:
    said: list[str] = []
    outcome = uvloop.run(change_under_load(size, folder, 3, said.append, with_spark=with_spark))
    assert outcome.problems == []
    assert outcome.is_right, outcome.counts
    assert outcome.counts["expected"] > 0
    assert sum(outcome.completed.values()) == size.measured + size.changes
    assert outcome.completed.get("remove", 0) == outcome.returns
    return outcome


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("delay", [0.0, pytest.param(0.03, marks=pytest.mark.long)])
def test_a_few_changes_are_noticed_by_nobody(delay: float, tmp_path: Path) -> None:
    size = LiveSize(brokers=4, rate=400.0, measured=3, changes=10, delay_seconds=delay)
    outcome = changed(size, tmp_path, with_spark=False)
    assert outcome.counts["published"] == outcome.published


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("delay", [0.0, 0.03])
def test_a_thousand_changes_are_noticed_by_nobody(delay: float, tmp_path: Path) -> None:
    outcome = changed(LiveSize(delay_seconds=delay), tmp_path, with_spark=True)
    assert outcome.completed["remove"] > 20


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("brokers", [4, pytest.param(8, marks=pytest.mark.long)])
def test_a_rolling_upgrade_is_noticed_by_nobody(brokers: int, tmp_path: Path) -> None:
    found = uvloop.run(upgrade_under_load(LiveSize(brokers=brokers, rate=400.0), tmp_path, 1))
    names = [f"B{number}" for number in range(1, brokers + 1)]
    assert [text for text in found.done if text.endswith("back")] == [
        f"{one} back" for one in names
    ]
    assert any("→" in text for text in found.done), "somebody was moved out first"
    assert found.problems == []
    kinds = ("lost", "duplicated", "unexpected", "out_of_order_fifo", "out_of_order_causal")
    assert {kind: found.counts[kind] for kind in kinds} == dict.fromkeys(kinds, 0)
    assert found.counts["published"] == found.published
