"""Simple routing: every subscription travels by itself, under its own id (Jaeger 2007, 3.3.2).

Ids are meant to be unique in the network, and the same id from two destinations is the same
subscription (a neighbour that routes by filters sends these under their own ids). But who chose
an id is not to be trusted with the wants of others: if two destinations have different filters
under one id, each is told under an id that names the filter too, and none is lost.
"""

from __future__ import annotations

from sapwood.filters.filter import Filter
from sapwood.routing.strategy import Entry, Strategy


class Simple(Strategy):
    """Owes every subscription."""

    def __init__(self) -> None:
        super().__init__()
        self._wanted: dict[str, dict[str, tuple[Filter, int]]] = {}
        """By name, then by filter id: the filter, and how many want it under this name."""

    def add(self, entry: Entry) -> None:
        """Take in an entry from another destination."""
        self._claim(entry.id, entry.filter)

    def remove(self, entry: Entry) -> None:
        """Forget an entry that was taken in."""
        self._disclaim(entry.id, entry.filter)

    def _claim(self, name: str, filter: Filter) -> None:
        """Someone wants a filter to be told under a name."""
        wanted = self._wanted.setdefault(name, {})
        _, count = wanted.get(filter.id, (filter, 0))
        wanted[filter.id] = filter, count + 1
        if count:
            return
        if len(wanted) == 1:
            self._owe(name, filter)
            return
        if len(wanted) == 2:
            first = self._release(name)
            self._claim(_longer_name(name, first), first)
        self._claim(_longer_name(name, filter), filter)

    def _disclaim(self, name: str, filter: Filter) -> None:
        """Someone who wanted a filter under a name does so no longer."""
        wanted = self._wanted[name]
        _, count = wanted.pop(filter.id)
        if count > 1:
            wanted[filter.id] = filter, count - 1
            return
        if not wanted:
            del self._wanted[name]
            self._release(name)
            return
        self._disclaim(_longer_name(name, filter), filter)
        if len(wanted) == 1:
            ((last, _),) = wanted.values()
            self._disclaim(_longer_name(name, last), last)
            self._owe(name, last)


def _longer_name(name: str, filter: Filter) -> str:
    """A name for a filter where several want the name. It may be taken as well: then again."""
    return f"{name}/{filter.id}"
