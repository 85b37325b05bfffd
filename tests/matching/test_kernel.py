"""The kernel behind every query: chunk by chunk, and which event stopped it."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.filters import Filter, Value
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.kernel import match_events
from sapwood.matching.layout import CHUNK, TABLE, VALUE_KIND


@pytest.fixture
def index() -> CompiledIndex[str]:
    index: CompiledIndex[str] = CompiledIndex()
    index.add("x", Filter("a = 1"), "west")
    index.add("y", Filter("a > 0 and t prefix 'b'"), "east")
    index.add("z", Filter("t suffix 'c' or a in (1, 2)"))
    index.optimize()
    return index


def ask(index: CompiledIndex[str], events: list[Any]) -> tuple[int, list[list[str]]]:
    results: list[list[str]] = [[] for _ in events]
    bad = match_events(
        index._memory.address,
        id(events),
        len(events),
        id(index._vocabulary.names),
        id(index._keys),
        id(results),
        -1,
    )
    return int(bad), [sorted(keys) for keys in results]


def test_no_event_is_bad(index: CompiledIndex[str]) -> None:
    assert ask(index, []) == (-1, [])
    assert ask(index, [{"a": 1}, {"a": 3}, {"a": 1, "t": "bc"}]) == (
        -1,
        [["x", "z"], [], ["x", "y", "z"]],
    )


@pytest.mark.parametrize("place", [0, 1, 63, 64, CHUNK - 1, CHUNK, 2 * CHUNK + 1])
def test_the_bad_event_is_named(index: CompiledIndex[str], place: int) -> None:
    events: list[Any] = [{"a": 1}] * (2 * CHUNK + 5)
    events[place] = {"a": None}
    bad, results = ask(index, events)
    assert bad == place
    whole = place // CHUNK * CHUNK
    assert results[:whole] == [["x", "z"]] * whole, "the chunks before it were searched"
    assert not any(results[whole:])


@pytest.mark.parametrize("size", [1, 64, 65, CHUNK, CHUNK + 1])
def test_nothing_of_a_chunk_is_left_behind(index: CompiledIndex[str], size: int) -> None:
    events: list[dict[str, Value]] = [{"a": number, "t": "bc"} for number in range(size)]
    for batch in (events, [*events, {"a": None}]):
        ask(index, batch)
        assert not index._memory[TABLE].any()
        assert not index._memory[VALUE_KIND].any()
    index.destinations_batch(events, exclude="west")
    assert not index._memory[TABLE].any()
