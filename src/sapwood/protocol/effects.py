"""What a broker asks its driver to do. The driver does all of one event, in order."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from sapwood.protocol.durable.messages import Mailbox
from sapwood.protocol.messages import AdoptedStream, Message, SpooledRun
from sapwood.protocol.ports import Hint
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


class Withhold(_Effect, frozen=True):
    """Give a neighbour no credit for notifications for a while, or again: what comes waits here."""

    neighbour: str
    is_withheld: bool


class OpenLink(_Effect, frozen=True):
    """Dial a broker that nobody has asked to join, once at each of its addresses."""

    broker: str
    addresses: tuple[str, ...]


class Measure(_Effect, frozen=True):
    """Find out how long a message takes to a neighbour, in the tree or not (`DelayMeasured`)."""

    neighbour: str


class SaveBook(_Effect, frozen=True):
    """Save the addresses that were heard of for the next start."""

    hints: tuple[Hint, ...]


class CloseLink(_Effect, frozen=True):
    """End the stream with a neighbour, and the link; either side may begin another one."""

    neighbour: str
    reason: str


class End(_Effect, frozen=True):
    """Let this broker hand its clients over and end, or say why it cannot (`LeaveRefused`)."""

    request: int
    route: tuple[str, ...]
    """From whoever asks for it to this broker."""


class TreeChanged(_Effect, frozen=True):
    """The links of the tree at this broker are others from now on, or its parent is."""


class Dismiss(_Effect, frozen=True):
    """Let a client's session end: it goes on elsewhere, or asks for too much."""

    client: str
    reason: str
    goes_on: bool = True


class ResetStream(_Effect, frozen=True):
    """Let the stream with a neighbour or client begin anew: it no longer says what it has to.

    The driver knows whether it is only slow: what waits in the stream may be on its way.
    """

    peer: str
    reason: str
    times: int = 1
    """How often it was asked for in a row."""


class Bar(_Effect, frozen=True):
    """Let the stream to a neighbour stop behind what was sent so far, or go on."""

    neighbour: str
    is_barred: bool


class HandOver(_Effect, frozen=True):
    """All that a neighbour had for this broker has come: hand the clients over to it."""

    neighbour: str
    change: str


class StayHere(_Effect, frozen=True):
    """A neighbour does not take the clients over."""

    neighbour: str
    change: str
    reason: str


class Adoptee(_Effect, frozen=True):
    """A client whose stream goes on here."""

    client: str
    stream: AdoptedStream
    runs: tuple[SpooledRun, ...]
    """What it has not acknowledged, in order."""


class Adopted(_Effect, frozen=True):
    """The streams of a neighbour's clients go on here, and the neighbour is gone.

    What was kept back for it goes to those of them who want it.
    """

    neighbour: str
    clients: tuple[Adoptee, ...]


class AskMailbox(_Effect, frozen=True):
    """A client asks something about durable subscriptions."""

    client: str
    asked: Mailbox


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
    | Withhold
    | OpenLink
    | Measure
    | SaveBook
    | CloseLink
    | End
    | TreeChanged
    | Dismiss
    | ResetStream
    | Reborn
    | Bar
    | HandOver
    | StayHere
    | Adopted
    | AskMailbox
    | Record
)
