"""Gaps: who has to know that notifications were lost on a link.

What could have crossed a link is bounded by the filters that the other end was told, so a gap comes
with these filters, and only those are told of it who want something that one of them matches. Where
nothing is known (the edge floods, or there are too many filters), anything may be missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import msgspec

from sapwood.errors import SapwoodError
from sapwood.filters import kinds
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.core import Core
from sapwood.protocol.effects import Effect, Record, Send
from sapwood.protocol.events import AnythingMissed, NotificationsMissed
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.messages import Missed
from sapwood.protocol.restoration import Restoration

FILTERS_MAX = 64
"""Filters that bound a gap; with more of them, anything may be missing."""

HELD_MAX = 4096
"""Reports that are held at a time."""

PASSED_MAX = 8
"""Reports that are passed on between two ticks; the others are held until the next one, and put
together. A report that goes round a circle would else do so as often as links allow."""

TESTS_MAX = 10_000
"""Pairs of filters compared because of one gap; beyond it, whoever wants anything is told."""

Bounds: TypeAlias = Collection[Filter] | None
"""One of these matches whatever is missing; None if that may be anything."""


class Dropped(msgspec.Struct):
    """What came from one source and was not taken since the last report."""

    count: int = 0
    filters: dict[Filter, None] = {}
    """Filters that match it, one for each set of attributes, up to a limit and one more."""


class Gaps(Machine):
    """Passes on what was missed to those whom it concerns."""

    name = "gaps"

    def __init__(self, core: Core, restoration: Restoration) -> None:
        super().__init__(core)
        self.held: dict[tuple[str, str], Missed] = {}
        """By source and link: what was missed while this broker was restoring. Those whom it
        concerns may not be linked yet."""
        self.passed = 0
        """Reports that were passed on since the last tick."""
        self.dropped: dict[str, Dropped] = {}
        """By source: what this broker itself did not take. It is reported later, all together."""
        self._restoration = restoration

    def events(self) -> Mapping[type, EventHandler]:
        """The driver knows what a neighbour could not send."""
        return {NotificationsMissed: self._missed_here, AnythingMissed: self._missed_anything}

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """A neighbour passes on what was missed behind it."""
        return {Missed: self.missed}

    def _missed_here(self, event: NotificationsMissed, now: float) -> list[Effect]:
        source = event.neighbour
        if not self.core.neighbours.is_in_tree(source):
            rejection = self.core.rejection(source)
            return [] if rejection is None else self.core.drops.count(rejection, source)
        return self.missed(source, Missed(event.count, self._link(source), event.filters), now)

    def _missed_anything(self, event: AnythingMissed, now: float) -> list[Effect]:
        """Whoever wants anything is told, on all sides."""
        return self.missed(self.core.id, Missed(0, self._link(self.core.id)), now)

    def link_replaced(self, neighbour: str, now: float) -> list[Effect]:
        """What a neighbour keeps for this side may never come: the tree goes on without it."""
        return self._missed_here(NotificationsMissed(neighbour, 0), now)

    def missed(self, source: str, message: Missed, now: float) -> list[Effect]:
        """Pass a report on, or hold it until everybody is here."""
        is_many = self.passed >= PASSED_MAX
        if (self._restoration.is_active or is_many) and len(self.held) < HELD_MAX:
            key = (source, message.link)
            known = self.held.get(key)
            self.held[key] = message if known is None else _together(known, message)
            return []
        self.passed += 1
        return self.pass_on(source, message.count, message.link, self._bounds(source, message))

    def drop(self, source: str, attributes: Mapping[str, Value]) -> None:
        """A notification is not taken from a source, though it may be wanted here."""
        dropped = self.dropped.setdefault(source, Dropped())
        dropped.count += 1
        if len(dropped.filters) <= FILTERS_MAX:
            equal = {name: kinds.equal(value) for name, value in attributes.items()}
            dropped.filters[Filter.all_of(equal)] = None

    @property
    def are_waiting(self) -> bool:
        """Whether there are reports that were not passed on yet."""
        return bool(self.held or self.dropped)

    def tick(self, now: float) -> list[Effect]:
        """Pass on what was held and report what was dropped, once everybody is here."""
        self.passed = 0
        if not self.are_waiting or self._restoration.is_active:
            return []
        held, self.held = self.held, {}
        dropped, self.dropped = self.dropped, {}
        effects: list[Effect] = []
        for source, one in dropped.items():
            bounds = None if len(one.filters) > FILTERS_MAX else list(one.filters)
            effects += self.pass_on(source, one.count, self._link(source), bounds)
        for (source, link), message in held.items():
            effects += self.pass_on(source, message.count, link, self._bounds(source, message))
        return effects

    def state(self) -> Any:
        """What is held."""
        return [[source, msgspec.to_builtins(one)] for (source, _), one in self.held.items()]

    def _link(self, neighbour: str) -> str:
        """What the link over which a neighbour sends is called in reports."""
        return f"{neighbour}-{self.core.id}"

    def _bounds(self, source: str, message: Missed) -> Bounds:
        """What may be missing: what a report says, or what was asked for of a neighbour."""
        bounds = self._parsed(message.filters)
        if bounds is None and message.link == self._link(source):
            return self._told(source)
        return bounds

    def _told(self, neighbour: str) -> Bounds:
        """What could have come from a neighbour: what it was told that somebody wants.

        After a restart it was told nothing yet, and before it nobody knows what: then anything.
        """
        if not self.core.neighbours.is_in_tree(neighbour):
            return None
        told = self.core.subscriptions.told(neighbour)
        if self.core.neighbours[neighbour].may_flood or len(told) > FILTERS_MAX:
            return None
        if not told:  # a new link, over which nothing was told yet; or nobody wants anything here
            return None
        return told.values()

    def _parsed(self, texts: tuple[str, ...]) -> Bounds:
        if not 0 < len(texts) <= FILTERS_MAX:
            return None
        try:
            return [self.core.parse(text) for text in texts]
        except SapwoodError:
            return None  # a bound that cannot be read is none

    def pass_on(self, source: str, count: int, link: str, bounds: Bounds) -> list[Effect]:
        """Tell those on this side of a link what did not come over it."""
        core = self.core
        if bounds is not None and len(bounds) * len(core.subscriptions) > TESTS_MAX:
            tested = None
        else:
            tested = bounds
        filters = () if bounds is None else tuple(str(filter) for filter in bounds)
        message = Missed(count, link, filters)
        concerned = [name for name in core.reach(source) if self._is_concerned(name, tested)]
        effects = core.spread(source, message, concerned)
        effects += [
            Send(name, message)
            for name in core.clients
            if name != source and self._is_concerned(name, tested)
        ]
        if core.config.recording or core.config.noting:
            what = f"{count} notifications given up on {link}"
            effects.append(Record("missed", {"source": source, "message": what}))
        return effects

    def concerned(self, message: Missed, names: Collection[str]) -> list[str]:
        """Those of some neighbours and clients who have to know of a report."""
        bounds = self._parsed(message.filters)
        return [name for name in names if self._is_concerned(name, bounds)]

    def _is_concerned(self, name: str, bounds: Bounds) -> bool:
        """Whether a neighbour or client may want something of what is missing."""
        neighbour = self.core.neighbours.get(name)
        if neighbour is not None and neighbour.is_flooded:
            return bounds is None or len(bounds) > 0
        wanted = self.core.subscriptions.filters(name)
        if bounds is None:
            return bool(wanted)
        return any(bound.overlaps(filter) for filter in wanted for bound in bounds)


def _together(one: Missed, other: Missed) -> Missed:
    """Two reports about the same link as one. What is not known of one is not known of both."""
    count = one.count + other.count if one.count and other.count else 0
    filters = tuple(dict.fromkeys((*one.filters, *other.filters)))
    if not one.filters or not other.filters or len(filters) > FILTERS_MAX:
        filters = ()
    return Missed(count, one.link, filters)
