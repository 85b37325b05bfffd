"""Ranges are exact at their ends, whether these lie between cells or within one."""

from __future__ import annotations

import math

import pytest

from matching.model import Pair, small_numbers
from sapwood.filters import Filter, Value, at_least, at_most, between, greater_than, less_than
from sapwood.matching import domains

EDGES: list[int | float] = [
    0, -1, 1, 0.1, -0.1, 5e-324, -5e-324, 1e300, -1e300, 1.7976931348623157e308,
    2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, -(2**53) - 1, -(2**53), 1 - 2**53,
    float(2**53), 2.0**62, 2**62 + 1, 2**63 - 1, -(2**63), 2.0**63, -(2.0**63),
]  # fmt: skip
TEXT_EDGES = [
    "",
    "\0",
    "a",
    "a\0",
    "ab",
    "b",
    "eightcha",
    "eightchar",
    "eightchas",
    "é",
    "\U0010ffff",
]


def beside(number: int | float) -> list[Value]:
    """A number and those next to it, as integers and as floats."""
    found: list[Value] = [number]
    whole = int(number) if abs(number) < 2**64 else 0
    for near in (whole - 1, whole, whole + 1):
        if -(2**63) <= near < 2**63:
            found += [near, float(near)]
    for toward in (-math.inf, math.inf):
        if math.isfinite(near_float := math.nextafter(float(number), toward)):
            found.append(near_float)
    return found


def number_pair() -> Pair:
    pair = Pair()
    for edge in EDGES:
        for make in (less_than, at_most, greater_than, at_least):
            pair.add((make.__name__, repr(edge)), Filter.all_of({"x": make(edge)}))
    for low in EDGES[::3]:
        for high in EDGES[1::3]:
            for sides in ((False, False), (True, False), (False, True), (True, True)):
                filter_ = Filter.all_of({"x": between(low, high, *sides)})
                pair.add((repr(low), repr(high), sides), filter_)
    return pair


def text_pair() -> Pair:
    pair = Pair()
    for edge in TEXT_EDGES:
        for make in (less_than, at_most, greater_than, at_least):
            pair.add((make.__name__, repr(edge)), Filter.all_of({"x": make(edge)}))
        for high in TEXT_EDGES:
            pair.add((edge, high), Filter.all_of({"x": between(edge, high, high_open=True)}))
    return pair


NUMBER_EVENTS: list[dict[str, Value]] = [{"x": value} for edge in EDGES for value in beside(edge)]
TEXT_EVENTS: list[dict[str, Value]] = [
    {"x": value} for edge in TEXT_EDGES for value in (edge, edge + "\0", edge + "z", edge[:-1])
]
OTHER_EVENTS: list[dict[str, Value]] = [{}, {"x": True}, {"x": False}, {"y": 1}]


@pytest.mark.parametrize("cells", [0, 1, 5, 1000])
def test_ranges_are_exact_with_any_number_of_cells(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains, "NUMBER_CELLS_MAX", cells)
    monkeypatch.setattr(domains, "TEXT_CELLS_MAX", cells)
    for pair in (number_pair(), text_pair()):
        if cells:
            pair.index.optimize()
        pair.check(NUMBER_EVENTS + TEXT_EVENTS + OTHER_EVENTS)


def test_ranges_entered_after_the_cells_were_chosen_are_exact() -> None:
    with small_numbers():
        pair = Pair()
        for number, edge in enumerate(EDGES):
            pair.add(number, Filter.all_of({"x": at_least(edge)}))
            pair.check(NUMBER_EVENTS[::7])
        for text in TEXT_EDGES:
            pair.add(text, Filter.all_of({"x": less_than(text)}))
            pair.check(TEXT_EVENTS[::3])
        pair.check(NUMBER_EVENTS + TEXT_EVENTS)
