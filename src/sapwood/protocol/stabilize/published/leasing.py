"""Leased tables: what all algorithms with leases share (Jaeger 2007, 3.3).

Clients renew their subscriptions, and brokers pass renewals on, from end to end. What a neighbour
is owed follows from the entries as everywhere (``routing``), and changes are told by differences;
an entry that expires is a change like any other, so whoever was told of it is told of its end.
(Printed is the opposite, that entries expire silently. Then a bogus entry can hide the end of a
real one from the neighbours for longer than the bound.)

Beside changes there are renewals. What they concern is up to the algorithm, given by two questions:
under which ids a neighbour knows an entry (`lines`), and whether an entry stands behind an id
(`supports`). Who of those renews it is decided in ``telling``.

No memory of what was told decides what is told: it could be spoilt. The ledgers are derived from
the entries, and a wrong representative is one that never renews, until its entry expires.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from typing import Any

from msgspec.structs import replace

from sapwood.errors import SapwoodError
from sapwood.filters.filter import Filter
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.core import Core
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.messages import Advertise, Subscribe, Unadvertise, Unsubscribe
from sapwood.protocol.settling import Settling
from sapwood.protocol.stabilize.published.leases import Key, Leases
from sapwood.protocol.stabilize.published.memory import Memory, Remembered, replace_entries
from sapwood.protocol.stabilize.published.settings import SchemeSettings
from sapwood.protocol.stabilize.published.telling import Line, Telling, Tellings, successor
from sapwood.protocol.subscribing import Subscribing
from sapwood.routing.strategy import Entry

BEGIN: dict[str, type[Subscribe | Advertise]] = {SUBSCRIBED: Subscribe, ADVERTISED: Advertise}
END: dict[str, type[Unsubscribe | Unadvertise]] = {
    SUBSCRIBED: Unsubscribe,
    ADVERTISED: Unadvertise,
}
_KINDS: dict[type, str] = {
    Subscribe: SUBSCRIBED,
    Unsubscribe: SUBSCRIBED,
    Advertise: ADVERTISED,
    Unadvertise: ADVERTISED,
}


class Leasing(Subscribing):
    """Keeps leased tables, and passes renewals on."""

    name = "leasing"

    def __init__(self, core: Core, settling: Settling, settings: SchemeSettings) -> None:
        super().__init__(core, settling)
        self.settings = settings
        period = settings.lease_period
        self.leases = Leases(period, overrun_at=settings.phase * period)
        self.tellings = Tellings()
        self.expired = 0
        """Entries that were not renewed in time."""
        self._by_filter: dict[tuple[str, str], dict[Key, None]] = {}
        """The entries with a filter, by kind and the filter's id; derived."""

    # What an algorithm says

    @abstractmethod
    def lines(self, kind: str, neighbour: str, entry: Entry) -> list[str]:
        """The ids under which a neighbour knows an entry of somebody else."""

    @abstractmethod
    def supports(self, line: Line, entry: Entry) -> bool:
        """Whether a neighbour knows something because of an entry of somebody else."""

    def supporters(self, line: Line) -> Iterable[Key]:
        """The entries that stand behind something a neighbour knows."""
        same = self._by_filter.get((line.kind, line.id), {})
        return [key for key in same if key.destination != line.neighbour]

    def concerned(self, kind: str, neighbour: str, entry: Entry) -> Iterable[str]:
        """Under which ids an entry may have been told."""
        return [entry.filter.id]

    def is_told_aside(self, kind: str, neighbour: str, entry: Entry) -> bool:
        """Whether an entry that a neighbour knows only within others is told by itself too."""
        return False

    # Renewals

    def _begin(
        self, source: str, message: Subscribe | Advertise, now: float, kind: str
    ) -> list[Effect]:
        """Something comes or is renewed."""
        try:
            filter = self.core.parse(message.filter)
        except SapwoodError:
            return super()._begin(source, message, now, kind)
        key = Key(kind, source, self.entry_id(source, message.id))
        self.leases.renew(key, now, message.lease)
        known = self._tables[kind].get(source, key.id)
        told = self._noted(super()._begin(source, message, now, kind), now)
        if known is not None and known != filter:  # only after a fault
            told += self._handed_over(key, Entry(source, key.id, known), now)
        return told + self._renewed(key, Entry(source, key.id, filter), now)

    def _renewed(self, key: Key, entry: Entry, now: float) -> list[Effect]:
        """Pass a renewal on, to each neighbour for which the entry is the representative."""
        effects: list[Effect] = []
        for neighbour in self._audience(key.kind, entry):
            ids = self.lines(key.kind, neighbour, entry)
            for told_id in ids:
                effects += self._renew(Line(key.kind, neighbour, told_id), key, now)
            own = entry.filter.id
            if own not in ids and self.is_told_aside(key.kind, neighbour, entry):
                effects += self._renew(Line(key.kind, neighbour, own), key, now)
        return effects

    def _renew(self, line: Line, key: Key, now: float) -> list[Effect]:
        """Tell a neighbour once more, if it is for this entry to do so."""
        telling = self.tellings.get(line)
        if telling is not None:
            if telling.at == now and telling.renewed:  # just told
                return []
            other = telling.representative
            if other is not None and other != key and self._is_supported_by(line, other):
                return []
        return self._tell(line, key, now)

    def _tell(self, line: Line, key: Key, now: float) -> list[Effect]:
        """Tell a neighbour something for an entry, which renews it from now on."""
        filter = self._owed(line) or self._tables[key.kind].get(key.destination, key.id)
        if filter is None:
            return []
        period = self.leases.period_of(key)
        self.tellings.put(line, Telling(key, now, period=period))
        return [Send(line.neighbour, BEGIN[line.kind](line.id, str(filter), lease=period))]

    def _owed(self, line: Line) -> Filter | None:
        """What a neighbour is owed under an id, if anything."""
        ledger = self._tables[line.kind].ledgers.get(line.neighbour)
        return None if ledger is None else ledger.owed().get(line.id)

    def _is_supported_by(self, line: Line, key: Key) -> bool:
        """Whether an entry is there and stands behind something that a neighbour knows."""
        filter = self._tables[key.kind].get(key.destination, key.id)
        if filter is None or key.kind != line.kind or key.destination == line.neighbour:
            return False
        return self.supports(line, Entry(key.destination, key.id, filter))

    def _audience(self, kind: str, entry: Entry) -> list[str]:
        """The neighbours that are to know of an entry, in one way or another."""
        table, neighbours = self._tables[kind], self.core.neighbours
        return [
            name
            for name in table.ledgers
            if name != entry.destination
            and not (kind == SUBSCRIBED and neighbours[name].floods)
            and table.is_within(name, entry.filter)
        ]

    # Entries

    def enter(
        self, source: str, entry_id: str, kind: str, filter: Filter, text: str
    ) -> list[Effect]:
        """Let something be in force."""
        key = Key(kind, source, entry_id)
        known = self._tables[kind].get(source, entry_id)
        if known is not None:
            self._unindex(key, known)
        self._by_filter.setdefault((kind, filter.id), {})[key] = None
        return super().enter(source, entry_id, kind, filter, text)

    def leave(self, source: str, entry_id: str, kind: str) -> list[Effect] | None:
        """Let it be in force no longer.

        What a client ends is what it had asked for, whatever a fault has made of the entry.
        """
        key = Key(kind, source, entry_id)
        filter = self._tables[kind].get(source, entry_id)
        if filter is not None:
            self._drop(key, filter)
        claim = self.core.clients.standing(source, kind, entry_id)
        if claim is None:
            return super().leave(source, entry_id, kind)
        self.core.remove(self._tables[kind], source, entry_id)
        return self._note_end(source, entry_id, kind, claim.filter)

    def _drop(self, key: Key, filter: Filter) -> None:
        self.leases.drop(key)
        self._unindex(key, filter)

    def _unindex(self, key: Key, filter: Filter) -> None:
        same = self._by_filter.get((key.kind, filter.id), {})
        same.pop(key, None)
        if not same:
            self._by_filter.pop((key.kind, filter.id), None)

    def _note_begin(
        self, source: str, entry_id: str, kind: str, filter: Filter, replaced: Filter | None
    ) -> list[Effect]:
        """A claim that stands is not made again when its entry is."""
        claim = self.core.clients.standing(source, kind, entry_id)
        if claim is not None and claim.filter == filter:
            return []
        return super()._note_begin(source, entry_id, kind, filter, replaced)

    # Ends

    def _end(
        self, source: str, message: Unsubscribe | Unadvertise, now: float, kind: str
    ) -> list[Effect]:
        """Something goes."""
        key = Key(kind, source, self.entry_id(source, message.id))
        filter = self._tables[kind].get(source, key.id)
        told = self._noted(super()._end(source, message, now, kind), now)
        if filter is not None:
            told += self._handed_over(key, Entry(source, key.id, filter), now)
        if not self.settings.ends and source in self.core.clients:
            return [one for one in told if not _is_end(one)]
        return told

    def _handed_over(self, key: Key, entry: Entry, now: float) -> list[Effect]:
        """See who renews from now on what an entry renewed that is gone."""
        effects: list[Effect] = []
        for neighbour in self._tables[key.kind].ledgers:
            for told_id in self.concerned(key.kind, neighbour, entry):
                line = Line(key.kind, neighbour, told_id)
                telling = self.tellings.get(line)
                if telling is not None and not self._is_represented(line, telling):
                    effects += self._hand_over(line, telling, now)
        return effects

    def _is_represented(self, line: Line, telling: Telling) -> bool:
        """Whether the one that renews something is there. A fault may have named another."""
        renewing = telling.representative
        return renewing is not None and self._is_supported_by(line, renewing)

    def _hand_over(self, line: Line, telling: Telling, now: float) -> list[Effect]:
        chosen, at_once = successor(self.supporters(line), self.leases, telling.at, now)
        if chosen is None:
            self.tellings.drop(line)
            return [Send(line.neighbour, END[line.kind](line.id))]
        if at_once or telling.period != self.leases.period_of(chosen):
            return self._tell(line, chosen, now)
        telling.representative = chosen
        return []

    # Time

    @property
    def next_at(self) -> float:
        """When a clock overruns."""
        return self.leases.next_at

    def tick(self, now: float) -> list[Effect]:
        """Remove what was not renewed."""
        if now < self.next_at:
            return []
        if self.leases.is_due(now):
            self.tellings.overrun()
        entries = {
            Key(kind, entry.destination, entry.id): entry
            for kind, table in self._tables.items()
            for entry in table
        }
        expired = self.leases.overrun(entries, now)
        self.expired += len(expired)
        for key in expired:
            self._unindex(key, entries[key].filter)
            self.core.remove(self._tables[key.kind], key.destination, key.id)
        return self._ended({key: entries[key] for key in expired}, now) if expired else []

    def _ended(self, expired: dict[Key, Entry], now: float) -> list[Effect]:
        """Entries have expired: tell those who were told of them."""
        effects = self._noted(self.core.tell_all(), now)
        for key, entry in expired.items():
            effects += self._handed_over(key, entry, now)
        return effects

    # What was told

    def _noted(self, effects: list[Effect], now: float) -> list[Effect]:
        """Remember what neighbours are told by differences, and add leases of its own to it."""
        return [self._note(one, now) if isinstance(one, Send) else one for one in effects]

    def _note(self, effect: Send, now: float) -> Send:
        message, neighbour = effect.message, effect.destination
        if neighbour not in self.core.neighbours:
            return effect
        if isinstance(message, Unsubscribe | Unadvertise):
            self.tellings.drop(Line(_KINDS[type(message)], neighbour, message.id))
        elif isinstance(message, Subscribe | Advertise):
            line = Line(_KINDS[type(message)], neighbour, message.id)
            chosen, _ = successor(self.supporters(line), self.leases, now, now)
            period = 0.0 if chosen is None else self.leases.period_of(chosen)
            self.tellings.put(line, Telling(chosen, now, period=period))
            if period:
                return Send(neighbour, replace(message, lease=period))
        return effect

    # Links and clients

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """What a neighbour wanted goes with it."""
        self.tellings.forget(neighbour)
        gone = self._entries_of(neighbour)
        return self._gone(gone, super().link_down(neighbour, now), now)

    def client_down(self, client: str, now: float) -> list[Effect]:
        """What a client claimed goes with it."""
        gone = self._entries_of(client)
        return self._gone(gone, super().client_down(client, now), now)

    def _entries_of(self, destination: str) -> dict[Key, Entry]:
        return {
            Key(kind, destination, entry.id): entry
            for kind, table in self._tables.items()
            for entry in table.of(destination)
        }

    def _gone(self, gone: dict[Key, Entry], effects: list[Effect], now: float) -> list[Effect]:
        for key, entry in gone.items():
            self._drop(key, entry.filter)
        told = self._noted(effects, now)
        for key, entry in gone.items():
            told += self._handed_over(key, entry, now)
        return told

    # What faults can spoil

    def remember(self) -> Memory:
        """The state of the tables now."""
        return Memory(
            entries=tuple(
                Remembered(key, str(entry.filter), copy(self.leases.get(key)))
                for kind, table in self._tables.items()
                for entry in table
                for key in [Key(kind, entry.destination, entry.id)]
            ),
            tellings=tuple((line, copy(telling)) for line, telling in self.tellings),
            clock=self.leases.overrun_at,
        )

    def recall(self, memory: Memory) -> None:
        """Let the tables be in another state; nobody is told."""
        replace_entries(self.core, [(one.key, one.text) for one in memory.entries])
        self.leases = Leases(self.settings.lease_period, memory.clock)
        self.tellings = Tellings()
        self._by_filter = {}
        for one in memory.entries:
            if one.lease is not None:
                self.leases.put(one.key, copy(one.lease))
        for line, telling in memory.tellings:
            self.tellings.put(line, copy(telling))
        for kind, table in self._tables.items():
            for entry in table:
                key = Key(kind, entry.destination, entry.id)
                self._by_filter.setdefault((kind, entry.filter.id), {})[key] = None

    # Looking

    def report(self) -> dict[str, Any]:
        """How large the tables are, and how much has expired."""
        return {**super().report(), "expired": self.expired}


def _is_end(effect: Effect) -> bool:
    return isinstance(effect, Send) and isinstance(effect.message, Unsubscribe | Unadvertise)
