"""Tasks for the judgement of order: as many as there are cores for, and never useless ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.pipeline.auditing.slots import (
    DELIVERIES_MAX,
    DELIVERIES_MIN,
    TASKS_PER_CORE,
    spread,
    tasks,
)


def test_one_large_run_keeps_every_core_of_any_cluster_busy() -> None:
    for cores in (2, 16, 128):
        slots = spread({"r": 30_000_000}, cores)
        assert slots["r"].tasks == tasks(slots, cores) == TASKS_PER_CORE * cores


def test_a_small_run_is_judged_in_one_task() -> None:
    assert spread({"r": DELIVERIES_MIN}, 128)["r"].tasks == 1
    assert spread({"r": 0}, 128)["r"].tasks == 1


def test_memory_has_the_last_word() -> None:
    assert spread({"r": 100 * DELIVERIES_MAX}, 1)["r"].tasks == 101


@given(
    st.dictionaries(st.text(max_size=3), st.integers(0, 10**9), min_size=1, max_size=9),
    st.integers(1, 300),
)
def test_slots_follow_on_each_other_and_tasks_hold_them(runs: dict[str, int], cores: int) -> None:
    slots = spread(runs, cores)
    numbers = [n for each in slots.values() for n in range(each.first, each.first + each.tasks)]
    assert numbers == list(range(len(numbers)))
    assert list(slots) == list(runs)
    assert 1 <= tasks(slots, cores) <= len(numbers)
    for run, own in runs.items():
        assert own / slots[run].tasks <= DELIVERIES_MAX
