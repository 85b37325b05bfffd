"""What is owed to one neighbour: the part that all routing algorithms share."""

from __future__ import annotations

from abc import ABC, abstractmethod
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


class Strategy(ABC):
    """Keeps what one neighbour is owed while entries from others come and go.

    An algorithm says with `_owe` and `_release` what is owed. The difference to what the
    neighbour was told is taken when all of an event is done, so that nobody is told what the same
    event takes back.
    """

    def __init__(self) -> None:
        self._owed: dict[str, Filter] = {}
        self._told_before: dict[str, Filter | None] = {}
        """For each id that changed since the last difference, what was told under it."""

    @abstractmethod
    def add(self, entry: Entry) -> None:
        """Take in an entry from another destination."""

    @abstractmethod
    def remove(self, entry: Entry) -> None:
        """Forget an entry that was taken in."""

    def owed(self) -> dict[str, Filter]:
        """Everything the neighbour is owed now, by id."""
        return dict(self._owed)

    def difference(self) -> Difference:
        """What to tell the neighbour now; it counts as told.

        Ids that are new to the neighbour come first: what replaces a filter may want less.
        """
        new, replaced, gone = [], [], []
        for told_id, told in self._told_before.items():
            owed = self._owed.get(told_id)
            if owed is None:
                if told is not None:
                    gone.append(told_id)
            elif told is None:
                new.append((told_id, owed))
            elif told != owed:
                replaced.append((told_id, owed))
        self._told_before.clear()
        return Difference(new + replaced, gone)

    def _owe(self, told_id: str, filter: Filter) -> None:
        """Owe a filter under an id from now on."""
        self._told_before.setdefault(told_id, self._owed.get(told_id))
        self._owed[told_id] = filter

    def _release(self, told_id: str) -> Filter:
        """Owe nothing under an id any more; gives back what was owed."""
        filter = self._owed.pop(told_id)
        self._told_before.setdefault(told_id, filter)
        return filter


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
        """Forget an entry that was taken in."""
        filter_id = entry.filter.id
        count = self._counts[filter_id] - 1
        if count:
            self._counts[filter_id] = count
        else:
            del self._counts[filter_id]
            self._vanish(entry.filter)
