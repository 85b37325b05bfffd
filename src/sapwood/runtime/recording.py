"""What of a live broker's doings goes into its trace, and as which rows.

A notification is *delivered* when the client says that it has got it, not when it is sent: what
is given up on the way is a row of its own (*dropped*), so that the story of a notification ends
where the notification did.
"""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.protocol.effects import Record
from sapwood.protocol.link.spool import FrameRun
from sapwood.protocol.link.peer import Peer
from sapwood.runtime.tracing import Tracer
from sapwood.runtime.tracing_frames import Frames
from sapwood.trace.schema import DELIVERED, DROPPED, FORWARDED, PUBLISHED

NO_ROOM = "given up: there was no room for it"
IN_DOUBT = "given up after it was sent: perhaps it has arrived"
ABANDONED = "given up with the stream it was in"


class Recording:
    """Rows about one broker, through its tracer."""

    def __init__(self, tracer: Tracer, broker: str) -> None:
        self._record = tracer.record
        self._tracer = tracer
        self._broker = broker

    def published(self, at: float, peer: Peer, data: bytes) -> None:
        """Frames came from a client; what is refused of them is left out later."""
        if peer.is_client:
            self._record(at, PUBLISHED, {"client": peer.name}, Frames(data))

    def forwarded(self, at: float, peer: Peer, data: bytes) -> None:
        """Notifications go to a neighbour."""
        if not peer.is_client:
            fields = {"source": self._broker, "target": peer.name}
            self._record(at, FORWARDED, fields, Frames(data))

    def delivered(self, at: float, peer: Peer, runs: Iterable[FrameRun]) -> None:
        """A client says that it has got something."""
        if peer.is_client:
            fields = {"client": peer.name, "target": peer.name}
            for run in runs:
                if run.data is not None and run.size:
                    frames = Frames(run.data, run.first, run.first + run.frames)
                    self._record(at, DELIVERED, fields, frames, run.size)

    def dropped(self, at: float, peer: Peer, runs: Iterable[FrameRun], why: str) -> None:
        """Notifications for somebody were given up."""
        for run in runs:
            if run.data is not None and run.size:
                message = IN_DOUBT if run.in_doubt else why
                fields = {"source": self._broker, "target": peer.name, "message": message}
                self._record(at, DROPPED, fields, Frames(run.data))

    def asked(self, at: float, effect: Record) -> None:
        """The broker itself asks for a row."""
        self._record(at, effect.kind, effect.fields)

    def left(self, peer: Peer) -> None:
        """A client is gone for good."""
        self._tracer.forget(peer.name)
