"""The routing algorithms by definition: what is owed, from all entries at once, however slowly."""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.filters import Constraint, Filter
from sapwood.filters.box import Box, constraint_on, make_box, without
from sapwood.routing.strategy import Entry


def flooding(entries: Iterable[Entry]) -> dict[str, Filter]:
    return {}


def simple(entries: Iterable[Entry]) -> dict[str, Filter]:
    return {entry.id: entry.filter for entry in entries}


def identity(entries: Iterable[Entry]) -> dict[str, Filter]:
    return {entry.filter.id: entry.filter for entry in entries}


def covering(entries: Iterable[Entry]) -> dict[str, Filter]:
    return maximal(entry.filter for entry in entries)


def maximal(filters: Iterable[Filter]) -> dict[str, Filter]:
    """Those that no other covers; of several that cover each other, the one with the least id."""
    distinct = {filter.id: filter for filter in filters if not filter.is_empty}
    return {
        filter.id: filter
        for filter in distinct.values()
        if not any(
            other.covers(filter) and (other.id < filter.id or not filter.covers(other))
            for other in distinct.values()
            if other is not filter
        )
    }


def merging(entries: Iterable[Entry]) -> dict[str, Filter]:
    """For filters without text patterns, few enough for every merger to be short."""
    standing = covering(entries).values()
    unions = [filter for filter in standing if len(filter.boxes) > 1]
    boxes = {filter.boxes[0] for filter in standing if len(filter.boxes) == 1}
    for name in sorted({name for box in boxes for name, _ in box}):
        boxes = merged_along(name, boxes)
    return maximal(unions + [Filter.from_boxes([box]) for box in boxes])


def merged_along(name: str, boxes: set[Box]) -> set[Box]:
    """The boxes, with those united that differ in one attribute only."""
    united: dict[Box, Constraint] = {}
    others = set()
    for box in boxes:
        constraint = constraint_on(box, name)
        if constraint.is_anything:
            others.add(box)
            continue
        rest = without(box, name)
        union = united[rest].union(constraint) if rest in united else constraint
        assert union is not None
        united[rest] = union
    for rest, constraint in united.items():
        merger = make_box([*rest, (name, constraint)])
        assert merger is not None
        others.add(merger)
    return others


DEFINITIONS = {
    "flooding": flooding,
    "simple": simple,
    "identity": identity,
    "covering": covering,
    "merging": merging,
}
