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
from math import inf
from typing import TYPE_CHECKING, Final

from sapwood.protocol.due import is_due, past
from sapwood.protocol.link.handshake import PROTOCOL, Goodbye, Ping
from sapwood.protocol.link.line import ENDLESS, Line
from sapwood.protocol.ports import Close

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

LOOK_SECONDS_MIN: Final = 0.05
"""Shortest time between two looks at a line. Who tolerates less than eight times that gets no
promise."""

LOOK_SECONDS_MAX: Final = 0.5
"""Longest time between two looks at a line."""

LINGER_SECONDS: Final = 0.5
"""How long the others may take to end a line. Whoever closes while the other side still sends
resets the connection, and the goodbye may be lost with it."""

STANDSTILL_SECONDS: Final = 1.0
"""A look that comes so much later than it was due shows that the process stood still."""


class Keepalive:
    """When to look at which line of a node."""

    def __init__(self, node: Node) -> None:
        self.due: list[tuple[float, int]] = []
        """A heap of times and numbers of lines; numbers of lines that are gone are skipped."""
        self._node = node

    @property
    def next_at(self) -> float | None:
        """When the next line is due."""
        return self.due[0][0] if self.due else None

    def forget_everything(self) -> None:
        """Begin anew: nobody is here."""
        self.due = []

    def watch(self, line: Line, now: float) -> None:
        """Keep a line alive from now on, and notice its death."""
        at = now + look_seconds(line, self._patience(line))
        heapq.heappush(self.due, (at, line.number))

    def tick(self, now: float) -> None:
        """Look at the lines that are due."""
        while self.due and self.due[0][0] <= now:
            at, number = heapq.heappop(self.due)
            line = self._node.lines.get(number)
            if line is not None and line.is_open:
                self._look_after(line, at, now)
            elif line is not None and line.lingers:
                self._linger(line, now)

    def problems(self, now: float | None) -> Iterator[str]:
        """What is wrong with the times: each open line has one, and soon."""
        last = inf if now is None else now + LOOK_SECONDS_MAX
        watched = {number for at, number in self.due if at <= last}
        if len(watched) < len({number for _, number in self.due}):
            yield "a line is looked at too late"
        for line in self._node.lines.values():
            if line.is_open and line.number not in watched:
                yield f"{line} is waited for by nobody"

    def derive(self, now: float) -> None:
        """Watch all lines that are open, and no others."""
        self.due = []
        for line in self._node.lines.values():
            if line.is_open:
                self.watch(line, now)

    def _look_after(self, line: Line, due: float, now: float) -> None:
        node, patience = self._node, self._patience(line)
        excuse_standstill(line, due, now)
        if is_dead(line, patience, now):
            node.abort(line, f"silent for {patience} s", now)
            return
        if line.has_endless_frame(patience, now):
            node.close(line, Goodbye(PROTOCOL, ENDLESS), now)
            return
        if wants_ping(line, patience, now):
            node.say(line, Ping(), now)
        self.watch(line, now)

    def _linger(self, line: Line, now: float) -> None:
        """End a line from this side, if the other side has had the time to.

        A node that hands its clients over ends them all itself.
        """
        if self._node.handing is not None or not is_due(
            line.ended_at + LINGER_SECONDS, now, LINGER_SECONDS
        ):
            heapq.heappush(self.due, (now + LOOK_SECONDS_MIN, line.number))
        else:
            line.lingers = False
            self._node.do(Close(line.number, "the other side has not ended it"))

    def _patience(self, line: Line) -> float:
        is_client = line.peer is not None and line.peer.is_client
        return self._node.config.limits(is_client=is_client).silence_seconds


def look_seconds(line: Line, patience: float) -> float:
    """How long until a line is looked at again: an eighth of the shorter tolerance."""
    tolerated = min(patience, line.silence) if line.silence else patience
    return min(LOOK_SECONDS_MAX, max(LOOK_SECONDS_MIN, tolerated / 8))


def is_dead(line: Line, patience: float, now: float) -> bool:
    """Whether the other side has been silent for too long."""
    line.heard_at = past(line.heard_at, now)
    return now - line.heard_at > patience


def wants_ping(line: Line, patience: float, now: float) -> bool:
    """Whether the other side would soon take this one for dead."""
    tolerated = line.silence or patience
    return not now - tolerated / 4 <= line.wrote_at <= now


def excuse_standstill(line: Line, due: float, now: float) -> None:
    """Forgive a silence during which this process stood still itself."""
    if now - due > STANDSTILL_SECONDS:
        line.heard_at = now
