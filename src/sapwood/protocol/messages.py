"""Every control message between brokers, and between a broker and its clients.

Brokers and clients speak of subscriptions in the same words. A ``request`` number asks to be told
when the matter has taken effect everywhere; zero asks for nothing. Fields are optional where a
later release may leave them out, and new ones get defaults: a lease of its own is such.
Notifications are no messages of this kind: they stay bytes (see ``sapwood.wire.frames``).
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from sapwood.protocol.durable.messages import Mailbox, MailboxAnswer
from sapwood.protocol.naming import MessageBase, Name
from sapwood.protocol.optimize.edges.messages import EdgeMessage, Number
from sapwood.protocol.optimize.messages import SwapMessage
from sapwood.protocol.reconfigure.asking import ChangeTree, TreeChangeEnded, TreeChangeProgress
from sapwood.protocol.reconfigure.messages import ChangeMessage
from sapwood.wire.control import ControlCodec

TableName: TypeAlias = Literal["s", "a"]
"""Subscriptions or advertisements."""

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]

Digest: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=16)]
"""Of lines of a table; empty if there are none."""


class Subscribe(MessageBase, frozen=True):
    """The sender wants notifications that match a filter, under an id of its choice.

    Under an id it has used already, the new filter takes the place of the old one.
    """

    id: Name
    filter: str
    request: int = 0
    lease: float = 0.0
    """Seconds for which it holds unless it is renewed, where leases are in use; zero: as set."""


class Unsubscribe(MessageBase, frozen=True):
    """The sender no longer wants what it subscribed to under an id."""

    id: Name
    request: int = 0


class Advertise(MessageBase, frozen=True):
    """From the sender's side, notifications that match a filter may come."""

    id: Name
    filter: str
    request: int = 0
    lease: float = 0.0
    """Seconds for which it holds unless it is renewed, where leases are in use; zero: as set."""


class Unadvertise(MessageBase, frozen=True):
    """What was advertised under an id will not come any more."""

    id: Name
    request: int = 0


class Probe(MessageBase, frozen=True):
    """A wave goes out over the tree: pass it on, and answer when all behind you have answered.

    Waves of one broker are told apart by its session and their count, and both only grow.
    """

    origin: Name
    wave: int
    session: int = 1
    survey: bool = False
    """Whether every broker is to report about itself in the echo."""


class EdgeReport(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """How the edge from a broker to a neighbour is routed."""

    to: Name
    mode: Name
    """Flooding, or how the neighbour tells what to send to it."""
    number: Number = 0
    """Of the last switch."""
    last: str = ""
    """The last switch that the broker decided, and why."""


class LoadReport(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """How much a broker does, what waits and what was lost, as it was a short time ago."""

    frames_in: float = 0.0
    """Frames per second that come, from neighbours and clients."""
    frames_out: float = 0.0
    """Notifications per second for them."""
    queued_bytes: int = 0
    """Notifications that wait or are not acknowledged."""
    given_up: int = 0
    """Notifications that were kept for somebody and never reached them, since the start."""
    slow: int = 0
    """Clients whose buffer is more than half full."""
    faults: int = 0
    """What was found that only a fault brings about, since the start."""


class BrokerReport(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a broker says about itself in a survey."""

    id: Name
    session: int
    neighbours: tuple[Name, ...] = ()
    """Those in the tree."""
    candidates: tuple[Name, ...] = ()
    """Those with a link outside the tree."""
    away: tuple[Name, ...] = ()
    """Those of the neighbours that cannot be reached for the time being."""
    clients: int = 0
    subscriptions: int = 0
    """Entries of the routing table, those of neighbours included."""
    addresses: tuple[str, ...] = ()
    admin: str = ""
    """Where its admin endpoint is."""
    release: str = ""
    root: Name = ""
    """Of the tree, as this broker knows it; empty if it keeps no tree."""
    parent: Name = ""
    """Towards the root; empty if it is the root."""
    congested: tuple[Name, ...] = ()
    """Those of the neighbours that do not keep up with what is sent to them."""
    can_change: bool = False
    """Whether it can take part in changes of the tree: one of an older release cannot."""
    plan: str = ""
    """What it carries out for a client beside which nobody may begin a plan; else empty."""
    edges: tuple[EdgeReport, ...] = ()
    """Of a broker that chooses how its edges are routed."""
    load: LoadReport | None = None
    """None where a broker of an earlier release does not say."""


class Echo(MessageBase, frozen=True):
    """Everything behind the sender has seen a wave. Not intact: the tree changed meanwhile."""

    origin: Name
    wave: int
    session: int = 1
    intact: bool = True
    unreachable: tuple[Name, ...] = ()
    """Brokers behind the sender that the wave could not reach, the first few of them."""
    reports: tuple[BrokerReport, ...] = ()
    """Of a survey: the sender and all behind it."""


class Settled(MessageBase, frozen=True):
    """To a client: what it asked under a request number has taken effect everywhere, or not yet."""

    request: int
    settled: bool
    reason: str = ""


class Survey(MessageBase, frozen=True):
    """From a client: who is in the network, and how are they linked?"""

    request: int


class Surveyed(MessageBase, frozen=True):
    """To a client: every broker that could be reached."""

    request: int
    brokers: tuple[BrokerReport, ...]
    unreachable: tuple[Name, ...] = ()
    """The first few that could not."""


class Missed(MessageBase, frozen=True):
    """Notifications were given up on a link: some that the receiver wants may be among them."""

    count: int
    link: str
    """From which broker to which they would have gone, as ``B1-B2``."""
    filters: tuple[str, ...] = ()
    """Those of which one matches each of them; empty if anything may be among them."""


class EdgeRouting(MessageBase, frozen=True):
    """The receiver learns in this way, from here on, what to send to the sender.

    Sent where it makes a difference to the receiver: with flooding it sends everything.
    """

    routing: Name
    number: Number = 0
    """Of the switch that led to it."""


class TableComplete(MessageBase, frozen=True):
    """All that the receiver is owed has been told.

    What the sender wanted before a restart and has not told again is not wanted any more.
    """

    advertisements_only: bool = False
    """Whether only the advertisements are complete, and subscriptions are still to come."""


class ClientMoved(MessageBase, frozen=True):
    """A client's session goes on in the sender's direction: from elsewhere it is stale."""

    client: Name
    streams: int
    """How many streams it had begun before: of two messages the one with more is the later."""
    is_behind: bool = False
    """To a broker that was restarted: the client was last heard of from the receiver's side."""
    again: int = 0
    """How often the client's broker has said so: the way to it may have become another one."""
    home: Name = ""
    """The session of that broker, by which it will say so for all such clients at once."""
    is_across: bool = False
    """While the tree changes: it has crossed the link that goes, so publications will come from the
    other side in the new tree."""
    is_amid: bool = False
    """While the tree changes: the broker was locked at which it came to the ring."""


class ClientsAt(MessageBase, frozen=True):
    """All clients that moved to a home are in the sender's direction: from elsewhere it is stale.

    It is said again and again: the way there may have become another one.
    """

    home: Name
    again: int
    is_across: bool = False
    """As in `ClientMoved`."""


class Refresh(MessageBase, frozen=True):
    """What the receiver has of the sender must have these digests; if not, it asks for it.

    Sent behind everything else that was told, so that there is no doubt what they are compared
    with.
    """

    routing: Name = ""
    """How the receiver learns what to send to the sender, as `EdgeRouting` says it; of a broker."""
    subscriptions: Digest = b""
    advertisements: Digest = b""
    is_complete: bool = True
    """Whether the sender has told its whole table since its last restart, as `TableComplete`."""
    number: Number = 0
    """Of the switch that led to the routing."""


class Repeat(MessageBase, frozen=True):
    """The receiver has to tell once more what it told, or had to tell, of a table.

    Only of the buckets whose digest is another one than here, where digests are given.
    """

    table: TableName = "s"
    digests: tuple[Digest, ...] = ()
    """What the sender holds: bucket by bucket."""


class Whole(MessageBase, frozen=True):
    """All that the receiver is to have of the sender in a bucket of a table, in parts."""

    table: TableName
    entries: tuple[tuple[Name, str], ...] = ()
    """Ids and filters."""
    digest: Digest = b""
    """Of all parts together."""
    bucket: int = 0
    buckets: int = 1
    part: int = 0
    parts: int = 1


class Leaving(MessageBase, frozen=True):
    """The sender wants to leave the tree, and hand its clients over to the receiver.

    From now on the receiver keeps back what would go to the sender, and says so (`Flushed`).
    """

    change: Name
    """Broker, session and number: no two changes have the same."""
    clients: Count = 0
    """How many there are to be handed over."""


class Flushed(MessageBase, frozen=True):
    """Everything for the receiver has come: what follows is kept back for its clients."""

    change: Name


class NotAdopting(MessageBase, frozen=True):
    """The sender does not take over the clients of the receiver; its stream goes on."""

    change: Name
    reason: str = ""


class SpooledRun(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True, gc=False):
    """Frames of a client's stream that it has not acknowledged, or a part of them."""

    data: bytes | None = None
    """None: notifications that were given up."""
    frames: Count = 0
    size: Count = 0
    """Bytes that count as notifications."""
    in_doubt: bool = False
    """Given up after it was sent: perhaps it has arrived."""
    is_more: bool = False
    """Whether the next one has more of the same data, and the numbers."""


class AdoptedStream(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A client's session and its stream, as the broker that hands it over has it."""

    session: Count
    secret: str = ""
    """What the client shows to go on with the stream."""
    homes: tuple[tuple[Name, Count], ...] = ()
    """Brokers, with their sessions, at which the client may take its stream to be; the last one
    that had it first."""
    features: tuple[str, ...] = ()
    slow_policy: str = ""
    received: Count = 0
    acknowledged: Count = 0
    sent: Count = 0
    missed: Count = 0
    given_up: Count = 0
    order: Count = 0
    """What it has published and got, as far as that was recorded."""
    streams: Count = 0
    """How many streams its session had begun before."""
    away_seconds: float = 0.0
    """How long it has had no connection."""
    claimed_again: tuple[tuple[str, str], ...] | None = None
    """If another broker had lost it: what it has asked for again since, by kind and filter."""
    requests: tuple[tuple[Name, Count, str, Name], ...] = ()
    """What it waits to be told: by which machine, under which number, of which kind, under which
    id."""


class Adopt(MessageBase, frozen=True):
    """A client that is handed over, in parts of about a mebibyte: the first one has the stream."""

    change: Name
    client: Name
    stream: AdoptedStream | None = None
    claims: tuple[tuple[TableName, Name, str], ...] = ()
    """What it subscribes to and advertises: table, id and text."""
    runs: tuple[SpooledRun, ...] = ()
    is_last: bool = False


class Left(MessageBase, frozen=True):
    """All clients were handed over: the sender is not in the tree any more."""

    change: Name


class Refused(MessageBase, frozen=True):
    """To a client: something it asked or published was refused, and why.

    What it asked has a request number, what it published a sequence number.
    """

    reason: str
    request: int = 0
    sequence: int = 0


Message: TypeAlias = (
    Subscribe
    | Unsubscribe
    | Advertise
    | Unadvertise
    | Probe
    | Echo
    | Settled
    | Survey
    | Surveyed
    | Missed
    | ClientMoved
    | ClientsAt
    | EdgeRouting
    | TableComplete
    | Refresh
    | Repeat
    | Whole
    | Leaving
    | Flushed
    | NotAdopting
    | Adopt
    | Left
    | Refused
    | ChangeTree
    | TreeChangeProgress
    | TreeChangeEnded
    | Mailbox
    | MailboxAnswer
    | ChangeMessage
    | SwapMessage
    | EdgeMessage
)

CODEC: ControlCodec[Message] = ControlCodec(Message)
"""Encodes and decodes all of these."""
