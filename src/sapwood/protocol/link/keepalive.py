"""Keep-alive: say something before the other side takes this one for dead, and notice its death.

Both ends of a connection do the same: each states how long a silence it tolerates, and each sends
a ping after a quarter of what the other tolerates. A line is looked at when it is due, however
many others there are: one that tolerates little costs the others nothing.

If a look comes much later than it was due, it was this process that stood still: what the other
side said meanwhile is not read yet, so its silence proves nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final

from sapwood.protocol.link.line import Line

LOOK_SECONDS_MIN: Final = 0.05
"""Shortest time between two looks at a line. Who tolerates less than eight times that gets no
promise."""

LOOK_SECONDS_MAX: Final = 0.5
"""Longest time between two looks at a line."""

STANDSTILL_SECONDS: Final = 1.0
"""A look that comes so much later than it was due shows that the process stood still."""


class Keepalive:
    """When to look at which line."""

    def __init__(self) -> None:
        self.due: list[tuple[float, int]] = []
        """A heap of times and numbers of lines; numbers of lines that are gone are skipped."""

    @property
    def next_at(self) -> float | None:
        """When the next line is due."""
        return self.due[0][0] if self.due else None

    def watch(self, line: Line, patience: float, now: float) -> None:
        """Look at a line from now on."""
        heapq.heappush(self.due, (now + look_seconds(line, patience), line.number))

    def lines_due(self, now: float, late_seconds: float = 0.0) -> Iterator[int]:
        """The numbers of lines to look at now; each is watched again only if it is wanted."""
        while self.due and self.due[0][0] <= now + late_seconds:
            yield heapq.heappop(self.due)[1]


def look_seconds(line: Line, patience: float) -> float:
    """How long until a line is looked at again: an eighth of the shorter tolerance."""
    tolerated = min(patience, line.silence) if line.silence else patience
    return min(LOOK_SECONDS_MAX, max(LOOK_SECONDS_MIN, tolerated / 8))


def is_dead(line: Line, patience: float, now: float) -> bool:
    """Whether the other side has been silent for too long."""
    return now - line.heard_at > patience


def wants_ping(line: Line, patience: float, now: float) -> bool:
    """Whether the other side would soon take this one for dead."""
    tolerated = line.silence or patience
    return now - line.wrote_at > tolerated / 4


def excuse_standstill(line: Line, due: float, now: float) -> None:
    """Forgive a silence during which this process stood still itself."""
    if now - due > STANDSTILL_SECONDS:
        line.heard_at = now
