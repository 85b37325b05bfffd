"""Probes match their filter; and most filters have one."""

from __future__ import annotations

import pytest
from hypothesis import given

from filters.oracle import Expression, text_of
from filters.strategies import patterned
from sapwood.filters import Filter, equal
from sapwood.routing.probe import probe_of


@given(expression=patterned)
def test_a_filter_matches_its_probe(expression: Expression) -> None:
    filter = Filter(text_of(expression))
    if filter.is_empty:
        return
    probe = probe_of(filter)
    assert probe is None or filter.matches(probe)


@pytest.mark.parametrize(
    ("text", "probe"),
    [
        ("true", {}),
        ("a is null and b = true", {"b": True}),
        ("a = false", {"a": False}),
        ("a >= 3", {"a": 3}),
        ("a > 3", {"a": 4}),
        ("a > 3 and a < 4", {"a": 3.5}),
        ("a < 3", {"a": 2}),
        ("a <= 3", {"a": 3}),
        ("a is number", {"a": 0}),
        ("a > 'x'", {"a": "x\0"}),
        ("a suffix 'xy'", {"a": "xy"}),
        ("a like '%x_y'", {"a": "x_y"}),
        ("a = 1 or b = 1", {"a": 1}),
    ],
)
def test_probes(text: str, probe: dict[str, object]) -> None:
    found = probe_of(Filter(text))
    assert found is not None
    assert dict(found) == probe


def test_none_where_no_guess_is_right() -> None:
    assert probe_of(Filter("a contains 'x' and a contains 'y'")) is None
    assert probe_of(Filter("a > 1e308 and a < 1.0000000000000002e308")) is None
    assert probe_of(Filter("a < -1e300")) is None, "one less is the same float"
    longest = Filter.all_of({"a": equal("x" * 65_536)})
    assert probe_of(longest) is not None
    assert probe_of(Filter("a > '" + "x" * 65_500 + "'")) is not None
