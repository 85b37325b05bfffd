"""Merging-based routing: filters that make up one filter together travel as that one.

Three steps, each a function of the one before: the filters that covering would owe; perfect
mergers of these (Jaeger 2007, 2.2.3); of mergers and unmerged ones, those that no other covers.
The constituents of a merger are remembered where it was made: when one of them goes, the merger
that is left without it is announced before the old one is taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sapwood.filters.filter import Filter
from sapwood.routing.covering import Covering
from sapwood.routing.mergers import Mergers
from sapwood.routing.strategy import Entry, Strategy, difference


class Merging(Strategy):
    """Owes the perfect mergers of what covering would owe; unions of conjunctions stay alone."""

    def __init__(self) -> None:
        super().__init__()
        self._covering = Covering()
        self._standing: dict[str, Filter] = {}
        """What covering owed when its changes were last carried on."""
        self._mergers = Mergers()
        self._merged = Covering()

    def add(self, entry: Entry) -> None:
        """Take in an entry from another destination."""
        self._covering.add(entry)

    def remove(self, entry: Entry) -> None:
        """Remove an entry that was taken in."""
        self._covering.remove(entry)

    def owed(self) -> Mapping[str, Filter]:
        """Everything the neighbour is owed now, by id."""
        self._merge()
        return self._merged.owed()

    def standing(self) -> Mapping[str, Filter]:
        """What covering would owe: the constituents of mergers, and what is not merged."""
        return self._covering.owed()

    def take_touched(self) -> Iterable[str]:
        """The ids under which something may have changed since this was last asked."""
        self._merge()
        return self._merged.take_touched()

    def _merge(self) -> None:
        """Carry what has changed through the three steps."""
        touched = self._covering.take_touched()
        change = difference(self._standing, self._covering.owed(), touched)
        if not change:
            return
        for filter_id, filter in change.subscribe:
            self._standing[filter_id] = filter
            if len(filter.boxes) == 1:
                self._mergers.add(filter.boxes[0])
            else:
                self._merged.add(_entry(filter))
        for filter_id in change.unsubscribe:
            filter = self._standing.pop(filter_id)
            if len(filter.boxes) == 1:
                self._mergers.remove(filter.boxes[0])
            else:
                self._merged.remove(_entry(filter))
        come, gone = self._mergers.changes()
        for box in come:
            self._merged.add(_entry(Filter.from_boxes([box])))
        for box in gone:
            self._merged.remove(_entry(Filter.from_boxes([box])))


def _entry(filter: Filter) -> Entry:
    """An entry for the last step, which looks at the filter only."""
    return Entry("", filter.id, filter)
