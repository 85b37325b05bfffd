"""The state of a broker's tables as plain data: to keep it, to spoil it, to put it back.

A fault may leave a broker with any state (Jaeger 2007, 3.2.2). Here is what there is to spoil:
entries, flags, clocks, who renews what, which table is being built, what was heard. Neighbours and
clients are no part of it: the papers keep them in memory that no fault reaches. What is derived
from the entries (ledgers, the matching engine) is derived again when a state is put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.core import Core
from sapwood.protocol.stabilize.published.leases import Key, Lease
from sapwood.protocol.stabilize.published.telling import Line, Telling
from sapwood.routing.strategy import Entry

T = TypeVar("T")

_BOGUS_MAX = 5
"""Entries that a fault puts into one broker, at most."""


class Remembered(msgspec.Struct, frozen=True):
    """An entry, with its lease if it has one."""

    key: Key
    text: str
    lease: Lease | None = None
    table: int = 0
    """Which of two tables it is in, where there are two."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a broker's tables."""

    entries: tuple[Remembered, ...]
    tellings: tuple[tuple[Line, Telling], ...] = ()
    clock: float = 0.0
    """When the broker's clock overruns, or the root switches."""
    active: dict[str, int] = {}
    """Which of two tables is being built, by kind."""
    heard: tuple[Remembered, ...] = ()
    """What the idempotence wrapper takes for known."""


def replace_entries(core: Core, entries: Iterable[tuple[Key, str]]) -> None:
    """Let the tables of a broker have these entries, and all neighbours count as told of them."""
    tables = {ADVERTISED: core.advertisements, SUBSCRIBED: core.subscriptions}
    for table in tables.values():
        for entry in list(table):
            core.remove(table, entry.destination, entry.id)
    for kind, table in tables.items():
        for key, text in entries:
            if key.kind == kind:
                core.add(table, Entry(key.destination, key.id, core.parse(text)), text)
    for table in tables.values():
        for ledger in table.ledgers.values():
            ledger.presume()


class Surroundings(msgspec.Struct, frozen=True):
    """What a spoilt state is made of."""

    now: float
    period: float
    """Clocks are wrong by this at most."""
    destinations: Sequence[str]
    """Neighbours and clients."""
    neighbours: Sequence[str]
    filters: Sequence[tuple[str, str]]
    """Ids and texts of filters that are about."""


class Spoiler:
    """Spoils a state: of everything in it a share is lost or wrong, and something is added."""

    def __init__(self, random: Random, around: Surroundings, share: float = 1.0) -> None:
        self._random = random
        self._around = around
        self._share = share

    def spoilt(self, memory: Memory) -> Memory:
        """Another state."""
        return Memory(
            entries=self._entries(memory.entries),
            tellings=tuple(
                one for line, telling in memory.tellings for one in self._telling(line, telling)
            ),
            clock=self._clock() if self._hit() else memory.clock,
            active={kind: self._pick((0, 1)) for kind in memory.active},
            heard=self._entries(memory.heard),
        )

    def _entries(self, entries: Sequence[Remembered]) -> tuple[Remembered, ...]:
        kept = [one for entry in entries for one in self._entry(entry)]
        for _ in range(self._random.randrange(_BOGUS_MAX)):
            kept.append(self._bogus())
        return tuple(kept)

    def _entry(self, entry: Remembered) -> list[Remembered]:
        """An entry is lost, has another filter, or only another lease."""
        if not self._hit():
            return [entry]
        drawn = self._random.random()
        if drawn < 0.3:
            return []
        text = self._pick(self._around.filters)[1] if drawn < 0.6 else entry.text
        return [replace(entry, text=text, lease=self._lease(entry.lease))]

    def _bogus(self) -> Remembered:
        filter_id, text = self._pick(self._around.filters)
        kind = SUBSCRIBED if self._random.random() < 0.8 else ADVERTISED
        key = Key(kind, self._pick(self._around.destinations), filter_id)
        return Remembered(key, text, self._lease(None), self._pick((0, 1)))

    def _lease(self, lease: Lease | None) -> Lease:
        period = 0.0 if lease is None else lease.period
        return Lease(
            flag=self._pick((False, True)),
            renewed_at=self._around.now - self._random.uniform(-1, 2) * self._around.period,
            period=period,
            overrun_at=self._around.now + self._random.uniform(0, 1) * period,
        )

    def _telling(self, line: Line, telling: Telling) -> list[tuple[Line, Telling]]:
        """That something was told is forgotten, or somebody else is to renew it."""
        if not self._hit():
            return [(line, telling)]
        if self._random.random() < 0.3:
            return []
        filter_id = self._pick(self._around.filters)[0]
        other = Key(line.kind, self._pick(self._around.destinations), filter_id)
        return [
            (
                line,
                Telling(
                    self._pick((telling.representative, other, None)),
                    self._around.now - self._random.uniform(-1, 2) * self._around.period,
                    self._pick((False, True)),
                    telling.period,
                ),
            )
        ]

    def _clock(self) -> float:
        return self._around.now + self._random.uniform(0, 1) * self._around.period

    def _hit(self) -> bool:
        return self._random.random() < self._share

    def _pick(self, values: Sequence[T]) -> T:
        return self._random.choice(values)
