"""The audit: everything that is derived from the entries of the tables is derived again.

A fault may leave the entries right and what follows from them wrong: what a neighbour is owed, the
index of filters, the plans for notifications, the wiring of machines. Nothing would ever look at
that again. So in every period a *shadow* of all of it is built from the entries, some at each tick,
while whatever changes meanwhile goes to both; when it is complete it takes the place of what was
there. Nothing is compared in order to be trusted: what is built anew is right in any case. That
something was different is counted (`REBIRTH_CHANGED`), since it cannot be without a fault.

The text of a filter is what came; the filter was read from it. So each is read again.

A slice is bounded by the work in it, not by the clock. It takes half of the period to build a
shadow, or longer where the tables are too large for that: then slices follow each other as closely
as they may.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from sapwood.errors import SapwoodError
from sapwood.filters.filter import Filter
from sapwood.filters.syntax import forget_texts
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.core import IMPOSSIBLE, REBIRTH_CHANGED, Core
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import Effect
from sapwood.protocol.forwarding import Index, enter
from sapwood.protocol.machine import Machine
from sapwood.routing.outline import outline_of
from sapwood.routing.probe import probe_of
from sapwood.routing.strategy import Entry
from sapwood.routing.table import RoutingTable

SLICE_WORK: Final = 48
"""What one slice does, in the work of entering a filter for one neighbour: some 3 ms."""

READING_WORK: Final = 3
"""To read a filter again, in the same unit."""

MERGING_WORK: Final = 2
"""To merge a filter with others for one neighbour, beside entering it."""

CLAIMS_PER_WORK: Final = 50
"""Claims of clients that are looked at for the same."""

SLICE_SECONDS_MIN: Final = 0.05
"""Shortest time between two slices."""

SLICE_SECONDS_MAX: Final = 0.5
"""Longest time between two slices."""


class Shadow:
    """What is derived from the entries, as far as it is built. Plain data."""

    def __init__(self, core: Core) -> None:
        scope = core.advertisements.cast_shadow(None, core.told_advertisements())
        self.advertisements = scope
        self.subscriptions = core.subscriptions.cast_shadow(
            scope if core.config.spreads_advertisements else None, core.told_subscriptions()
        )
        self.index: Index = core.forwarding.cast_shadow(core.heads)
        self.ahead: list[tuple[str, str]] = [
            *((SUBSCRIBED, one) for one in core.subscriptions.destinations()),
            *((ADVERTISED, one) for one in core.advertisements.destinations()),
        ]
        """Kind and destination of the entries that are not here yet; the last are next. What
        comes later is entered when it comes."""
        self.ids: list[str] = []
        """Those of them that belong to the last destination taken from ahead."""
        self.now_at: tuple[str, str] = (ADVERTISED, "")
        self.clients: list[str] = list(core.clients)
        """Those whose claims were not looked at yet."""
        self.edges: list[tuple[str, str]] | None = None
        """Tables and neighbours that are still to be compared; None before all entries are here."""
        self.is_changed = False
        """Whether anything was found that does not follow from the entries."""

    def follows(self, core: Core) -> bool:
        """Whether changes still come here as well: else this shadow is worth nothing."""
        return (
            core.subscriptions.shadow is self.subscriptions
            and core.advertisements.shadow is self.advertisements
            and core.forwarding.shadow is self.index
            and len(core.subscriptions) == len(self.subscriptions) == len(self.index)
            and len(core.advertisements) == len(self.advertisements)
        )


class Audit(Machine):
    """Builds a shadow in every period; the broker puts it in place (`Broker.renew`)."""

    name = "audit"

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.begin_at: float | None = None
        """When the next audit begins."""
        self.slice_at = -math.inf
        """When the next slice of the one under way is due."""
        self.slice_seconds = SLICE_SECONDS_MAX
        self.shadow: Shadow | None = None
        self.retired: list[object] = []
        """What a shadow has taken the place of: large, and thrown away piece by piece."""
        self.count = 0
        """Audits that are done."""

    @property
    def is_on(self) -> bool:
        """Whether anything is looked at again at all."""
        return self.core.config.stabilization.refresh != "off"

    @property
    def next_at(self) -> float | None:
        """When the next slice is due, or the next audit."""
        if not self.is_on:
            return None
        if self.shadow is not None:
            return self.slice_at
        return -math.inf if self.begin_at is None else self.begin_at

    def tick(self, now: float) -> list[Effect]:
        """Begin when it is time, and go on where something is under way."""
        if not self.is_on:
            return []
        if self.retired:
            self.retired.pop()
        period = self.core.audit_seconds
        if self.begin_at is None:
            self.begin_at = now + period
        elif is_due(self.begin_at, now, period):
            self.begin_at = now + period
            if self.shadow is None:
                self._begin(period)
        if self.shadow is not None and is_due(self.slice_at, now, self._slice_seconds()):
            self.slice_at = now + self._slice_seconds()
            self._build(self.shadow)
        return []

    def _slice_seconds(self) -> float:
        return min(max(self.slice_seconds, SLICE_SECONDS_MIN), SLICE_SECONDS_MAX)

    def _begin(self, period: float) -> None:
        core = self.core
        forget_texts()
        outline_of.cache_clear()
        probe_of.cache_clear()
        self.shadow = Shadow(core)
        work = sum(
            len(table) * (self._work(table) + MERGING_WORK * _merging(table))
            for table in core.tables
        )
        slices = math.ceil(work / SLICE_WORK) + sum(len(table.ledgers) for table in core.tables)
        self.slice_seconds = period / 2 / (slices + 1)

    def _work(self, table: RoutingTable) -> int:
        """What it takes to enter one entry of a table anew."""
        return READING_WORK + len(table.ledgers)

    # Slices

    def _build(self, shadow: Shadow) -> None:
        """Do as much as one slice may."""
        room = SLICE_WORK
        while room > 0 and (shadow.ids or shadow.ahead):
            room -= self._enter_next(shadow)
        while room > 0 and shadow.clients:
            room -= self._mend_claims(shadow.clients.pop())
        if room <= 0:
            return
        if shadow.edges is None:
            shadow.edges = [*_edges(shadow)]
        if shadow.edges and self._is_carried(shadow, *shadow.edges[-1]):
            self._compare(shadow, *shadow.edges.pop())

    def _enter_next(self, shadow: Shadow) -> int:
        """Enter the next entry into the shadow; what that took."""
        core = self.core
        if not shadow.ids:
            shadow.now_at = shadow.ahead.pop()
            shadow.ids = list(self._table(shadow.now_at[0]).texts(shadow.now_at[1]))
            return 1
        kind, destination = shadow.now_at
        entry_id = shadow.ids.pop()
        table = self._table(kind)
        filter, text = table.get(destination, entry_id), table.text(destination, entry_id)
        if filter is None or text is None:
            return 0  # it has gone meanwhile
        fresh = reread(core, filter, text)
        if fresh is not filter:
            shadow.is_changed = True
            table.correct(destination, entry_id, fresh)
            if fresh is None:
                return self._work(table)
            filter = fresh
        entry = Entry(destination, entry_id, filter)
        if kind == SUBSCRIBED:
            if shadow.subscriptions.get(destination, entry_id) is None:
                shadow.subscriptions.add(entry, text)
                enter(shadow.index, entry)
        else:
            shadow.advertisements.add(entry, text)
            shadow.subscriptions.rescope(destination)
        return self._work(table)

    def _table(self, kind: str) -> RoutingTable:
        return self.core.subscriptions if kind == SUBSCRIBED else self.core.advertisements

    def _mend_claims(self, client: str) -> int:
        if client not in self.core.clients:
            return 0
        return 1 + self.core.mend_claims(client) // CLAIMS_PER_WORK

    def _is_carried(self, shadow: Shadow, kind: str, neighbour: str) -> bool:
        """Let a strategy that is not done with its entries do a part; whether it is done.

        So has to be the one it is compared with, which does its part by itself.
        """
        fresh = shadow.subscriptions if kind == SUBSCRIBED else shadow.advertisements
        ledger, old = fresh.ledgers.get(neighbour), self._table(kind).ledgers.get(neighbour)
        is_carried = ledger is None or ledger.carry_on(SLICE_WORK)
        return is_carried and (old is None or not old.left)

    def _compare(self, shadow: Shadow, kind: str, neighbour: str) -> None:
        """See whether a neighbour was owed what follows from the entries, only to count it."""
        fresh = shadow.subscriptions if kind == SUBSCRIBED else shadow.advertisements
        old, new = self._table(kind).ledgers.get(neighbour), fresh.ledgers.get(neighbour)
        if old is None or new is None:
            shadow.is_changed = shadow.is_changed or old is not new  # a link may have gone
        elif not old.is_like(new):
            shadow.is_changed = True

    # The end

    def take_complete(self) -> Shadow | None:
        """The shadow, once it is complete; then there is none any more.

        One that was not told of every change is thrown away, and the next audit begins at once.
        """
        shadow = self.shadow
        if shadow is None or shadow.edges is None or shadow.edges:
            return None
        self.shadow = None
        if not shadow.follows(self.core):
            self.begin_at = -math.inf
            return None
        self.count += 1
        return shadow

    # Looking

    def report(self) -> dict[str, Any]:
        """What was found that can only follow from a fault, and how many audits there were."""
        return {"audits": self.count, **self.core.faults}

    def problems(self) -> Iterator[str]:
        """What is being built follows what happens."""
        for kind in (IMPOSSIBLE, REBIRTH_CHANGED):
            if self.core.faults[kind] < 0:
                yield f"{kind} was counted {self.core.faults[kind]} times"


def reread(core: Core, filter: object, text: object) -> Filter | None:
    """A filter as it is read from its text again: the same object if nothing differs.

    None if it is no filter, or the text cannot be read.
    """
    if not isinstance(filter, Filter) or not isinstance(text, str):
        return None
    try:
        fresh = core.parse(text)
        is_same = (fresh.boxes, fresh.id, hash(fresh)) == (filter.boxes, filter.id, hash(filter))
    except (SapwoodError, TypeError, ValueError, AttributeError):
        return None
    return filter if is_same else fresh


def _merging(table: RoutingTable) -> int:
    """For how many neighbours the filters of a table are merged."""
    return sum(ledger.algorithm == "merging" for ledger in table.ledgers.values())


def _edges(shadow: Shadow) -> Iterator[tuple[str, str]]:
    tables = (shadow.subscriptions, shadow.advertisements)
    for kind, table in zip((SUBSCRIBED, ADVERTISED), tables, strict=True):
        for neighbour in table.ledgers:
            yield kind, neighbour
