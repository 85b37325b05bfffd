"""A routing table and what each neighbour is owed because of it.

Subscriptions and advertisements spread in the same way: each has such a table of its own. A table
may have another one for its *scope*: then a neighbour is owed only the entries that overlap one of
its own entries there. Subscriptions travel only towards advertisements they overlap, so the table
of advertisements is the scope of that of subscriptions.

With each filter the table holds the text that said it, as it was received. The text is what was
told; the filter is only what it means here. The two ends of an edge compare texts, so that releases
which write the same filter in different ways still agree.

While a table is audited it has a *shadow*: another table that is filled with the same entries anew,
and follows every change meanwhile. When it has all of them it takes the place of what was there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from sapwood.filters.filter import Filter
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.strategy import Difference, Entry

_NOTHING: Mapping[str, Filter] = {}


class Held(NamedTuple):
    """What stands in the table under a destination and an id."""

    filter: Filter
    text: str
    """As it was received."""


_NOBODYS: Mapping[str, Held] = {}


class RoutingTable:
    """Entries by destination and id, and a ledger for each neighbour that is told of them."""

    def __init__(self, scope: RoutingTable | None = None) -> None:
        self.scope = scope
        self.ledgers: dict[str, EdgeLedger] = {}
        self.shadow: RoutingTable | None = None
        """The same, being built anew."""
        self._entries: dict[str, dict[str, Held]] = {}

    def __len__(self) -> int:
        """How many entries there are."""
        return sum(map(len, self._entries.values()))

    def __iter__(self) -> Iterator[Entry]:
        """All entries, by destination in the order of arrival."""
        for destination in self._entries:
            yield from self.of(destination)

    def correct(self, destination: str, entry_id: str, filter: Filter | None) -> None:
        """Let a filter be what its text means, or go if it means nothing.

        Nobody else is told: what is derived from entries is derived from the right ones later.
        """
        own = self._entries.get(destination, {})
        held = own.get(entry_id)
        if filter is None:
            own.pop(entry_id, None)
        elif held is not None:
            own[entry_id] = held._replace(filter=filter)

    def destinations(self) -> list[str]:
        """Those who have entries, in the order of their first ones."""
        return list(self._entries)

    def of(self, destination: str) -> list[Entry]:
        """The entries of one destination."""
        own = self._entries.get(destination, _NOBODYS)
        return [Entry(destination, entry_id, held.filter) for entry_id, held in own.items()]

    def filters(self, destination: str) -> list[Filter]:
        """The filters of one destination."""
        return [held.filter for held in self._entries.get(destination, _NOBODYS).values()]

    def texts(self, destination: str) -> dict[str, str]:
        """What one destination has told, by id, word for word."""
        own = self._entries.get(destination, _NOBODYS)
        return {entry_id: held.text for entry_id, held in own.items()}

    def get(self, destination: str, entry_id: str) -> Filter | None:
        """The filter under an id of a destination."""
        held = self._entries.get(destination, _NOBODYS).get(entry_id)
        return None if held is None else held.filter

    def text(self, destination: str, entry_id: str) -> str | None:
        """The text under an id of a destination."""
        held = self._entries.get(destination, _NOBODYS).get(entry_id)
        return None if held is None else held.text

    def add(self, entry: Entry, text: str | None = None) -> None:
        """Enter what a destination wants; it replaces what it wanted under the same id.

        Without a text it was told as brokers tell each other: by the canonical one.
        """
        if text is None:
            text = str(entry.filter)
        known = self.get(entry.destination, entry.id)
        own = self._entries.setdefault(entry.destination, {})
        if known == entry.filter:
            own[entry.id] = Held(known, text)
            return
        if known is not None:
            self.remove(entry.destination, entry.id)
            own = self._entries.setdefault(entry.destination, {})
        own[entry.id] = Held(entry.filter, text)
        if self.shadow is not None:
            self.shadow.add(entry, text)
        for neighbour, ledger in self.ledgers.items():
            if neighbour != entry.destination and self.is_within(neighbour, entry.filter):
                ledger.add(entry)

    def remove(self, destination: str, entry_id: str) -> Entry | None:
        """Take out what a destination wants under an id, if there is such an entry."""
        if self.shadow is not None:
            self.shadow.remove(destination, entry_id)
        own = self._entries.get(destination)
        if own is None or entry_id not in own:
            return None
        entry = Entry(destination, entry_id, own.pop(entry_id).filter)
        if not own:
            del self._entries[destination]
        for neighbour, ledger in self.ledgers.items():
            if neighbour != destination:
                ledger.remove(entry)
        return entry

    # What is left for later

    @property
    def left(self) -> int:
        """How much is left to do about what neighbours are owed (`Strategy.left`)."""
        return sum([ledger.left for ledger in self.ledgers.values()])

    def carry_on(self, work: int) -> None:
        """Do a bounded part of it, for one neighbour after the other."""
        for ledger in self.ledgers.values():
            left = ledger.left
            if left and work > 0:
                ledger.carry_on(work)
                if ledger.left:
                    return  # however much it was
                work -= left

    # Neighbours

    def open(self, neighbour: str, algorithm: str) -> None:
        """Begin to owe a neighbour; everything within its scope is new to it."""
        ledger = EdgeLedger(neighbour, algorithm, is_scoped=self.scope is not None)
        for entry in self._of_others(neighbour):
            if self.is_within(neighbour, entry.filter):
                ledger.add(entry)
        self.ledgers[neighbour] = ledger
        if self.shadow is not None:
            self.shadow.open(neighbour, algorithm)
            self.shadow.ledgers[neighbour].follow(ledger)

    def close(self, neighbour: str) -> None:
        """Owe a neighbour nothing any more; it is not told."""
        self.ledgers.pop(neighbour, None)
        if self.shadow is not None:
            self.shadow.close(neighbour)

    def switch(self, neighbour: str, algorithm: str) -> None:
        """Let another algorithm say what a neighbour is owed."""
        ledger = self.ledgers.get(neighbour)
        if ledger is not None:
            ledger.switch(algorithm, self._of_others(neighbour))
        if self.shadow is not None:
            self.shadow.switch(neighbour, algorithm)

    def renew(self, neighbour: str) -> None:
        """A neighbour has lost all it was told: everything owed is new to it."""
        ledger = self.ledgers.get(neighbour)
        if ledger is None:
            return
        ledger.renew()
        shadow = None if self.shadow is None else self.shadow.ledgers.get(neighbour)
        if shadow is not None:
            shadow.renew()
            shadow.follow(ledger)

    def presume(self, neighbour: str) -> None:
        """Take a neighbour to have just what it is owed."""
        ledger = self.ledgers.get(neighbour)
        if ledger is None:
            return
        told = ledger.told
        ledger.presume()
        shadow = None if self.shadow is None else self.shadow.ledgers.get(neighbour)
        if shadow is not None and ledger.told is not told:
            shadow.follow(ledger)
            shadow.touch((*told, *ledger.told))

    def retell(self, neighbour: str, told: Mapping[str, Filter]) -> None:
        """A neighbour has been told just this, by other means than differences."""
        ledger = self.ledgers.get(neighbour)
        if ledger is None:
            return
        before = ledger.told
        ledger.retell(told)
        shadow = None if self.shadow is None else self.shadow.ledgers.get(neighbour)
        if shadow is not None:
            shadow.follow(ledger)
            shadow.touch((*before, *ledger.told))

    def is_within(self, neighbour: str, filter: Filter) -> bool:
        """Whether a neighbour is concerned by entries with a filter."""
        if self.scope is None:
            return True
        return any(one.overlaps(filter) for one in self.scope.filters(neighbour))

    def rescope(self, neighbour: str) -> None:
        """The scope of a neighbour has changed: see which entries are within it now."""
        if self.shadow is not None:
            self.shadow.rescope(neighbour)
        ledger = self.ledgers.get(neighbour)
        if ledger is None or not ledger.is_scoped:
            return
        for entry in self._of_others(neighbour):
            if self.is_within(neighbour, entry.filter):
                if not ledger.admits(entry):
                    ledger.add(entry)
            else:
                ledger.remove(entry)

    # What they are owed

    def owed(self, neighbour: str) -> dict[str, Filter]:
        """Everything a neighbour is owed now, by id; nothing if it is not told at all."""
        ledger = self.ledgers.get(neighbour)
        return {} if ledger is None else dict(ledger.owed())

    def told(self, neighbour: str) -> Mapping[str, Filter]:
        """Everything a neighbour was told and has not been taken back, by id."""
        ledger = self.ledgers.get(neighbour)
        return _NOTHING if ledger is None else ledger.told

    def differences(self) -> Iterator[tuple[str, Difference]]:
        """What each neighbour is owed and was not told yet. Looking changes nothing."""
        for neighbour, ledger in self.ledgers.items():
            said = ledger.difference()
            if said:
                yield neighbour, said

    def take_differences(self, withheld: Collection[str] = ()) -> Iterator[tuple[str, Difference]]:
        """What to tell each neighbour now; it counts as told. Those withheld are told later."""
        for neighbour, ledger in self.ledgers.items():
            if neighbour in withheld:
                ledger.note_changes()
                continue
            said = ledger.take()
            if said:
                self._note_told(neighbour, said)
                yield neighbour, said

    def _note_told(self, neighbour: str, said: Difference) -> None:
        """Let the shadow know what a neighbour was told."""
        shadow = None if self.shadow is None else self.shadow.ledgers.get(neighbour)
        if shadow is not None:
            shadow.touch([*(one for one, _ in said.subscribe), *said.unsubscribe])

    # Built anew

    def cast_shadow(
        self, scope: RoutingTable | None, algorithms: Mapping[str, str]
    ) -> RoutingTable:
        """Begin to build the same anew, for neighbours with their algorithms, without any entry.

        It follows what happens here.
        """
        shadow = RoutingTable(scope)
        for neighbour, algorithm in algorithms.items():
            shadow.open(neighbour, algorithm)
            ledger = self.ledgers.get(neighbour)
            if ledger is not None:
                shadow.ledgers[neighbour].follow(ledger)
        self.shadow = shadow
        return shadow

    def take_shadow(self) -> list[EdgeLedger]:
        """Go on with what was built anew; the ledgers that were there before."""
        before = list(self.ledgers.values())
        if self.shadow is not None:
            self.ledgers = self.shadow.ledgers
            self.shadow = None
        return before

    def problems(self) -> Iterator[str]:
        """What is wrong with the ledgers."""
        for ledger in self.ledgers.values():
            yield from ledger.problems()

    def _of_others(self, neighbour: str) -> Iterator[Entry]:
        for destination in self._entries:
            if destination != neighbour:
                yield from self.of(destination)
