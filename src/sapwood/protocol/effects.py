"""What a broker asks its driver to do. The driver does all of one event, in order."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from sapwood.protocol.messages import Message
from sapwood.protocol.stabilize.beacon import Beacon


class _Effect(msgspec.Struct, frozen=True, gc=False):
    """What all effects share."""


class Forward(_Effect, frozen=True):
    """Send a run of notification frames to neighbours and clients, as the bytes they are."""

    destinations: tuple[str, ...]
    data: bytes
    count: int


class Send(_Effect, frozen=True):
    """Send a control message to a neighbour or client."""

    destination: str
    message: Message


class Say(_Effect, frozen=True):
    """Send a beacon to a neighbour, beside the stream: if there is no connection, it is lost."""

    neighbour: str
    beacon: Beacon


class Hold(_Effect, frozen=True):
    """Keep notifications for a neighbour back though it can be reached, or no longer."""

    neighbour: str
    is_held: bool


class OpenLink(_Effect, frozen=True):
    """Dial a broker that nobody has asked to join, once at each of its addresses."""

    broker: str
    addresses: tuple[str, ...]


class CloseLink(_Effect, frozen=True):
    """End the stream with a neighbour, and the link; either side may begin another one."""

    neighbour: str
    reason: str


class TreeChanged(_Effect, frozen=True):
    """The links of the tree at this broker are others from now on, or its parent is."""


class Dismiss(_Effect, frozen=True):
    """Let a client's session end: it goes on elsewhere."""

    client: str
    reason: str


class ResetStream(_Effect, frozen=True):
    """Let the stream with a neighbour or client begin anew: it no longer says what it has to.

    The driver knows whether it is only slow: what waits in the stream may be on its way.
    """

    peer: str
    reason: str
    times: int = 1
    """How often it was asked for in a row."""


class Record(_Effect, frozen=True):
    """Write a row into the trace."""

    kind: str
    fields: dict[str, Any]


class Reborn(_Effect, frozen=True):
    """The broker found its state impossible and has built it anew from its entries.

    The driver says again who is linked and connected (`Roster`).
    """

    reason: str
    is_again: bool
    """Whether that happened a short time ago already: then only a new session helps."""


Effect: TypeAlias = (
    Forward
    | Send
    | Say
    | Hold
    | OpenLink
    | CloseLink
    | TreeChanged
    | Dismiss
    | ResetStream
    | Reborn
    | Record
)
