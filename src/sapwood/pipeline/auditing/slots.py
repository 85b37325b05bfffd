"""Over how many tasks the judgement of order is spread: as many as a cluster has cores for.

A task judges some clients of one run, and needs all causes of that run. So small runs are judged in
one task, and a large one in as many as bring something: its causes travel to each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

DELIVERIES_MIN: Final = 20_000
"""A task with fewer deliveries takes longer to start than to judge them."""

DELIVERIES_MAX: Final = 8_000_000
"""What one task has memory for, whatever the number of cores."""

TASKS_PER_CORE: Final = 3
"""Clients are not alike: with several tasks per core, none waits long for the last one."""


class Slots(NamedTuple):
    """The tasks of one run."""

    first: int
    """The number of its first task."""

    tasks: int


def spread(deliveries: Mapping[str, int], cores: int) -> dict[str, Slots]:
    """The tasks of each run, by how many deliveries each has.

    >>> spread({"large": 900_000, "small": 1_000}, cores=4)
    {'large': Slots(first=0, tasks=12), 'small': Slots(first=12, tasks=1)}
    """
    total = sum(deliveries.values())
    found: dict[str, Slots] = {}
    first = 0
    for run, own in deliveries.items():
        share = -(-TASKS_PER_CORE * cores * own // total) if total else 1
        useful = -(-own // DELIVERIES_MIN)
        needed = 1 + own // DELIVERIES_MAX
        count = max(1, needed, min(share, useful))
        found[run] = Slots(first, count)
        first += count
    return found


def tasks(slots: Mapping[str, Slots], cores: int) -> int:
    """How many partitions there are to be: small runs share them."""
    count = sum(each.tasks for each in slots.values())
    most = max(TASKS_PER_CORE * cores, *(each.tasks for each in slots.values()))
    return min(count, most)
