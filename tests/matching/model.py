"""An index that scans all its filters: what every index has to agree with."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from sapwood.filters import Filter, Notification, Value
from sapwood.matching import domains, engine, segments
from sapwood.matching.engine import CompiledIndex

Event = dict[str, Value]


class Model:
    """Filters with their destinations, by key."""

    def __init__(self) -> None:
        self.entries: dict[Any, tuple[Filter, Hashable]] = {}

    def match(self, event: Event) -> set[Any]:
        notification = Notification(event)
        return {key for key, (filter_, _) in self.entries.items() if filter_.matches(notification)}

    def destinations(self, event: Event, exclude: Hashable = None) -> set[Hashable]:
        found = {self.entries[key][1] for key in self.match(event)}
        return found - {None, exclude}


class Pair:
    """A model and an index to which the same is done; the engine, unless another is given."""

    def __init__(self, index: Any = None) -> None:
        self.model = Model()
        self.index: Any = CompiledIndex() if index is None else index

    def add(self, key: Any, filter_: Filter, destination: Hashable = None) -> None:
        self.index.add(key, filter_, destination)
        self.model.entries[key] = filter_, destination

    def remove(self, key: Any) -> None:
        self.index.remove(key)
        del self.model.entries[key]

    def check(self, events: Sequence[Event], looked_at: int | None = None) -> None:
        """All answers on a batch are right; on a large model, look at some events only."""
        found = self.index.match_batch(events)
        assert len(found) == len(events)
        step = max(len(events) // looked_at, 1) if looked_at else 1
        for event, keys in list(zip(events, found, strict=True))[::step]:
            assert_same(keys, self.model.match(event), event)

    def check_destinations(self, events: Sequence[Event], exclude: Hashable = None) -> None:
        found = self.index.destinations_batch(events, exclude)
        assert len(found) == len(events)
        for event, destinations in zip(events, found, strict=True):
            assert_same(destinations, self.model.destinations(event, exclude), event)


def assert_same(found: list[Any], expected: set[Any], event: Event) -> None:
    """What was found is what was expected, each once."""
    assert sorted(map(repr, found)) == sorted(map(repr, expected)), event


@contextmanager
def small_numbers() -> Iterator[None]:
    """Let few filters do what usually needs thousands: merge, rebuild, compact, share cells."""
    with (
        patch.object(segments, "NEW_ROWS_MAX", 8),
        patch.object(engine, "NEW_ROWS_MAX", 8),
        patch.object(engine, "DEAD_ROWS_MIN", 8),
        patch.object(segments, "OWN_GROUPS_MIN", 4),
        patch.object(domains, "NUMBER_CELLS_MAX", 3),
        patch.object(domains, "TEXT_CELLS_MAX", 3),
    ):
        yield
