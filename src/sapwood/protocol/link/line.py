"""One connection as a node or a client sees it: bytes in, frames out; frames in, bytes out.

Messages between the two ends of the connection come one by one, all other frames as the bytes they
are, as many as a read brought. What does not follow the format ends the connection, with a
reason for the other side. What is written is collected, so that all of one event leaves at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from sapwood.errors import FrameError
from sapwood.protocol.faults import FAULTS
from sapwood.protocol.fitting import ANY, COUNT, FLAG, NOTHING, TEXT, TIME, Kinds
from sapwood.protocol.link.handshake import LINK_CODEC, SILENCE_SECONDS_MAX, Ack, LinkMessage
from sapwood.protocol.link.states import LINE, LineState, following
from sapwood.wire.frames import CONTROL, HEADER, HEADER_SIZE, LINK
from sapwood.wire.scan import scan, size_of_next

if TYPE_CHECKING:
    from sapwood.protocol.link.peer import Peer

HANDSHAKE_BYTES_MAX: Final = 64 * 1024
"""Longest frame that is taken from someone who has not introduced themselves."""

HANDSHAKE_SECONDS: Final = 5.0
"""How long someone may take to introduce themselves, and how long dialing may take in all."""

REST_BYTES_PER_SECOND: Final = 1024
"""A frame of which a part came has to grow at this speed."""

FORGOTTEN: Final = "the beginning of a frame was forgotten"

ENDLESS: Final = "a frame that never ends"

_UNKNOWN: Final = (LineState.GREETING, LineState.EXAMINING)
"""States in which nobody knows who is at the other end."""


class Frames(NamedTuple):
    """Whole frames of a stream, as many as came together."""

    data: bytes
    frames: int
    size: int
    """Bytes that need credit: those of notifications."""


Piece: TypeAlias = Frames | LinkMessage


class Line:
    """One connection: its state, the rest of the last read, and what is to be written."""

    __slots__ = (
        "address",
        "certificate",
        "ended_at",
        "has_no_credit",
        "heard_at",
        "lingers",
        "needed",
        "number",
        "out",
        "peer",
        "ping_at",
        "problem",
        "rest",
        "rest_since",
        "rest_size",
        "silence",
        "since",
        "state",
        "wrote_at",
    )

    def __init__(
        self,
        number: int,
        state: LineState,
        now: float,
        *,
        address: str = "",
        certificate: tuple[str, ...] | None = None,
    ) -> None:
        self.number = number
        self.state = state
        self.address = address
        self.certificate = certificate
        self.has_no_credit = False
        """Whether the hello said that nothing may come yet."""
        self.peer: Peer | None = None
        """Whose stream goes over this line, while it is open."""
        self.since = now
        self.heard_at = now
        self.wrote_at = now
        self.ping_at = now
        """When the other side was last asked how long a message takes."""
        self.ended_at = float("-inf")
        """When this side ended it; it is gone when the driver says so."""
        self.lingers = False
        """Whether the other side is to end it first, when it has read the reason."""
        self.silence = 0.0
        """Longest time without a frame that the other side tolerates, in seconds; 0: any."""
        self.out: list[bytes] = []
        """What is to be written when the event is done."""
        self.rest: list[bytes] = []
        """The beginning of a frame that is not whole yet, as it came."""
        self.rest_size = 0
        self.rest_since = now
        """When the first bytes of it came."""
        self.needed = 0
        """How many bytes make that frame whole: nothing is looked at before. Zero: there is none.
        """
        self.problem = ""
        """What was wrong with the bytes that came last."""

    def __repr__(self) -> str:
        return f"<line {self.number} {self.state} {self.address}>"

    @property
    def is_open(self) -> bool:
        """Whether both sides have introduced themselves."""
        return self.state is LineState.OPEN

    def problems(self, now: float) -> Iterator[str]:
        """What is wrong with a line between two events."""
        if type(self.out) is not list or {*map(type, self.out)} - {bytes}:
            yield f"to be written is {self.out!r:.80}"
        if not 0.0 <= self.silence <= SILENCE_SECONDS_MAX:
            yield f"the other side tolerates {self.silence} s of silence"
        if type(self.ping_at) is not float:
            yield f"the other side was last asked at {self.ping_at}"
        if not self.rest:
            if self.rest_size or self.needed:
                yield FORGOTTEN
            return
        if (self.rest_size, self.needed) != (sum(map(len, self.rest)), size_of_next(self.rest[0])):
            yield f"{self.rest_size} bytes of a frame of {self.needed} came"
        if not self.rest_since <= now:
            yield f"{self.rest_size} bytes of {self.needed} came since {self.rest_since}"

    def has_endless_frame(self, patience: float, now: float) -> bool:
        """Whether a frame of which a part came grows so slowly that it never ends.

        Bytes that were spoilt at the other end may look like the beginning of a long frame, which
        then swallows all that follows.
        """
        if not self.rest:
            return False
        seconds = patience + self.rest_size / REST_BYTES_PER_SECOND
        return not self.rest_since <= now <= self.rest_since + seconds

    def is_sound(self, now: float) -> bool:
        """Whether nothing is wrong with it; values that cannot be looked at are wrong."""
        try:
            return not any(self.problems(now))
        except FAULTS:
            return False

    def advance(self, what: str) -> bool:
        """Go to the next state; whether that was possible."""
        state = following(LINE, self.state, what)
        if state is not None:
            self.state = state
        return state is not None

    def say(self, message: LinkMessage) -> None:
        """Write something about the connection."""
        self.out.append(LINK_CODEC.encode(message))

    def take(self) -> bytes:
        """What is to be written now."""
        out = self.out
        data = out[0] if len(out) == 1 else b"".join(out)
        self.out = []
        return data

    # Reading

    def read(self, data: bytes) -> list[Piece]:
        """The whole frames of a read, together with what was left of the one before.

        If something is wrong, `problem` says what, and nothing behind it is looked at.
        """
        self.problem = ""
        if self.rest or self.needed or self.rest_size:
            if not (self.rest and self.needed and self.rest_size):
                # What comes now begins in the middle of a frame: read as frames, it could be as
                # many as are missing, and nobody would notice. Nothing was counted: it comes again.
                self.problem = FORGOTTEN
                return []
            self.rest.append(data)
            self.rest_size += len(data)
            if self.rest_size < self.needed:
                return []
            data = b"".join(self.rest)
            self.rest, self.rest_size, self.needed = [], 0, 0
        pieces: list[Piece] = []
        try:
            self._split(data, pieces)
        except FrameError as problem:
            self.problem = str(problem)
        return pieces

    def _split(self, data: bytes, pieces: list[Piece]) -> None:
        end, frames, has_link, control_bytes = scan(data)
        whole = data
        if end < len(data):
            whole, rest = data[:end], data[end:]
            self.rest, self.rest_size, self.needed = [rest], len(rest), size_of_next(rest)
            self.rest_since = self.heard_at
            if self.state in _UNKNOWN and self.needed > HANDSHAKE_BYTES_MAX:
                raise FrameError(
                    f"a frame of {self.needed} bytes before the handshake is done; "
                    f"at most {HANDSHAKE_BYTES_MAX} are taken"
                )
        if has_link:
            _split_mixed(whole, pieces)
        elif frames:
            pieces.append(Frames(whole, frames, end - control_bytes))


LINE_KINDS: Final[Kinds] = {
    "address": TEXT,
    "certificate": (tuple, NOTHING),
    "ended_at": TIME,
    "has_no_credit": FLAG,
    "heard_at": TIME,
    "lingers": FLAG,
    "needed": COUNT,
    "number": COUNT,
    "out": (list,),
    "peer": ANY,
    "ping_at": TIME,
    "problem": TEXT,
    "rest": (list,),
    "rest_since": TIME,
    "rest_size": COUNT,
    "silence": TIME,
    "since": TIME,
    "state": (LineState,),
    "wrote_at": TIME,
}
"""A peer is looked for among those that there are (``consistency``)."""


def lone_ack(data: bytes) -> Ack | None:
    """The acknowledgement that a frame between the ends of a connection is, if it is one.

    Nothing comes more often by itself, so it is worth a way past everything else.
    """
    _, _, head = HEADER.unpack_from(data)
    try:
        message = LINK_CODEC.decode(data[HEADER_SIZE + head :])
    except FrameError:
        return None
    return message if type(message) is Ack else None


def _split_mixed(data: bytes, pieces: list[Piece]) -> None:
    """Frames of the stream, and between them messages of the connection."""
    start, at, frames, size = 0, 0, 0, 0
    while at < len(data):
        kind, body, head = HEADER.unpack_from(data, at)
        end = at + HEADER_SIZE + head + body
        if kind == LINK:
            if frames:
                pieces.append(Frames(data[start:at], frames, size))
            pieces.append(LINK_CODEC.decode(data[at + HEADER_SIZE + head : end]))
            start, frames, size = end, 0, 0
        else:
            frames += 1
            if kind != CONTROL:
                size += end - at
        at = end
    if frames:
        pieces.append(Frames(data[start:at], frames, size))
