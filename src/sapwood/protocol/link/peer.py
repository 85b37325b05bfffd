"""A neighbour or client as the driver sees it: its stream, and perhaps a connection."""

from __future__ import annotations

import asyncio

from sapwood.protocol.link.channel import Channel
from sapwood.runtime.connection import Connection


class Peer:
    """Whoever frames are exchanged with, across connections."""

    __slots__ = (
        "addresses",
        "away_since",
        "channel",
        "congested_since",
        "connection",
        "disconnected",
        "frames_in",
        "frames_out",
        "given_up_seen",
        "heard_at",
        "holders",
        "holds",
        "in_tree",
        "is_client",
        "is_condemned",
        "name",
        "session",
        "slow_policy",
    )

    def __init__(
        self,
        name: str,
        session: int,
        channel: Channel,
        *,
        is_client: bool,
        slow_policy: str = "",
        in_tree: bool = True,
        addresses: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.session = session
        self.channel = channel
        self.is_client = is_client
        self.in_tree = in_tree
        self.addresses = addresses
        self.slow_policy = slow_policy
        self.connection: Connection | None = None
        self.disconnected = asyncio.Event()
        """Set while there is no connection."""
        self.away_since: float | None = None
        """When the connection was lost; None while there is one."""
        self.heard_at = 0.0
        """When something last came over the connection that was lost."""
        self.is_condemned = False
        """Whether this client is about to be sent away."""
        self.congested_since: float | None = None
        self.holds: dict[Peer, None] = {}
        """Those whose credit is withheld because this one does not keep up."""
        self.holders: dict[Peer, None] = {}
        """Those because of whom the credit of this one is withheld."""
        self.given_up_seen = 0
        self.frames_in = 0
        self.frames_out = 0

    def __repr__(self) -> str:
        if self.is_client:
            return f"<client {self.name}>"
        return f"<broker {self.name}.{self.session}>"

    @property
    def is_untouched(self) -> bool:
        """Whether nothing has come over the stream, and nothing has arrived."""
        return self.channel.received == 0 and self.channel.acknowledged == 0

    def flush(self) -> None:
        """Send what may be sent."""
        if self.connection is not None and self.channel.connected:
            runs = self.channel.take()
            if runs:
                self.connection.write(b"".join(runs))

    def acknowledge(self) -> None:
        """Tell the other side how far this one is, if it does not know."""
        if self.connection is not None and self.channel.connected and self.channel.owes_ack:
            self.connection.write(self.channel.ack())
