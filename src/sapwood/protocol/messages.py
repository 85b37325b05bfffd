"""Every control message between brokers, and between a broker and its clients.

Brokers and clients speak of subscriptions in the same words. A ``request`` number asks to be told
when the matter has taken effect everywhere; zero asks for nothing. Fields are optional where a
later release may leave them out, and new ones get defaults: a lease of its own is such.
Notifications are no messages of this kind: they stay bytes (see ``sapwood.wire.frames``).
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from sapwood.wire.control import ControlCodec

NAME_CHARS_MAX = 1024
"""Longest id that is taken from outside, so that tables hold no megabytes under one key."""

Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=NAME_CHARS_MAX)]

TableName: TypeAlias = Literal["s", "a"]
"""Subscriptions or advertisements."""

Digest: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=16)]
"""Of lines of a table; empty if there are none."""


class _Message(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """What all messages share."""


class Subscribe(_Message, frozen=True):
    """The sender wants notifications that match a filter, under an id of its choice.

    Under an id it has used already, the new filter takes the place of the old one.
    """

    id: Name
    filter: str
    request: int = 0
    lease: float = 0.0
    """Seconds for which it holds unless it is renewed, where leases are in use; zero: as set."""


class Unsubscribe(_Message, frozen=True):
    """The sender no longer wants what it subscribed to under an id."""

    id: Name
    request: int = 0


class Advertise(_Message, frozen=True):
    """From the sender's side, notifications that match a filter may come."""

    id: Name
    filter: str
    request: int = 0
    lease: float = 0.0
    """Seconds for which it holds unless it is renewed, where leases are in use; zero: as set."""


class Unadvertise(_Message, frozen=True):
    """What was advertised under an id will not come any more."""

    id: Name
    request: int = 0


class Probe(_Message, frozen=True):
    """A wave goes out over the tree: pass it on, and answer when all behind you have answered.

    Waves of one broker are told apart by its session and their count, and both only grow.
    """

    origin: Name
    wave: int
    session: int = 1
    survey: bool = False
    """Whether every broker is to report about itself in the echo."""


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


class Echo(_Message, frozen=True):
    """Everything behind the sender has seen a wave. Not intact: the tree changed meanwhile."""

    origin: Name
    wave: int
    session: int = 1
    intact: bool = True
    unreachable: tuple[Name, ...] = ()
    """Brokers behind the sender that the wave could not reach, the first few of them."""
    reports: tuple[BrokerReport, ...] = ()
    """Of a survey: the sender and all behind it."""


class Settled(_Message, frozen=True):
    """To a client: what it asked under a request number has taken effect everywhere, or not yet."""

    request: int
    settled: bool
    reason: str = ""


class Survey(_Message, frozen=True):
    """From a client: who is in the network, and how are they linked?"""

    request: int


class Surveyed(_Message, frozen=True):
    """To a client: every broker that could be reached."""

    request: int
    brokers: tuple[BrokerReport, ...]
    unreachable: tuple[Name, ...] = ()
    """The first few that could not."""


class Missed(_Message, frozen=True):
    """Notifications were given up on a link: some that the receiver wants may be among them."""

    count: int
    link: str
    """From which broker to which they would have gone, as ``B1-B2``."""
    filters: tuple[str, ...] = ()
    """Those of which one matches each of them; empty if anything may be among them."""


class EdgeRouting(_Message, frozen=True):
    """The receiver learns in this way, from here on, what to send to the sender.

    Sent where it makes a difference to the receiver: with flooding it sends everything.
    """

    routing: Name


class TableComplete(_Message, frozen=True):
    """All that the receiver is owed has been told.

    What the sender wanted before a restart and has not told again is not wanted any more.
    """

    advertisements_only: bool = False
    """Whether only the advertisements are complete, and subscriptions are still to come."""


class ClientMoved(_Message, frozen=True):
    """A client's session goes on in the sender's direction: from elsewhere it is stale."""

    client: Name
    streams: int
    """How many streams it had begun before: of two messages the one with more is the later."""
    is_behind: bool = False
    """To a broker that was restarted: the client was last heard of from the receiver's side."""


class Refresh(_Message, frozen=True):
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


class Repeat(_Message, frozen=True):
    """The receiver has to tell once more what it told, or had to tell, of a table.

    Only of the buckets whose digest is another one than here, where digests are given.
    """

    table: TableName = "s"
    digests: tuple[Digest, ...] = ()
    """What the sender holds: bucket by bucket."""


class Whole(_Message, frozen=True):
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


class Refused(_Message, frozen=True):
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
    | EdgeRouting
    | TableComplete
    | Refresh
    | Repeat
    | Whole
    | Refused
)

CODEC: ControlCodec[Message] = ControlCodec(Message)
"""Encodes and decodes all of these."""
