"""`MatchIndex`: which of many filters match a notification.

A few filters are scanned (``scan.py``), which needs nothing compiled; many are for the engine
(``engine.py``). The design of the engine, and what it was measured against, is in
``docs/decisions/matching-engine.md``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import deepcopy
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic

from sapwood.errors import MatchIndexError
from sapwood.filters.filter import Filter
from sapwood.matching.entry import Event, IndexEntry, Key
from sapwood.matching.loading import ENGINE, Preload
from sapwood.matching.scan import FilterScan

if TYPE_CHECKING:
    from sapwood.matching.engine import CompiledIndex, Engine

SCANNED_MAX = 128
"""Filters up to which an index scans, unless the engine is loaded ahead.

Loaded, the engine is quicker from the first filter on, if only by microseconds. Up to here a scan
takes some ten to twenty of them, and to load the engine takes as long as 50,000 scans.
"""

TOGETHER_MAX = 32
"""Conjunctions up to which an index scans that are looked at for the same value."""


class MatchIndex(Generic[Key]):
    """Filters under keys, and the question which of them match.

    >>> index = MatchIndex()
    >>> index.add("cheap", Filter("price < 10"))
    >>> index.add("ibm", Filter("symbol = 'IBM'"))
    >>> index.match({"symbol": "IBM", "price": 120})
    ['ibm']

    An entry may belong to a destination. `destinations` then tells where a notification has to go,
    which is cheaper than finding all filters that match: one per destination is enough.

    Keys come in an order that depends only on what was done to the index before, and, in a process
    that loads the engine ahead (`sapwood.matching.preload`), on when it was loaded. An index is not
    safe to use from several threads at once. Where ``keeps_filters`` is false, a large index does
    without the filters that were given to it; it cannot be copied or list its `entries` then.
    """

    def __init__(self, *, keeps_filters: bool = True) -> None:
        self._table: FilterScan[Key] | CompiledIndex[Key] = FilterScan()
        self._compiled: CompiledIndex[Key] | None = None
        """The table, if it is that of the engine."""
        self._keeps_filters = keeps_filters
        self._is_large = False
        """Whether the filters are, or were, too many to be scanned."""

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._table)

    def __contains__(self, key: object) -> bool:
        """Whether there is an entry under this key."""
        return key in self._table

    def __deepcopy__(self, memo: dict[int, Any]) -> MatchIndex[Key]:
        """An index of the same entries, built anew."""
        copy: MatchIndex[Key] = MatchIndex(keeps_filters=self._keeps_filters)
        memo[id(self)] = copy
        for key, filter_, destination in self.entries():
            copy.add(deepcopy(key, memo), filter_, deepcopy(destination, memo))
        if self._compiled is not None:
            copy._change_over()
        return copy

    def __getstate__(self) -> tuple[Any, ...]:
        """What to build it from anew, in another process as well.

        The engine's arrays hold addresses of this process: whoever took them along would crash. So
        only entries travel; where they arrive, the engine is used if it can be loaded there.
        """
        if self._compiled is not None and not self._keeps_filters:
            raise MatchIndexError(
                "an index that does not keep its filters cannot be copied or pickled; "
                "make it with keeps_filters=True"
            )
        return self._keeps_filters, self._is_large, list(self.entries())

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """The same entries, in the same order."""
        keeps_filters, is_large, entries = state
        MatchIndex.__init__(self, keeps_filters=keeps_filters)
        self._is_large = is_large
        for key, filter_, destination in entries:
            self.add(key, filter_, destination)

    @property
    def is_compiled(self) -> bool:
        """Whether the engine answers."""
        return self._compiled is not None

    @property
    def has_engine(self) -> bool:
        """Whether `engine` is there at once: it answers already, or was loaded ahead."""
        return self._compiled is not None or ENGINE.preload is Preload.LOADED

    def entries(self) -> Iterator[IndexEntry[Key]]:
        """All entries; what they hold is what is matched."""
        return self._table.entries()

    def add(self, key: Key, filter: Filter, destination: Hashable = None) -> None:
        """Enter a filter under a new key, on behalf of a destination if one is given."""
        together = self._table.add(key, filter, destination)
        if self._compiled is None:
            if together > TOGETHER_MAX or len(self._table) > SCANNED_MAX:
                self._is_large = True
            self._change_over_if_due()

    def remove(self, key: Key) -> None:
        """Take out what was entered under a key."""
        self._table.remove(key)

    def match(self, notification: Event) -> list[Key]:
        """The keys of all filters that match a notification."""
        if self._compiled is None:
            self._change_over_if_due()
        return self._table.match(notification)

    def match_batch(self, notifications: Sequence[Event]) -> list[list[Key]]:
        """For each notification, the keys of all filters that match it."""
        if self._compiled is None:
            self._change_over_if_due()
        return self._table.match_batch(notifications)

    def destinations(self, notification: Event, exclude: Hashable = None) -> list[Any]:
        """The destinations, except one, for which at least one filter matches."""
        if self._compiled is None:
            self._change_over_if_due()
        return self._table.destinations(notification, exclude)

    def destinations_batch(
        self, notifications: Sequence[Event], exclude: Hashable = None
    ) -> list[list[Any]]:
        """For each notification, the destinations for which at least one filter matches."""
        if self._compiled is None:
            self._change_over_if_due()
        return self._table.destinations_batch(notifications, exclude)

    def engine(self) -> Engine:
        """What compiled code needs that asks for destinations by itself; until the next change."""
        return (self._compiled or self._change_over()).engine()

    def destination(self, number: int) -> Any:
        """The destination that compiled code knows by a number."""
        return self._change_over().destination(number)

    def count_events(self, count: int) -> None:
        """Compiled code has asked about so many notifications."""
        (self._compiled or self._change_over()).count_events(count)

    def optimize(self) -> None:
        """Rearrange everything, using what the notifications matched so far were like."""
        if self._compiled is not None:
            self._compiled.optimize()

    def _change_over_if_due(self) -> None:
        """Change over where the engine is loaded ahead, or is worth the time it takes to load."""
        if ENGINE.preload is Preload.LOADED or (self._is_large and ENGINE.may_be_loaded):
            self._change_over()

    def _change_over(self) -> CompiledIndex[Key]:
        """Hand all entries to the engine, unless it has them."""
        if self._compiled is None:
            make = import_module("sapwood.matching.engine").CompiledIndex
            compiled: CompiledIndex[Key] = make(keeps_filters=self._keeps_filters)
            for key, filter_, destination in self._table.entries():
                compiled.add(key, filter_, destination)
            self._table = self._compiled = compiled
        return self._compiled
