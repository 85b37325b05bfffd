"""What a driver brings to a broker's door."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from sapwood.protocol.messages import Message


class _Event(msgspec.Struct, frozen=True, gc=False):
    """What all events share."""


class Received(_Event, frozen=True):
    """Whole frames from a neighbour or client, as many as one read brought."""

    source: str
    data: bytes


class Told(_Event, frozen=True):
    """One control message from a neighbour or client, already decoded."""

    source: str
    message: Message


class LinkUp(_Event, frozen=True):
    """A link to a neighbour is there. Outside the tree it carries no notifications."""

    neighbour: str
    in_tree: bool = True
    sends: str = "covering"
    """How the neighbour learns what to send here: the routing of the edge towards this broker."""
    receives: str = "covering"
    """How this broker learns what to send: the routing of the edge towards the neighbour."""


class LinkDown(_Event, frozen=True):
    """A link to a neighbour is gone for good, and all that came over it."""

    neighbour: str


class Away(_Event, frozen=True):
    """A neighbour cannot be reached for the time being; what goes to it is kept by the driver.

    Its entries stay. What was asked since cannot take effect there before it is back.
    """

    neighbour: str


class Back(_Event, frozen=True):
    """A neighbour can be reached again, and has got everything in between."""

    neighbour: str


class GaveUp(_Event, frozen=True):
    """A neighbour had to give up notifications that would have come from it."""

    neighbour: str
    count: int


class Inspect(_Event, frozen=True):
    """The driver wants a survey; the answer is sent to the broker's own name."""

    request: int


class ClientUp(_Event, frozen=True):
    """A client's session begins."""

    client: str


class ClientDown(_Event, frozen=True):
    """A client's session has ended: what it had is removed."""

    client: str


class Tick(_Event, frozen=True):
    """Time has passed: whatever is due is done."""


class Fired(_Event, frozen=True):
    """A timer that the broker had asked for has run out."""

    timer: str


Event: TypeAlias = (
    Received
    | Told
    | LinkUp
    | LinkDown
    | Away
    | Back
    | GaveUp
    | Inspect
    | ClientUp
    | ClientDown
    | Fired
)
