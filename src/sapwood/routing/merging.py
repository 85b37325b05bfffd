"""Merging-based routing: filters that make up one filter together travel as that one.

Three steps, each a function of the one before: the filters that covering would owe; perfect
mergers of these (Jaeger 2007, 2.2.3); of mergers and unmerged ones, those that no other covers.
The constituents of a merger are remembered where it was made: when one of them goes, the merger
that is left without it is announced before the old one is taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from sapwood.filters.box import Box
from sapwood.filters.filter import Filter
from sapwood.routing.covering import Covering
from sapwood.routing.mergers import Mergers
from sapwood.routing.strategy import Entry, Strategy, difference

_ALL: Final = 2**62
_MERGER_WORK: Final = 8
"""What it takes to compare a merger with others, in the work of entering a plain filter."""


class Merging(Strategy):
    """Owes the perfect mergers of what covering would owe; unions of conjunctions stay alone."""

    def __init__(self) -> None:
        super().__init__()
        self._covering = Covering()
        self._standing: dict[str, Filter] = {}
        """What covering owed when its changes were last carried on."""
        self._mergers = Mergers()
        self._merged = Covering()
        self._is_partial = False
        """Whether changes are carried on in parts, and some are left."""
        self._ahead: dict[str, None] = {}
        """What covering has touched and was not carried on, where that is done in parts."""
        self._pending: list[tuple[bool, Box]] = []
        """Mergers that have come, or gone, and were not carried on yet."""

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

    def carry_on(self, work: int) -> bool:
        """Carry a part of what has changed through the three steps; whether nothing is left."""
        self._is_partial = not self._carry_part(work)
        return not self._is_partial

    def _carry_part(self, work: int) -> bool:
        self._ahead.update(dict.fromkeys(self._covering.take_touched()))
        if self._ahead:
            part = list(islice(self._ahead, work))
            for one in part:
                del self._ahead[one]
            self._change(part)
            return False
        if not self._mergers.carry_on(work):
            return False
        come, gone = self._mergers.changes()
        self._pending += [*((True, box) for box in come), *((False, box) for box in gone)]
        mergers = work // _MERGER_WORK
        due, self._pending = self._pending[:mergers], self._pending[mergers:]
        for is_new, box in due:
            entry = _entry(Filter.from_boxes([box]))
            if is_new:
                self._merged.add(entry)
            else:
                self._merged.remove(entry)
        return not self._pending

    def _merge(self) -> None:
        """Carry what has changed through the three steps."""
        while self._is_partial:
            self.carry_on(_ALL)
        touched = self._covering.take_touched()
        if not self._change(touched):
            return
        come, gone = self._mergers.changes()
        for box in come:
            self._merged.add(_entry(Filter.from_boxes([box])))
        for box in gone:
            self._merged.remove(_entry(Filter.from_boxes([box])))

    def _change(self, touched: Iterable[str]) -> bool:
        """Let mergers know what covering owes now under some ids; whether that is anything new."""
        change = difference(self._standing, self._covering.owed(), touched)
        if not change:
            return False
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
        return True


def _entry(filter: Filter) -> Entry:
    """An entry for the last step, which looks at the filter only."""
    return Entry("", filter.id, filter)
