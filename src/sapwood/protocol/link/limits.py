"""What a link and a client may cost: sizes and times, with their defaults.

A name says its unit (``_bytes``, ``_seconds``); a number without one is a count. The descriptions
are what `sapwood config show` and the reference print.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from sapwood.protocol.clients import MESSAGE_SIZE, Most, Pace
from sapwood.protocol.link.channel import ChannelLimits

SlowPolicy: TypeAlias = Literal["drop_oldest", "disconnect", "block"]

_KIB = 1024
FRAME_BYTES = 64 * _KIB
"""A buffer that cannot hold a few ordinary frames only drops what it takes."""


class LinkLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Between brokers."""

    buffer_bytes: Annotated[
        int,
        Meta(
            ge=FRAME_BYTES,
            description="Notifications kept for a neighbour until it has acknowledged them. "
            "Beyond it the oldest are given up, counted and reported.",
        ),
    ] = 16 * 2**20
    control_bytes: Annotated[
        int,
        Meta(
            ge=FRAME_BYTES,
            description="Room for control messages to a neighbour. Beyond it the link starts anew.",
        ),
    ] = 16 * 2**20
    window_bytes: Annotated[
        int, Meta(ge=_KIB, description="Notifications a neighbour may send ahead.")
    ] = 2**20
    silence_seconds: Annotated[
        float,
        Meta(
            ge=0.5,
            description="Time without a frame after which a connection is taken for dead.",
        ),
    ] = 10.0
    slow_seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            description="How long a neighbour that makes no progress may hold publishers back "
            "before notifications are given up. One that drains is not slow, however slowly.",
        ),
    ] = 5.0
    away_seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            description="How long a neighbour that cannot be reached keeps its place in the tree, "
            "and notifications are kept for it within buffer_bytes.",
        ),
    ] = 86_400.0
    retry_first_seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            description="Time before the first attempt to connect again; "
            "doubled for each further one.",
        ),
    ] = 0.1
    retry_max_seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            description="Longest time between two attempts to connect. Towards a broker that is "
            "a neighbour already it is 2 s at most.",
        ),
    ] = 15.0

    def channel(self) -> ChannelLimits:
        """The limits of the stream to a neighbour."""
        return _limits(self)


class ClientLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Between a broker and its clients."""

    max_clients: Annotated[
        int, Meta(ge=0, description="Clients that may be connected at a time.")
    ] = 10_000
    buffer_bytes: Annotated[
        int,
        Meta(
            ge=FRAME_BYTES,
            description="Notifications kept for a client until it has acknowledged them. "
            "Beyond it slow_policy decides.",
        ),
    ] = 16 * 2**20  # more than one source can bring before the client's own socket is read again
    control_bytes: Annotated[
        int,
        Meta(
            ge=FRAME_BYTES,
            description="Room for answers to a client. Beyond it the client is disconnected.",
        ),
    ] = 4 * 2**20
    window_bytes: Annotated[
        int, Meta(ge=_KIB, description="Notifications a client may send ahead.")
    ] = 2**18
    silence_seconds: Annotated[
        float,
        Meta(
            ge=0.5,
            description="Time without a frame after which a connection is taken for dead.",
        ),
    ] = 30.0
    grace_seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            description="How long the stream of a client without connection is kept "
            "for its return.",
        ),
    ] = 30.0
    refresh_seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            description="How often a client says again what it subscribes to, by a digest. One "
            "that is silent for three times as long is sent away.",
        ),
    ] = 30.0
    subscriptions_max: Annotated[
        int, Meta(ge=1, description="Subscriptions and advertisements that a client may have.")
    ] = 20_000
    subscription_bytes: Annotated[
        int,
        Meta(ge=_KIB, description="What the filters of a client may take together, as text."),
    ] = 8 * 2**20
    changes_per_second: Annotated[
        float,
        Meta(
            gt=0.0,
            description="Work that changes of subscriptions of one client may cause in the long "
            "run: a change, each message to a neighbour because of it and each filter looked at "
            "count one. Beyond it changes wait for their turn.",
        ),
    ] = 2_000.0
    changes_burst: Annotated[
        int,
        Meta(ge=1, description="Work that they may cause at once when the client was quiet."),
    ] = 40_000
    slow_policy: Annotated[
        SlowPolicy,
        Meta(
            description="What happens when a client does not keep up: drop_oldest gives up the "
            "oldest notifications, disconnect ends the connection, block lets the clients of "
            "this broker wait. A client may ask for another policy than this one.",
        ),
    ] = "drop_oldest"

    def channel(self) -> ChannelLimits:
        """The limits of the stream to a client."""
        return _limits(self)

    def claims(self) -> Most:
        """How much a client may claim."""
        return Most(self.subscriptions_max, self.subscription_bytes)

    def pace(self) -> Pace:
        """How fast it may change that; as much may wait as it may claim."""
        waiting_max = self.subscription_bytes + self.subscriptions_max * MESSAGE_SIZE
        return Pace(self.changes_per_second, self.changes_burst, waiting_max)


def _limits(of: LinkLimits | ClientLimits) -> ChannelLimits:
    return ChannelLimits(
        buffer_bytes=of.buffer_bytes,
        control_bytes=of.control_bytes,
        window_bytes=of.window_bytes,
    )
