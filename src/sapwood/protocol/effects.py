"""What a broker asks its driver to do. The driver does all of one event, in order."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from sapwood.protocol.messages import Message


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


class Dismiss(_Effect, frozen=True):
    """Let a client's session end: it goes on elsewhere."""

    client: str
    reason: str


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


Effect: TypeAlias = Forward | Send | Dismiss | Record | Reborn
