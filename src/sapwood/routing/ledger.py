"""The ledger of an edge: what a neighbour is owed beside what it was told.

What is owed follows from the entries (a strategy says how), what was told is remembered here, and
what has to be said is the difference of the two. It can wait: while a neighbour is away or its edge
is frozen nothing is taken, and afterwards one net difference is, however much happened meanwhile.
The strategy can be exchanged, or the neighbour lose what it was told: again only the difference is
said. The ids that differ are kept as changes come, so that the cost is per change, not per table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sapwood.filters.filter import Filter
from sapwood.routing.algorithms import strategy
from sapwood.routing.strategy import Difference, Entry, Strategy, difference

AT_ONCE = 32
"""Filters that are hidden or shown again at once because of one entry, for one neighbour."""


def _bounded(strategy: Strategy) -> Strategy:
    """The same, which leaves for later what takes long."""
    strategy.at_once = AT_ONCE
    return strategy


class EdgeLedger:
    """What one neighbour is owed and what it was told.

    Only entries that were taken in are removed from a scoped ledger: others were outside its scope.
    """

    def __init__(self, neighbour: str, algorithm: str, *, is_scoped: bool = False) -> None:
        self.neighbour = neighbour
        self.algorithm = algorithm
        self.told: dict[str, Filter] = {}
        """By id: what the neighbour has from here, as far as it was told."""
        self._strategy = _bounded(strategy(algorithm))
        self._differing: dict[str, None] = {}
        """The ids under which owed and told differ, but for what the strategy has touched since."""
        self._touched: dict[str, None] = {}
        """Ids that were told by another ledger of the same edge, and not looked at since."""
        self._admitted: set[tuple[str, str]] | None = set() if is_scoped else None
        """Of a scoped ledger: destination and id of the entries that were taken in."""

    @property
    def is_scoped(self) -> bool:
        """Whether only entries within a scope are owed."""
        return self._admitted is not None

    def admits(self, entry: Entry) -> bool:
        """Whether an entry was taken in."""
        return self._admitted is None or entry[:2] in self._admitted

    def add(self, entry: Entry) -> None:
        """Take in an entry from another destination."""
        if self._admitted is not None:
            self._admitted.add(entry[:2])
        self._strategy.add(entry)

    def remove(self, entry: Entry) -> None:
        """Remove an entry from another destination."""
        if self._admitted is not None:
            if entry[:2] not in self._admitted:
                return
            self._admitted.remove(entry[:2])
        self._strategy.remove(entry)

    def switch(self, algorithm: str, entries: Iterable[Entry]) -> None:
        """Let another algorithm say what is owed because of the entries that were taken in."""
        fresh = strategy(algorithm)
        for entry in entries:
            if self.admits(entry):
                fresh.add(entry)
        self.algorithm = algorithm
        self._strategy = _bounded(fresh)
        fresh.take_touched()
        self._differing = self._all_differing()

    def renew(self) -> None:
        """The neighbour has lost all it was told: everything owed is new to it."""
        self.told = {}
        self._strategy.take_touched()
        self._differing = dict.fromkeys(self.owed())

    def follow(self, live: EdgeLedger) -> None:
        """Share with another ledger of the same edge what the neighbour was told.

        Until an entry brings it, everything that was told is not owed here.
        """
        self.told = live.told
        self._differing = {**dict.fromkeys(self.told), **self._differing}

    def presume(self) -> None:
        """Take the neighbour to have just what it is owed: it compares, and asks if it has not.

        Whatever was remembered as told, and may be wrong, is put right by that.
        """
        self._strategy.take_touched()
        owed = self.owed()
        if self._differing or self.told != owed:
            self.told = dict(owed)
            self._differing = {}

    def retell(self, told: Mapping[str, Filter]) -> None:
        """The neighbour has been told just this by other means."""
        self._strategy.take_touched()
        self.told = dict(told)
        self._differing = self._all_differing()

    def touch(self, ids: Iterable[str]) -> None:
        """Something was told under these ids without this ledger: look at them again."""
        self._touched.update(dict.fromkeys(ids))

    @property
    def left(self) -> int:
        """How much the strategy has left to do."""
        return self._strategy.left

    def carry_on(self, work: int) -> bool:
        """Let the strategy do a bounded part of what it has left to do; whether nothing is left."""
        return self._strategy.carry_on(work)

    def is_like(self, other: EdgeLedger) -> bool:
        """Whether the same is owed here as there, by ids, and the same is still to be said."""
        self.note_changes()
        other.note_changes()
        return (
            self.algorithm == other.algorithm
            and self.owed().keys() == other.owed().keys()
            and self._differing.keys() == other._differing.keys()
            and self._admitted == other._admitted
        )

    def owed(self) -> Mapping[str, Filter]:
        """Everything the neighbour is owed now, by id; it changes with the entries."""
        return self._strategy.owed()

    def standing(self) -> Mapping[str, Filter]:
        """The filters that travel, by themselves or as part of a merger, by their ids."""
        return self._strategy.standing()

    def difference(self) -> Difference:
        """What the neighbour would have to be told now. Looking changes nothing."""
        self.note_changes()
        return difference(self.told, self.owed(), self._differing)

    def take(self) -> Difference:
        """What to tell the neighbour now; it counts as told."""
        said = self.difference()
        if said:
            self.told.update(said.subscribe)
            for told_id in said.unsubscribe:
                del self.told[told_id]
            self._differing = {}
        return said

    def note_changes(self) -> None:
        """See which ids differ after what has changed.

        Done after every event, also while nothing is taken: an id that came and went costs nothing
        then, and the order of what is said does not depend on who looked when.
        """
        touched = self._strategy.take_touched()
        if self._touched:
            touched = {**self._touched, **dict.fromkeys(touched)}
            self._touched = {}
        if not touched:
            return
        told, owed, differing = self.told, self.owed(), self._differing
        for told_id in touched:
            if told.get(told_id) == owed.get(told_id):
                differing.pop(told_id, None)
            else:
                differing[told_id] = None

    def problems(self) -> list[str]:
        """What is wrong with the memory of what differs."""
        self.note_changes()
        expected = self._all_differing()
        if expected.keys() == self._differing.keys():
            return []
        wrong = sorted(expected.keys() ^ self._differing.keys())
        return [f"the ledger of {self.neighbour} is wrong about {', '.join(wrong)}"]

    def _all_differing(self) -> dict[str, None]:
        """The ids that differ, from nothing but what is owed and what was told."""
        owed = self.owed()
        ids = {**dict.fromkeys(self.told), **dict.fromkeys(owed)}
        return {one: None for one in ids if self.told.get(one) != owed.get(one)}
