"""Leases with a second chance: what is not renewed in time is removed (Jaeger 2007, 3.3.1).

Every entry has a flag, which is set when it is renewed. When the clock of a broker overruns, every
period, entries without the flag are removed and the flags of the others taken away. So an entry
that is renewed in every period stays, and one that is not is gone after two periods. A clock that
was spoilt is wrong by one period at most (`due`).

A subscription may have a lease of its own, shorter or longer than that of the others (3.3.2,
*Discussion*): then its entries have clocks of their own as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from sapwood.protocol.due import is_due


class Key(NamedTuple):
    """Which entry: of subscriptions or advertisements, from where, under which id."""

    kind: str
    destination: str
    id: str


class Lease(msgspec.Struct):
    """How long an entry stays."""

    flag: bool
    renewed_at: float
    period: float = 0.0
    """Its own period; zero: that of the broker."""
    overrun_at: float = 0.0
    """When its own clock overruns next, if it has one."""


class Leases:
    """The leases of all entries of a broker, and its clock."""

    def __init__(self, period: float, overrun_at: float) -> None:
        self.period = period
        self.overrun_at = overrun_at
        self._of: dict[Key, Lease] = {}
        self._own: dict[Key, None] = {}
        """Those with a period of their own."""

    def __len__(self) -> int:
        """How many there are."""
        return len(self._of)

    def __iter__(self) -> Iterator[tuple[Key, Lease]]:
        """All leases."""
        return iter(self._of.items())

    def get(self, key: Key) -> Lease | None:
        """The lease of an entry."""
        return self._of.get(key)

    def is_flagged(self, key: Key) -> bool:
        """Whether an entry was renewed since the clock overran."""
        lease = self._of.get(key)
        return lease is not None and lease.flag

    def renewed_at(self, key: Key, now: float) -> float:
        """When an entry was last renewed; a time that makes no sense is now."""
        lease = self._of.get(key)
        return lease.renewed_at if lease is not None and lease.renewed_at <= now else now

    def period_of(self, key: Key) -> float:
        """The period of an entry's own, zero if it has none."""
        lease = self._of.get(key)
        return 0.0 if lease is None else lease.period

    def renew(self, key: Key, now: float, period: float) -> None:
        """An entry was renewed, with a period of its own or none."""
        if not 0 < period < math.inf:
            period = 0.0
        known = self._of.get(key)
        overrun_at = now + period
        if (
            known is not None
            and known.period == period
            and not is_due(known.overrun_at, now, period)
        ):
            overrun_at = known.overrun_at
        self.put(key, Lease(flag=True, renewed_at=now, period=period, overrun_at=overrun_at))

    def put(self, key: Key, lease: Lease) -> None:
        """Let an entry have a lease, whatever it had before."""
        self._of[key] = lease
        if lease.period:
            self._own[key] = None
        else:
            self._own.pop(key, None)

    def drop(self, key: Key) -> None:
        """An entry is gone."""
        self._of.pop(key, None)
        self._own.pop(key, None)

    @property
    def next_at(self) -> float:
        """When a clock overruns next."""
        own = (self._of[key].overrun_at for key in self._own)
        return min(self.overrun_at, min(own, default=math.inf))

    def is_due(self, now: float) -> bool:
        """Whether the broker's clock has overrun."""
        return is_due(self.overrun_at, now, self.period)

    def overrun(self, entries: Iterable[Key], now: float) -> list[Key]:
        """Let the clocks overrun that are due: which entries have to go.

        What has no lease, because a fault took it, gets none: it goes as well.
        """
        everybody = self.is_due(now)
        if everybody:
            self.overrun_at = now + self.period
        expired = []
        for key in entries:
            lease = self._of.get(key)
            if lease is None or not lease.period:
                is_over = everybody
            else:
                is_over = is_due(lease.overrun_at, now, lease.period)
                if is_over:
                    lease.overrun_at = now + lease.period
            if is_over:
                if lease is None or not lease.flag:
                    expired.append(key)
                else:
                    lease.flag = False
        for key in expired:
            self.drop(key)
        return expired
