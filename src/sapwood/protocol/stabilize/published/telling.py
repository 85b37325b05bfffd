"""Who renews what a neighbour was told: one representative of all that want it (handover).

Of several subscriptions that a neighbour knows as one, each renewal could be passed on, which costs
as much as simple routing, or only the first one since the clock overran, which is the printed rule:
then the time between two of them reaches a lease and a refresh period, and entries expire though
nothing is wrong. Here one subscription is the *representative*, and its renewals are passed on.
When it goes, another one that was renewed no later than what was passed on last takes over: its
next renewal comes in time. If there is none, one renewal is sent at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from sapwood.protocol.stabilize.published.leases import Key, Leases


class Line(NamedTuple):
    """Something a neighbour was told: a subscription or an advertisement under an id."""

    kind: str
    neighbour: str
    id: str


class Telling(msgspec.Struct):
    """When it was told last, and who renews it."""

    representative: Key | None
    at: float
    renewed: bool = True
    """Whether it was told since the clock of this broker overran."""
    period: float = 0.0
    """The lease that was told with it; zero: as set."""


class Tellings:
    """Everything that neighbours were told and have to be told again and again."""

    def __init__(self) -> None:
        self._of: dict[Line, Telling] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._of)

    def __iter__(self) -> Iterator[tuple[Line, Telling]]:
        """All of them."""
        return iter(self._of.items())

    def get(self, line: Line) -> Telling | None:
        """When it was told, if so."""
        return self._of.get(line)

    def put(self, line: Line, telling: Telling) -> None:
        """Let it be known as told."""
        self._of[line] = telling

    def drop(self, line: Line) -> bool:
        """It was taken back; False if it had not been told."""
        return self._of.pop(line, None) is not None

    def is_renewed(self, line: Line) -> bool:
        """Whether it was told since the clock overran."""
        telling = self._of.get(line)
        return telling is not None and telling.renewed

    def overrun(self) -> None:
        """The clock of the broker overruns."""
        for telling in self._of.values():
            telling.renewed = False

    def forget(self, neighbour: str) -> None:
        """A neighbour is gone."""
        self._of = {line: one for line, one in self._of.items() if line.neighbour != neighbour}


def successor(
    supporters: Iterable[Key], leases: Leases, told_at: float, now: float
) -> tuple[Key | None, bool]:
    """Who takes over from a representative that is gone, and whether it has to renew at once.

    Supporters that were renewed no later than the neighbour was told will be renewed in time; of
    those the latest. Otherwise the one whose next renewal is nearest, and one more at once.
    """
    if not told_at <= now:
        told_at = now
    in_time = late = None
    for key in supporters:
        at = leases.renewed_at(key, now)
        if at <= told_at:
            if in_time is None or (at, key) > in_time:
                in_time = (at, key)
        elif late is None or (at, key) < late:
            late = (at, key)
    if in_time is not None:
        return in_time[1], False
    return (late[1], True) if late is not None else (None, False)
