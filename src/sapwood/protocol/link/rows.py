"""What of a node's doings goes into its trace, and as which rows.

A notification is *delivered* when the client says that it has got it, not when it is sent: what
is given up on the way is a row of its own (*dropped*), so that the story of a notification ends
where the notification did.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from sapwood.protocol.effects import Record
from sapwood.protocol.link import notes
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.spool import FrameRun
from sapwood.protocol.ports import Row
from sapwood.trace.schema import (
    ADVERTISED,
    DELIVERED,
    DROPPED,
    FORWARDED,
    LOGIN,
    PUBLISHED,
    SUBSCRIBED,
    UNADVERTISED,
    UNSUBSCRIBED,
)
from sapwood.wire.frames import CONTROL, walk

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

NO_ROOM: Final = "given up: there was no room for it"
IN_DOUBT: Final = "given up after it was sent: perhaps it has arrived"
ABANDONED: Final = "given up with the stream it was in"

_ENDS: Final = {SUBSCRIBED: UNSUBSCRIBED, ADVERTISED: UNADVERTISED}


class Rows:
    """Rows about one node, if it records."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def login(self, peer: Peer, at: float) -> None:
        """Somebody has come in by an account."""
        accounts = self._node.config.accounts
        if not self._node.config.recording or accounts is None:
            return
        if peer.is_client:
            account, fields = accounts.owner_of_session(peer.name), {"client": peer.name}
        else:
            account, fields = accounts.owner("broker", peer.name), {"source": peer.name}
        if account is not None:
            self._node.do(Row(at, LOGIN, {**fields, "message": account.name}))

    def published(self, peer: Peer, data: bytes, frames: int, size: int, at: float) -> None:
        """Frames came from a client, notifications of so many bytes among them.

        What is refused of them is left out later.
        """
        if peer.is_client:
            if size != len(data):
                frames = sum(kind != CONTROL for kind, *_ in walk(data))
            peer.order += frames
            self._node.do(Row(at, PUBLISHED, {"client": peer.name}, data))

    def forwarded(self, peer: Peer, data: bytes, at: float) -> None:
        """Notifications go to a neighbour."""
        if not peer.is_client:
            fields = {"source": self._node.config.id, "target": peer.name}
            self._node.do(Row(at, FORWARDED, fields, data))

    def delivered(self, peer: Peer, runs: Iterable[FrameRun], at: float) -> None:
        """A client says that it has got something."""
        if not peer.is_client or not self._node.config.recording:
            return
        fields = {"client": peer.name, "target": peer.name}
        for run in runs:
            if run.data is not None and run.size:
                end = run.first + run.frames
                peer.order += run.frames
                self._node.do(Row(at, DELIVERED, fields, run.data, run.first, end, run.size))

    def dropped(
        self, peer: Peer, runs: Iterable[FrameRun], at: float, *, is_abandoned: bool = False
    ) -> None:
        """Notifications for somebody were given up."""
        if not self._node.config.recording:
            return
        why = ABANDONED if is_abandoned else NO_ROOM
        for run in runs:
            if run.data is not None and run.size:
                message = IN_DOUBT if run.in_doubt else why
                source = self._node.config.id
                fields = {"source": source, "target": peer.name, "message": message}
                self._node.do(Row(at, DROPPED, fields, run.data))

    def asked(self, effect: Record, at: float) -> None:
        """The broker asks for a row, which may be of interest for the log, too.

        A client that was lost by another broker or session asks for everything again: what it had
        asked for there is over, and that session may not have been able to record it.
        """
        notes.recorded(self._node, effect)
        if not self._node.config.recording:
            return
        kind, fields = effect.kind, effect.fields
        peer = self._node.peers.get(fields.get("client", "")) if kind in _ENDS else None
        if peer is not None and peer.claimed_again is not None:
            claim = (kind, fields["filter"])
            if claim not in peer.claimed_again:
                peer.claimed_again.add(claim)
                ended = {"client": peer.name, "filter": fields["filter"]}
                self._node.do(Row(at, _ENDS[kind], ended))
        self._node.do(Row(at, kind, fields))
