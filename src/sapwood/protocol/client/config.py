"""What a client's session has to know before it begins."""

from __future__ import annotations

from typing import Final

import msgspec

from sapwood.errors import ParameterError
from sapwood.filters.ids import SessionId
from sapwood.protocol.link.channel import ChannelLimits
from sapwood.protocol.link.handshake import CHECKS, CLIENT, COUNT_MAX, Hello, Resume
from sapwood.protocol.neighbours import MOVES, REFRESH
from sapwood.wire.frames import BODY_BYTES_MAX
from sapwood.wire.heads import PUBLISHER_BYTES_MAX

ID_BYTES_MAX: Final = PUBLISHER_BYTES_MAX - len(f".{COUNT_MAX}")
"""Longest id of a client, in UTF-8: id and session together name a publisher."""


class SessionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Who a client is, where it may connect, and how patient it is."""

    id: str
    session: int
    servers: tuple[str, ...]
    """Addresses to dial, in this order at first."""
    network: str = "sapwood"
    token: str = ""
    account: str = ""
    secret: str = ""
    """Where brokers have accounts: which one this client is, and its secret."""
    slow_policy: str = ""
    buffer_bytes: int = 8 * 2**20
    """Publications that may wait for the broker; beyond it, publishers wait."""
    connect_seconds: float = 10.0
    """How long the first connection is tried for."""
    silence_seconds: float = 10.0
    """Time without a sign of the broker after which another connection is looked for."""
    answer_seconds: float = 300.0
    """How long a request is waited for of which nothing is heard; a broker says no before that."""
    check_seconds: float = 30.0
    """How often each side of the stream says how far it is, and looks whether it contradicts
    itself; more often where the broker compares tables more often."""
    raises_faults: bool = True
    """Whether something that cannot happen is raised; else the stream begins anew."""

    @property
    def name(self) -> str:
        """Id and session: the publisher in the ids of notifications."""
        return str(SessionId(self.id, self.session))

    @property
    def limits(self) -> ChannelLimits:
        """How much the stream may hold: more than publishers may fill, so nothing is dropped."""
        return ChannelLimits(buffer_bytes=2 * self.buffer_bytes + 2 * BODY_BYTES_MAX)

    def hello(
        self,
        *,
        credit: int,
        resume: tuple[Resume, ...],
        order: int,
        streams: int,
        is_astray: bool = False,
    ) -> Hello:
        """How this client introduces itself, with where it stands."""
        shown = {"token": self.token, "account": self.account, "secret": self.secret}
        return Hello(
            role=CLIENT,
            network=self.network,
            id=self.id,
            session=self.session,
            credentials={kind: text for kind, text in shown.items() if text},
            credit=credit,
            silence=self.silence_seconds,
            slow_policy=self.slow_policy,
            resume=resume,
            order=order,
            streams=streams,
            is_astray=is_astray,
            features=(CHECKS, REFRESH, MOVES),
        )


def check_client_id(client_id: str) -> None:
    """Refuse an id with which nothing could be published.

    An InvalidIdError if it is no name, a ParameterError if it is too long.
    """
    SessionId(client_id, 1)
    size = len(client_id.encode())
    if size > ID_BYTES_MAX:
        raise ParameterError(
            f"has {size} bytes in UTF-8; at most {ID_BYTES_MAX} fit into ids of notifications", "id"
        )
