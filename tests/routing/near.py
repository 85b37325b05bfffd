"""Filters over few attributes and few literals, and what they mean on all notifications near these.

The meaning of a filter is an integer with one bit for each notification of a grid that tells all
these filters apart, so that unions and coverings of meanings are bit operations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cache
from random import Random

from hypothesis import strategies as st

from sapwood.filters import (
    ANY_NUMBER,
    MISSING,
    PRESENT,
    Box,
    Constraint,
    Filter,
    Notification,
    Value,
    at_least,
    at_most,
    between,
    contains,
    equal,
    greater_than,
    less_than,
    not_equal,
    one_of,
    prefix,
    suffix,
)
from sapwood.routing.strategy import Difference

NAMES = ("a", "b", "c")
VALUES: tuple[Value | None, ...] = (None, True, 0, 0.5, 1, 1.5, 2, "", "x", "xy", "y")
SHORT: tuple[Value | None, ...] = (None, 0, 1, 1.5, "xy")

GRID = [
    Notification(
        {name: value for name, value in zip(NAMES, values, strict=True) if value is not None}
    )
    for values in itertools.product(VALUES, VALUES, SHORT)
]

PLAIN: list[Constraint] = [
    *(equal(0), equal(1), equal(2), equal(True), equal("x"), equal("xy")),
    *(not_equal(0), not_equal(1)),
    *(greater_than(0), at_least(1), less_than(2), at_most(1)),
    *(between(0, 1), between(1, 2), between(0, 2)),
    *(one_of([0, 1]), one_of([1, 2, "x"])),
    *(prefix("x"), MISSING, PRESENT, ANY_NUMBER),
]
PATTERNED = [suffix("y"), contains("x"), contains("xy"), contains("")]


@cache
def meaning(filter: Filter) -> int:
    """Which notifications of the grid a filter matches."""
    return sum(1 << at for at, notification in enumerate(GRID) if filter.matches(notification))


def meaning_of_all(filters: Iterable[Filter]) -> int:
    """Which notifications some of the filters matches."""
    bits = 0
    for filter in filters:
        bits |= meaning(filter)
    return bits


def draw_filter(random: Random, patterns: bool = False) -> Filter:
    """A conjunction, sometimes a union of two."""
    constraints = PLAIN + PATTERNED * 4 if patterns else PLAIN
    boxes: list[Box] = []
    for _ in range(random.choice([1, 1, 1, 2])):
        names = random.sample(NAMES, random.choice([0, 1, 1, 2, 2, 3]))
        boxes += Filter.all_of({name: random.choice(constraints) for name in names}).boxes
    return Filter.from_boxes(boxes[:2])


def draw_pool(seed: int, patterns: bool) -> list[Filter]:
    """A few filters, now and then with one that matches nothing."""
    random = Random(seed)
    filters = [draw_filter(random, patterns) for _ in range(random.choice([3, 6, 12, 12]))]
    if random.random() < 0.1:
        filters.append(Filter("false"))
    return filters


seeds = st.integers(0, 2**64 - 1)

pools = seeds.map(lambda seed: draw_pool(seed, patterns=False))
"""Lists of filters without text patterns: all relations are exact on these."""

patterned_pools = seeds.map(lambda seed: draw_pool(seed, patterns=True))
"""Lists of filters of all kinds."""

single_filters = seeds.map(lambda seed: draw_filter(Random(seed), patterns=True))


def apply_message_by_message(told: dict[str, Filter], difference: Difference, after: int) -> None:
    """Tell a neighbour; at no point does it miss what is wanted before and afterwards.

    Where the difference has no replacements, ids are new when subscribed and known when not.
    """
    wanted = meaning_of_all(told.values()) & after
    for told_id, filter in difference.subscribe:
        assert told.get(told_id) != filter, "told twice"
        told[told_id] = filter
        assert wanted & ~meaning_of_all(told.values()) == 0, "a gap"
    for told_id in difference.unsubscribe:
        del told[told_id]
        assert wanted & ~meaning_of_all(told.values()) == 0, "a gap"
