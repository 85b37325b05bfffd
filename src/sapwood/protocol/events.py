"""What a driver brings to a broker's door."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from sapwood.protocol.messages import LoadReport, Message
from sapwood.protocol.reconfigure.messages import Kind
from sapwood.protocol.stabilize.beacon import Beacon


class _Event(msgspec.Struct, frozen=True, gc=False):
    """What all events share."""


class FramesReceived(_Event, frozen=True):
    """Whole frames from a neighbour or client, as many as one read brought."""

    source: str
    data: bytes


class ControlReceived(_Event, frozen=True):
    """One control message from a neighbour or client, already decoded."""

    source: str
    message: Message


class LinkUp(_Event, frozen=True):
    """A link to a neighbour is there. Outside the tree it carries no notifications."""

    neighbour: str
    in_tree: bool = True
    sends: str = ""
    """How the neighbour learns what to send here: the routing of the edge towards this broker.
    Empty: as the broker is configured."""
    receives: str = ""
    """How this broker learns what to send: the routing of the edge towards the neighbour, as that
    said. Empty: as the broker itself is configured."""
    session: int = 0
    """The session of the neighbour; zero if it is not known."""
    addresses: tuple[str, ...] = ()
    """Where the neighbour can be dialled."""
    features: tuple[str, ...] = ()
    """What the neighbour can do beyond the first release."""
    restarted: bool = False
    """Whether the neighbour is back after a restart and will tell its tables again."""
    refresh_seconds: float = 0.0
    """How often the neighbour compares tables, as it said; zero if it did not."""
    is_held: bool = False
    """Whether the link is part of the tree and is not to carry anything yet."""
    place: str = ""
    """Whether the neighbour is the parent or a child of this broker, if that is certain."""


class LinkDown(_Event, frozen=True):
    """A link to a neighbour is gone for good, and all that came over it."""

    neighbour: str


class NeighbourAway(_Event, frozen=True):
    """A neighbour cannot be reached for the time being; what goes to it is kept by the driver.

    Its entries stay. What was asked since cannot take effect there before it is back.
    """

    neighbour: str


class NeighbourBack(_Event, frozen=True):
    """A neighbour can be reached again, and has got everything in between."""

    neighbour: str
    in_place: bool = True
    """Whether both ends say that its link is where it was in the tree; else it is held."""


class BeaconReceived(_Event, frozen=True):
    """A neighbour says what it knows about the root of the tree."""

    neighbour: str
    beacon: Beacon


class DelayMeasured(_Event, frozen=True):
    """A message to a neighbour took so long, one way."""

    neighbour: str
    seconds: float


class CostsGiven(_Event, frozen=True):
    """What notifications cost is said from outside, in any unit, in place of what was said before.

    Costs of links by the broker at the other end, whether it is a neighbour or not.
    """

    links: tuple[tuple[str, float], ...]
    processing: float | None = None
    """What it costs to handle one here; None: as before."""


class NotificationsMissed(_Event, frozen=True):
    """A neighbour had to give up notifications that would have come from it."""

    neighbour: str
    count: int
    filters: tuple[str, ...] = ()
    """Those of which one matches each of them; empty if that is not known."""


class AnythingMissed(_Event, frozen=True):
    """The driver found its state spoilt: nobody knows what was lost here, or over which link."""


class RoutingChanged(_Event, frozen=True):
    """A neighbour has to learn in another way what to send here; nothing is lost meanwhile."""

    neighbour: str
    sends: str


class SurveyRequested(_Event, frozen=True):
    """The driver wants a survey; the answer is sent to the broker's own name."""

    request: int


class ChangeRequested(_Event, frozen=True):
    """The driver wants one link of the tree to be exchanged for another.

    The answer (`ChangeEnded`) is sent to the broker's own name, under the same number.
    """

    request: int
    old: tuple[str, str]
    """The ends of the link that is to leave the tree."""
    new: tuple[str, str]
    """The ends of the link that is to take its place."""
    kind: Kind = "exchange"


class ClientUp(_Event, frozen=True):
    """A client's session begins."""

    client: str
    features: tuple[str, ...] = ()
    """What the client can do beyond the first release."""


class ClientArrived(_Event, frozen=True):
    """A client whose session has just begun here was at another broker with it before."""

    client: str
    streams: int
    """How many streams it had begun before: of two arrivals the one with more is the later."""


class ClientAway(_Event, frozen=True):
    """A client has no connection for the time being; its session is kept."""

    client: str


class ClientBack(_Event, frozen=True):
    """A client goes on with its session."""

    client: str


class ClientHandedOver(_Event, frozen=True):
    """A client's session goes on at the neighbour, with all it asked for."""

    client: str


class LeaveBegun(_Event, frozen=True):
    """This broker is to leave the tree, and hands its clients over to a neighbour."""

    neighbour: str
    change: str
    clients: int


class LeaveEnded(_Event, frozen=True):
    """This broker takes nobody over any more, or hands nobody over any more."""

    reason: str


class LeaveRefused(_Event, frozen=True):
    """This broker was told to leave (`End`), and has nobody to hand its clients over to."""

    request: int
    route: tuple[str, ...]
    """From whoever asked for it to this broker."""
    reason: str


class ClientDown(_Event, frozen=True):
    """A client's session has ended: what it had is removed."""

    client: str


class Tick(_Event, frozen=True):
    """Time has passed: the broker does what is due.

    Drivers bring one at `Broker.next_at` at the latest, and one every half second in any case, so
    that no stored time that went wrong can stop anything for good.
    """

    busy: tuple[str, ...] = ()
    """Neighbours from whom frames have come since the last one."""
    handling: float = 0.0
    """How many seconds reads have taken since the last regular one, as far as that is measured."""
    congested: tuple[str, ...] = ()
    """Neighbours and clients that do not keep up with what is sent to them."""
    skew: float | None = None
    """Seconds that the clock on the wall is ahead of the time that events come with, if that was
    looked at. Timers go by the one, which never jumps; what expires, by the other."""
    load: LoadReport | None = None
    """How much passes through, if that was looked at: for surveys."""


class Examine(_Event, frozen=True):
    """Look whether everything that a driver may ask the broker can be answered.

    Whatever reads the broker's state may raise after a fault in it. Then the broker finds that out
    first, and is built anew; so nobody else has to be prepared for state that makes no sense.
    """


class Roster(_Event, frozen=True):
    """Who is linked and connected, as the driver knows it: the broker must agree.

    Brought every so often. In a network without faults nothing follows from it.
    """

    links: tuple[LinkUp, ...]
    away: tuple[str, ...]
    """Those of the links whose other end cannot be reached for the time being."""
    clients: tuple[str, ...]


Event: TypeAlias = (
    FramesReceived
    | ControlReceived
    | LinkUp
    | LinkDown
    | NeighbourAway
    | NeighbourBack
    | BeaconReceived
    | DelayMeasured
    | CostsGiven
    | NotificationsMissed
    | AnythingMissed
    | RoutingChanged
    | SurveyRequested
    | ChangeRequested
    | ClientUp
    | ClientArrived
    | ClientAway
    | ClientBack
    | ClientHandedOver
    | LeaveBegun
    | LeaveEnded
    | LeaveRefused
    | ClientDown
    | Examine
    | Roster
    | Tick
)
