"""Small machines for tests of the driver."""

from __future__ import annotations

import math

from sapwood.protocol.events import Tick
from sapwood.protocol.ports import Data, DriverEffect, DriverEvent


class Scripted:
    """Notes every event with its time, and answers with what it was told to do next."""

    def __init__(self, *first: DriverEffect) -> None:
        self.deadline = math.inf
        self.is_stuck = False
        """Whether it forgets that its deadline has come."""
        self.events: list[tuple[float, DriverEvent]] = []
        self.ticks: list[float] = []
        self._next = list(first)

    def handle(self, event: DriverEvent, now: float) -> list[DriverEffect]:
        if isinstance(event, Tick):
            self.ticks.append(now)
            if now >= self.deadline and not self.is_stuck:
                self.deadline = math.inf
        else:
            self.events.append((now, event))
        effects, self._next = self._next, []
        return effects

    def receive(self, connection: int, data: bytes, now: float) -> list[DriverEffect]:
        return self.handle(Data(connection, data), now)

    def of(self, kind: type) -> list[DriverEvent]:
        return [event for _, event in self.events if isinstance(event, kind)]

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for _, event in self.events]

    @property
    def data(self) -> bytes:
        return b"".join(getattr(event, "data", b"") for _, event in self.events)
