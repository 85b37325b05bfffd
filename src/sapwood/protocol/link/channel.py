"""A stream of frames to one neighbour or client that outlives the connections it runs over.

Both sides count the frames of a stream. What was sent is kept (``sapwood.protocol.link.spool``)
until the other side has acknowledged it; when a connection breaks, the next one begins with both
counts, and what is missing is sent again: nothing is lost and nothing repeated. The numbers
themselves never travel with the frames.

What is kept is bounded. When there is no room for a notification, the oldest ones are given up:
their places in the stream remain, and the other side is told how many they were (`GivenUp`).
Control messages are never given up, since tables would contradict each other; they have room of
their own, and if that is exhausted the stream as a whole has failed (`is_overrun`).

The other side says how many bytes of notifications it takes over a connection (*credit*). Control
messages need no credit, and acknowledgements are not even part of the stream, so no pair of
streams can wait for each other.

Counts in memory can be wrong after a fault, and a stream with a wrong count would lose or repeat
for ever without anybody noticing. So both sides say now and then how far they are (`Check`), and
each looks whether its own counts fit together (`problems`). A stream that contradicts itself ends,
and both sides begin a new one.

No input or output happens here: a driver moves the bytes, and asks when to acknowledge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from sapwood.protocol.faults import FAULTS
from sapwood.protocol.link.handshake import COUNT_MAX, LINK_CODEC, NEVER, Ack, Check, GivenUp
from sapwood.protocol.link.spool import FrameRun, MemorySpool, Spool, without_first

ACK_FRAMES: Final = 64
"""Frames after which an acknowledgement is due at once. With fewer acknowledgements somebody with a
small window would wait for credit."""

_KEPT_SHARE: Final = 7 / 8
"""How full the buffer is after notifications were given up: not each one makes room anew."""

_NOTHING: Final[list[FrameRun]] = []


class ChannelLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much a stream may hold."""

    buffer_bytes: int = 16 * 2**20
    """Notifications that wait or are not acknowledged; beyond it the oldest are given up."""
    control_bytes: int = 16 * 2**20
    """Room reserved for control messages; beyond it the stream has failed."""
    window_bytes: int = 2**20
    """Notifications the other side may send ahead of what was taken over here."""


class StreamCounts(NamedTuple):
    """How far a stream is, as one side has counted."""

    received: int
    """Frames that came."""
    acknowledged: int
    """Frames of this side that the other one has."""
    sent: int
    """The last frame that any connection was handed."""
    missed: int
    given_up: int


class Disagreement(NamedTuple):
    """The two sides of a stream have counted differently."""

    what: str
    ends_stream: bool
    """Whether the stream is wrong, and not the connection only."""


class Channel:
    """One side of a stream, in both directions."""

    def __init__(
        self, limits: ChannelLimits, spool: Spool | None = None, *, splits_runs: bool = False
    ) -> None:
        self.limits = limits
        self.spool: Spool = MemorySpool(splits_runs=splits_runs) if spool is None else spool
        self.window = limits.window_bytes
        """What the other side may send ahead for now; less than the limit while there are many."""
        self.connected = False
        self.sent = 0
        """Frames handed to connections: the number of the last one."""
        self.acknowledged = 0
        self.received = 0
        """Frames that came, those given up by the other side included."""
        self.missed = 0
        """Notifications the other side has given up."""
        self.kept: int | None = None
        """Of what came: how many frames are written down, where that is waited for."""
        self.withheld = False
        """Whether credit is kept back, since what comes cannot be passed on quickly enough."""
        self.is_held = False
        """Whether no notification is to go onto the connection for the time being."""
        self._sent_ever = 0
        """The number of the last frame that any connection was handed."""
        self._half_full = limits.buffer_bytes >> 1
        self._credit = 0
        self._spent = 0
        self._granted = 0
        self._taken = 0
        self._acknowledged_in = 0

    def limit(self, limits: ChannelLimits) -> None:
        """Go on with other limits; what was granted by the old ones may still come."""
        self.limits = limits
        self._half_full = limits.buffer_bytes >> 1
        self.window = min(self.window, limits.window_bytes)
        self._granted = min(self._granted, self._taken + limits.window_bytes)

    # Sending

    def push(self, data: bytes, frames: int, position: int = 0) -> list[FrameRun]:
        """Take notifications for the other side; those that had to be given up for them.

        With a position in the journal, they are not sent before that is on disk.
        """
        self.spool.append(FrameRun(data, frames, len(data), position=position))
        if self.spool.size <= self.limits.buffer_bytes:
            return _NOTHING
        return self.shed(int(self.limits.buffer_bytes * _KEPT_SHARE))

    def pass_on(self, data: bytes, frames: int) -> bool:
        """Take notifications that go onto the connection at once; whether they may.

        They may if nothing waits before them, the other side has given credit for them, and the
        buffer is not even half full. This is `push` and `take` in one, for a short read.
        """
        size = len(data)
        spent = self._spent + size
        if (
            not self.connected
            or self.is_held
            or spent > self._credit
            or self.spool.size + size > self._half_full
            or not self.spool.pass_on(FrameRun(data, frames, size))
        ):
            return False
        self._spent = spent
        self.sent += frames
        return True

    def push_control(self, data: bytes) -> None:
        """Take a control message for the other side."""
        self.spool.append(FrameRun(data, 1, 0))

    def push_refusal(self, data: bytes) -> None:
        """Take a control message that goes before whatever waits.

        A refusal has to be there before the acknowledgement of what is refused, which waits for
        nothing. It changes no table, so no order is disturbed by it.
        """
        self.spool.insert(FrameRun(data, 1, 0))

    @property
    def buffered(self) -> int:
        """Bytes of notifications that wait or are not acknowledged."""
        return self.spool.size

    @property
    def control_buffered(self) -> int:
        """Bytes of control messages that wait or are not acknowledged."""
        return self.spool.control_size

    @property
    def given_up(self) -> int:
        """Notifications given up so far: the other side did not get them, and is told."""
        return self.spool.given_up

    @property
    def waiting(self) -> int:
        """How many runs wait to be sent."""
        return self.spool.waiting

    @property
    def notifications_waiting(self) -> int:
        """How many notifications were not handed to a connection."""
        return self.spool.notifications_waiting

    @property
    def last(self) -> int:
        """The number of the last frame that was taken for the other side."""
        return self.sent + self.spool.waiting_frames

    @property
    def is_idle(self) -> bool:
        """Whether everything was sent and acknowledged."""
        return self.spool.is_empty

    @property
    def is_overrun(self) -> bool:
        """Whether control messages no longer fit: then this stream cannot go on."""
        return self.spool.control_size > self.limits.control_bytes

    def take(self) -> list[bytes]:
        """What may go onto the connection now, in order."""
        out: list[bytes] = []
        for run in self.spool.take(0 if self.is_held else self._credit - self._spent):
            self.sent += run.frames
            self._spent += run.size
            out.append(LINK_CODEC.encode(GivenUp(run.frames)) if run.data is None else run.data)
        return out

    def acknowledge(self, ack: Ack) -> list[FrameRun]:
        """The other side has taken frames over, and gives credit; the runs that are done with.

        One of what was never sent, or of less than before, acknowledges nothing: it contradicts
        the stream (`can_be_acknowledged`). Credit is what the other side says, whatever was
        believed here.
        """
        self._credit = ack.credit
        if not self.acknowledged < ack.received <= self.sent:
            return []
        frames, self.acknowledged = ack.received - self.acknowledged, ack.received
        return self.spool.release(frames)

    def can_be_acknowledged(self, received: int) -> bool:
        """Whether the other side can have taken over so many frames."""
        return self.acknowledged <= received <= self.sent

    def shed(self, size: int) -> list[FrameRun]:
        """Give up the oldest notifications until no more than a size is left, if that can be.

        What is on its way cannot be called back; without connection nothing is. Gives back what
        was given up.
        """
        return self.spool.give_up(self.spool.size - size, sent_too=not self.connected)

    # Connections

    def can_connect(self, received: int) -> bool:
        """Whether the other side can have so many frames: else the streams are not the same.

        What goes on from here rests on all counts: one that was spoilt is found now, or frames
        would be left out that nobody misses.
        """
        most = max(self.sent, self._sent_ever)
        return self.acknowledged <= received <= most and self.is_sound

    def connect(self, received: int, credit: int, granted: int | None = None) -> list[FrameRun]:
        """A connection is there, and the other side has so many frames; the others are sent.

        `granted` is the credit that the other side was given in the handshake, by default the
        window. Returns the runs that are acknowledged by this.
        """
        if received > self.sent:  # a connection in between began further back, and sent less
            self.sent += sum(run.frames for run in self.spool.take(COUNT_MAX))
        self._sent_ever = max(self._sent_ever, self.sent)
        done = self.acknowledge(Ack(received, 0))
        self.spool.rewind()
        self.sent = received
        self.connected = True
        self.is_held = False
        self._credit, self._spent = credit, 0
        self._taken, self._granted = 0, self.window if granted is None else granted
        self._acknowledged_in = self.received
        return done

    def inherit(
        self,
        before: Channel,
        keeps: Callable[[bytes], bool],
        *,
        is_certain: bool,
        skipped: int = 0,
    ) -> list[FrameRun]:
        """Take over what a former stream to the same peer kept; return what is lost with it.

        A new session of the peer knows nothing of the former stream. What was never sent is sent
        now. What was sent and not acknowledged may have been passed on by the session that died,
        so it is lost, and the peer is told how many they were; unless it is certain that the
        dead session had not looked at it. Of control messages those are taken over, in their
        places, of which `keeps` says so. The first few notifications are left out that the new
        session says it has (`skipped`).
        """
        kept, lost = before.spool.hand_over(keeps, sent_too=is_certain)
        if skipped:
            kept = without_first(kept, skipped)
        self.spool.discard({run.data for run in kept if run.data is not None and not run.size})
        for run in kept:
            self.spool.append(run)
        self.spool.given_up += sum(run.frames for run in lost)
        return lost

    def bar(self) -> None:
        """Let the stream stop here: what comes from now on is kept back."""
        self.spool.bar()

    def lift(self) -> None:
        """Let the stream go on with what was kept back."""
        for run in self.spool.lift():
            self.spool.append(run)

    @property
    def is_barred(self) -> bool:
        """Whether the stream has stopped, and what comes is kept back."""
        return self.spool.is_barred

    def counts(self) -> StreamCounts:
        """How far the stream is, for whoever goes on with it."""
        sent = max(self.sent, self._sent_ever)
        return StreamCounts(self.received, self.acknowledged, sent, self.missed, self.given_up)

    def adopt(self, counts: StreamCounts, runs: list[FrameRun]) -> None:
        """Go on with a stream that another broker had, without a connection.

        Everything that is not acknowledged waits. The other side says how much of it has come.
        """
        self.received = self._acknowledged_in = counts.received
        self.acknowledged = self.sent = counts.acknowledged
        self._sent_ever = counts.sent
        self.missed = counts.missed
        self.spool.given_up = counts.given_up
        for run in runs:
            self.spool.append(run)

    def disconnect(self) -> None:
        """The connection is gone."""
        self.connected = False

    def abandon(self) -> list[FrameRun]:
        """The stream ends; the notifications that are given up with it."""
        return self.spool.clear()

    # Receiving

    def count(self, frames: int, size: int) -> bool:
        """Frames came, with so many bytes of notifications; whether an acknowledgement is due.

        It is after a number of frames, or when half of the window is used up.
        """
        self.received += frames
        self._taken += size
        if self.received - self._acknowledged_in >= ACK_FRAMES:
            return True
        return not self.withheld and self._granted - self._taken < self.window >> 1

    def can_miss(self, frames: int) -> bool:
        """Whether so many frames can have been given up."""
        return self.received + frames <= COUNT_MAX

    def miss(self, frames: int) -> None:
        """The other side has given frames up."""
        self.received += frames
        self.missed += frames

    @property
    def owes_ack(self) -> bool:
        """Whether something came that was not acknowledged, or credit is due."""
        if self.acknowledgeable != self._acknowledged_in:
            return True
        return not self.withheld and self._granted < self._taken + self.window

    @property
    def acknowledgeable(self) -> int:
        """How many frames may be acknowledged: those that are kept, where that matters."""
        return self.received if self.kept is None else self.kept

    @property
    def exceeded(self) -> int:
        """By how many bytes the other side has sent more than it was allowed."""
        return max(0, self._taken - self._granted)

    def ack(self) -> bytes:
        """The acknowledgement of all that came, with credit unless it is withheld."""
        self._acknowledged_in = self.acknowledgeable
        if not self.withheld:
            self._granted = max(self._granted, self._taken + self.window)
        return LINK_CODEC.encode(Ack(self._acknowledged_in, self._granted))

    # Contradictions

    def check(self, refresh: float = NEVER) -> bytes:
        """How far this side is, for the other side to compare; and how often it is to, if said."""
        return LINK_CODEC.encode(Check(self.sent, self._spent, refresh))

    def disagreement(self, check: Check) -> Disagreement | None:
        """What the other side says and this one does not know, if so."""
        if check.sent != self.received:
            what = f"{check.sent} frames were sent, {self.received} came"
            return Disagreement(what, ends_stream=True)
        if check.spent != self._taken:
            what = f"{check.spent} bytes of notifications were sent, {self._taken} came"
            return Disagreement(what, ends_stream=False)
        return None

    def problems(self) -> Iterator[str]:
        """What is wrong with the counts of this side: then the stream cannot go on."""
        counts = (self.sent, self.acknowledged, self.received, self.missed, self._sent_ever)
        if not all(map(_is_count, (*counts, self._acknowledged_in, self.window))):
            yield f"counts are {counts}, {self._acknowledged_in} and {self.window}"
            return
        yield from self.spool.problems(self.sent - self.acknowledged)
        if self.acknowledged > self.sent:
            yield f"{self.acknowledged} frames acknowledged of {self.sent} sent"
        if self.kept is not None and not (_is_count(self.kept) and self.kept <= self.received):
            yield f"{self.kept} frames kept of {self.received} received"
        if self._acknowledged_in > self.received:
            yield f"{self._acknowledged_in} frames acknowledged of {self.received} received"
        if self.missed > self.received:
            yield f"{self.missed} frames missed of {self.received} received"
        if self._sent_ever > self.last:
            yield f"{self._sent_ever} frames sent of {self.last} there were"
        if not 0 < self.window <= self.limits.window_bytes:
            yield f"a window of {self.window} bytes; at most {self.limits.window_bytes} are allowed"
        if self._half_full != self.limits.buffer_bytes >> 1:
            yield f"half full at {self._half_full} bytes of {self.limits.buffer_bytes}"

    def connection_problems(self) -> Iterator[str]:
        """What is wrong with what counts for one connection only: the next begins with zero."""
        if not self.connected:
            return
        counts = (self._credit, self._spent, self._granted, self._taken)
        if not all(map(_is_count, counts)):
            yield f"credit, spent, granted and taken are {counts}"
        elif self._granted > self._taken + self.limits.window_bytes:
            yield f"{self._granted} bytes granted after {self._taken} were taken"

    @property
    def is_sound(self) -> bool:
        """Whether the stream can go on."""
        return _is_none(self.problems)

    @property
    def is_connection_sound(self) -> bool:
        """Whether it can go on over this connection."""
        return _is_none(self.connection_problems)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= COUNT_MAX


def _is_none(problems: Callable[[], Iterator[str]]) -> bool:
    """Whether there are no problems; values that cannot be looked at are one."""
    try:
        return next(problems(), None) is None
    except FAULTS:
        return False
