"""A stream of frames to one neighbour or client that outlives the connections it runs over.

Both sides count the frames of a stream. What was sent stays here until the other side has
acknowledged it; when a connection breaks, the next one begins with both counts, and what is
missing is sent again: nothing is lost and nothing repeated. The numbers themselves never travel
with the frames.

What is kept is bounded. When there is no room for a notification, the oldest ones are given up:
their places in the stream remain, and the other side is told how many they were (`GivenUp`).
Control messages are never given up, since tables would contradict each other; they have room of
their own, and if that is exhausted the stream as a whole has failed (`is_overrun`).

The other side says how many bytes of notifications it takes over a connection (*credit*). Control
messages need no credit, and acknowledgements are not even part of the stream, so no pair of
streams can wait for each other.

No input or output happens here: a driver moves the bytes, and asks when to acknowledge.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from sapwood.protocol.handshake import LINK_CODEC, Ack, GivenUp
from sapwood.wire.scan import skip

ACK_FRAMES: Final = 64
"""Frames after which an acknowledgement is due at once."""

_KEPT_SHARE: Final = 7 / 8
"""How full the buffer is after notifications were given up: not each one makes room anew."""


class ChannelLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much a stream may hold."""

    buffer_bytes: int = 16 * 2**20
    """Notifications that wait or are not acknowledged; beyond it the oldest are given up."""
    control_bytes: int = 16 * 2**20
    """Room reserved for control messages; beyond it the stream has failed."""
    window_bytes: int = 2**20
    """Notifications the other side may send ahead of what was taken over here."""


class Run(NamedTuple):
    """Consecutive frames of a stream. Without data: notifications that were given up."""

    data: bytes | None
    frames: int
    size: int
    """Bytes that count as notifications: none for control messages."""


class Channel:
    """One side of a stream, in both directions."""

    def __init__(self, limits: ChannelLimits, *, splits_runs: bool = False) -> None:
        self.limits = limits
        self.splits_runs = splits_runs
        """Whether each acknowledged frame is released at once, not only whole runs: a trace needs
        to know what came before what."""
        self.connected = False
        self.sent = 0
        """Frames handed to connections: the number of the last one."""
        self.acknowledged = 0
        self.buffered = 0
        """Bytes of notifications that wait or are not acknowledged."""
        self.control_buffered = 0
        self.given_up = 0
        """Notifications given up so far, whether or not the other side has got them."""
        self.received = 0
        """Frames that came, those given up by the other side included."""
        self.missed = 0
        """Notifications the other side has given up."""
        self.withheld = False
        """Whether credit is kept back, since what comes cannot be passed on quickly enough."""
        self._waiting: deque[Run] = deque()
        self._unacknowledged: deque[Run] = deque()
        self._released = 0
        """Number of the last frame in the runs that were released as a whole."""
        self._credit = 0
        self._spent = 0
        self._granted = 0
        self._taken = 0
        self._acknowledged_in = 0

    # Sending

    def push(self, data: bytes, frames: int) -> None:
        """Take notifications for the other side."""
        size = len(data)
        self._waiting.append(Run(data, frames, size))
        self.buffered += size
        if self.buffered > self.limits.buffer_bytes:
            self.shed(int(self.limits.buffer_bytes * _KEPT_SHARE))

    def push_control(self, data: bytes) -> None:
        """Take a control message for the other side."""
        self._waiting.append(Run(data, 1, 0))
        self.control_buffered += len(data)

    def push_aside(self, data: bytes) -> None:
        """Take a frame that does not count, to go in its order among those that do."""
        self._waiting.append(Run(data, 0, 0))

    @property
    def waiting(self) -> int:
        """How many runs wait to be sent."""
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether everything was sent and acknowledged."""
        return not self._waiting and not self._unacknowledged

    @property
    def is_overrun(self) -> bool:
        """Whether control messages no longer fit: then this stream cannot go on."""
        return self.control_buffered > self.limits.control_bytes

    def take(self) -> list[bytes]:
        """What may go onto the connection now, in order."""
        waiting, unacknowledged = self._waiting, self._unacknowledged
        out: list[bytes] = []
        while waiting:
            data, frames, size = run = waiting[0]
            if size and self._spent >= self._credit:
                break
            waiting.popleft()
            if frames:
                unacknowledged.append(run)
                self.sent += frames
                self._spent += size
            out.append(LINK_CODEC.encode(GivenUp(frames)) if data is None else data)
        return out

    def acknowledge(self, ack: Ack) -> list[Run]:
        """The other side has taken frames over, and gives credit; the runs that are done with.

        An acknowledgement of what was never sent is no acknowledgement.
        """
        self._credit = max(self._credit, ack.credit)
        if not self.acknowledged < ack.received <= self.sent:
            return []
        self.acknowledged = ack.received
        done: list[Run] = []
        runs = self._unacknowledged
        while runs:
            run = runs[0]
            missing = self._released + run.frames - ack.received
            if missing > 0:
                partly = run.frames - missing
                if not (self.splits_runs and partly and run.data is not None):
                    break
                rest = skip(run.data, partly)
                runs[0] = Run(rest, missing, len(rest))
                run = Run(run.data[: len(run.data) - len(rest)], partly, run.size - len(rest))
            else:
                runs.popleft()
            self._released += run.frames
            self._forget(run)
            done.append(run)
            if missing >= 0:
                break
        return done

    def _forget(self, run: Run) -> None:
        self.buffered -= run.size
        if run.data is not None and not run.size:
            self.control_buffered -= len(run.data)

    def shed(self, size: int) -> None:
        """Give up the oldest notifications until no more than a size is left, if that can be.

        What is on its way cannot be called back; without connection nothing is.
        """
        excess = self.buffered - size
        if not self.connected:
            self._unacknowledged, excess = self._without_oldest(self._unacknowledged, excess)
        self._waiting, _ = self._without_oldest(self._waiting, excess)

    def _without_oldest(self, runs: Iterable[Run], excess: int) -> tuple[deque[Run], int]:
        kept: deque[Run] = deque()
        for run in runs:
            lost = run
            if run.size and excess > 0:
                excess -= run.size
                self.buffered -= run.size
                self.given_up += run.frames
                lost = Run(None, run.frames, 0)
            if lost.data is None and kept and kept[-1].data is None:
                lost = Run(None, kept.pop().frames + lost.frames, 0)
            kept.append(lost)
        return kept, excess

    # Connections

    def can_connect(self, received: int) -> bool:
        """Whether the other side can have so many frames: else the streams are not the same."""
        return self.acknowledged <= received <= self.sent

    def connect(self, received: int, credit: int) -> None:
        """A connection is there, and the other side has so many frames; the others are sent."""
        self.acknowledge(Ack(received, 0))
        again = self._unacknowledged
        partly = received - self._released
        if partly:
            again[0] = self._cut(again[0], partly)
            self._released = received
        again.extend(self._waiting)
        self._waiting, self._unacknowledged = again, deque()
        self.sent = received
        self.connected = True
        self._credit, self._spent = credit, 0
        self._taken, self._granted = 0, self.limits.window_bytes
        self._acknowledged_in = self.received

    def _cut(self, run: Run, frames: int) -> Run:
        """A run without its first frames."""
        if run.data is None:
            return Run(None, run.frames - frames, 0)
        rest = skip(run.data, frames)
        self.buffered -= run.size - len(rest)
        return Run(rest, run.frames - frames, len(rest))

    def disconnect(self) -> None:
        """The connection is gone."""
        self.connected = False

    def abandon(self) -> int:
        """The stream ends; how many notifications are given up with it."""
        runs = [*self._unacknowledged, *self._waiting]
        lost = sum(run.frames for run in runs if run.size)
        self._waiting, self._unacknowledged = deque(), deque()
        self.buffered = self.control_buffered = 0
        self.given_up += lost
        return lost + sum(run.frames for run in runs if run.data is None)

    # Receiving

    def count(self, frames: int, size: int) -> bool:
        """Frames came; whether an acknowledgement is due at once."""
        self.received += frames
        self._taken += size
        return self.received - self._acknowledged_in >= ACK_FRAMES

    def miss(self, frames: int) -> None:
        """The other side has given frames up."""
        self.received += frames
        self.missed += frames

    @property
    def owes_ack(self) -> bool:
        """Whether something came that was not acknowledged, or credit is due."""
        if self.received != self._acknowledged_in:
            return True
        return not self.withheld and self._granted < self._taken + self.limits.window_bytes

    @property
    def exceeded(self) -> int:
        """By how many bytes the other side has sent more than it was allowed."""
        return max(0, self._taken - self._granted)

    def ack(self) -> bytes:
        """The acknowledgement of all that came, with credit unless it is withheld."""
        self._acknowledged_in = self.received
        if not self.withheld:
            self._granted = self._taken + self.limits.window_bytes
        return LINK_CODEC.encode(Ack(self.received, self._granted))
