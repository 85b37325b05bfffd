"""What is owed to one neighbour: the part that all routing algorithms share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

from sapwood.filters.filter import Filter


class Entry(NamedTuple):
    """A line of a routing table: who wants what, under which id.

    The id is that of a subscription where subscriptions travel one by one, else the filter's.
    """

    destination: str
    id: str
    filter: Filter


class Difference(NamedTuple):
    """What a neighbour has to be told, in this order.

    A subscription under an id that the neighbour knows replaces what it had under this id.
    """

    subscribe: list[tuple[str, Filter]]
    unsubscribe: list[str]

    def __bool__(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.subscribe or self.unsubscribe)


def difference(
    told: Mapping[str, Filter], owed: Mapping[str, Filter], ids: Iterable[str]
) -> Difference:
    """What has to be said under some ids to someone who was told one thing and is owed another.

    Ids that are new to the neighbour come first: what replaces a filter may want less.
    """
    new, replaced, gone = [], [], []
    for told_id in ids:
        before, after = told.get(told_id), owed.get(told_id)
        if after is None:
            if before is not None:
                gone.append(told_id)
        elif before is None:
            new.append((told_id, after))
        elif before != after:
            replaced.append((told_id, after))
    return Difference(new + replaced, gone)


class Strategy(ABC):
    """Says what one neighbour is owed while entries from others come and go.

    What is owed is a function of the entries that are there, however they came, as soon as nothing
    is `left` to do. What the neighbour was told is no matter of the strategy (see ``ledger``): it
    only remembers under which ids something may have changed.
    """

    def __init__(self) -> None:
        self.at_once: float = inf
        """How many filters one entry may concern at once; what is beyond may be left for later."""
        self._owed: dict[str, Filter] = {}
        self._touched: dict[str, None] = {}

    @abstractmethod
    def add(self, entry: Entry) -> None:
        """Take in an entry from another destination."""

    @abstractmethod
    def remove(self, entry: Entry) -> None:
        """Remove an entry that was taken in."""

    def owed(self) -> Mapping[str, Filter]:
        """Everything the neighbour is owed now, by id; it changes with the entries."""
        return self._owed

    @property
    def left(self) -> int:
        """How much is left to do: until then more may be owed than has to be, never less."""
        return 0

    def carry_on(self, work: int) -> bool:
        """Do a bounded part of what entries have left to do; whether nothing is left."""
        return True

    def standing(self) -> Mapping[str, Filter]:
        """The filters that travel, by themselves or as part of a merger, by their ids."""
        return self.owed()

    def take_touched(self) -> Iterable[str]:
        """The ids under which something may have changed since this was last asked."""
        touched, self._touched = self._touched, {}
        return touched

    def _owe(self, told_id: str, filter: Filter) -> None:
        """Owe a filter under an id from now on."""
        self._touched[told_id] = None
        self._owed[told_id] = filter

    def _release(self, told_id: str) -> Filter:
        """Owe nothing under an id any more; gives back what was owed."""
        self._touched[told_id] = None
        return self._owed.pop(told_id)


class FilterStrategy(Strategy):
    """For algorithms that look at filters only: acts on the first and last entry of each.

    However many entries want a filter, it is one to these algorithms, told under its own id.
    """

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, int] = {}

    @abstractmethod
    def _appear(self, filter: Filter) -> None:
        """The first entry with a filter has come."""

    @abstractmethod
    def _vanish(self, filter: Filter) -> None:
        """The last entry with a filter has gone."""

    def add(self, entry: Entry) -> None:
        """Take in an entry from another destination."""
        filter_id = entry.filter.id
        count = self._counts.get(filter_id, 0)
        self._counts[filter_id] = count + 1
        if count == 0:
            self._appear(entry.filter)

    def remove(self, entry: Entry) -> None:
        """Remove an entry that was taken in."""
        filter_id = entry.filter.id
        count = self._counts[filter_id] - 1
        if count:
            self._counts[filter_id] = count
        else:
            del self._counts[filter_id]
            self._vanish(entry.filter)
