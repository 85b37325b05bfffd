"""What the two ends of a connection say to each other, and to nobody else.

A connection begins with `Hello` from the side that dialled. The other side answers `Welcome`, or
`Goodbye` with a reason. After that both sides send counted frames (control messages and
notifications), and between them `Ack`, `GivenUp`, `Check`, `Ping` and `Pong`. Versions are
negotiated: a hello offers a range, and the highest version both speak is taken. Fields that a side
does not know are ignored, and every field added later has a default.

A stream of counted frames outlives its connections: a hello asks to go on with those that are
left (`Resume`).
"""

from __future__ import annotations

from hmac import compare_digest
from typing import Annotated, Final, TypeAlias

import msgspec

from sapwood.protocol.naming import Name
from sapwood.protocol.neighbours import EDGES, HOP_LEASE, MOVES, REFRESH, RESTART
from sapwood.protocol.stabilize.beacon import BEACONS, Beacon
from sapwood.routing.algorithms import ALGORITHMS, FLOODING
from sapwood.wire.control import ControlCodec
from sapwood.wire.frames import LINK

VERSIONS: Final = (1, 1)
"""The oldest and the newest protocol version spoken here."""

CHECKS: Final = "checks"
"""The feature of those who say now and then how far they are (`Check`), and compare."""

FEATURES: Final[tuple[str, ...]] = (RESTART, CHECKS, BEACONS, REFRESH, HOP_LEASE, MOVES, EDGES)
"""Optional abilities beyond the version; a side uses only what both have. Which of them a node
offers is in its settings."""

BROKER, CLIENT = "broker", "client"

COUNT_MAX: Final = 2**63 - 1
SILENCE_SECONDS_MAX: Final = 86_400.0
NEVER: Final = 0.0
"""How often tables are compared where they are not. Being the very default, it is not sent."""

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]
Session: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=SILENCE_SECONDS_MAX)]


class _LinkMessage(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """What all of them share."""


class Resume(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The sender has a stream with a session of a broker, and got so many frames of it."""

    broker: Name
    session: Session
    received: Count
    secret: str = ""
    """What the broker's `Welcome` gave: it proves that the stream is the sender's."""


class JournalMark(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How far the journal of a broker has come to the sender."""

    broker: Name
    epoch: str
    """The name of the journal: a new one begins with 0."""
    number: Count
    """Of the last notification from it that the sender has on disk."""


class Hello(_LinkMessage, frozen=True, kw_only=True):
    """The side that dialled says who it is."""

    role: str
    network: str
    id: Name
    session: Session
    versions: tuple[int, int] = msgspec.field(default_factory=lambda: VERSIONS)
    """The oldest and the newest that the sender speaks. Always sent: what a default means would
    change with the release."""
    features: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    """Under which a broker can be reached, if any."""
    credentials: dict[str, str] = {}
    """By kind. Known so far: ``token``; ``account`` and ``secret``."""
    routing: str = ""
    """Of a broker: how it learns and tells what is wanted (`said_routing`)."""
    resume: tuple[Resume, ...] = ()
    """All streams of the sender. It may not know yet whom it has dialled, and the other side goes
    on with its own. Those that cannot go on are named with a count that none has: of a broker,
    those that have a connection; of a client, those that have ended."""
    expected: tuple[Name, ...] = ()
    """Of a broker: the neighbours that its session before this one had to the end. It waits for
    them before it takes part."""
    former: Count = 0
    """Of a broker: the number of that session; 0 if it is not known."""
    credit: Count = 0
    """How many bytes of notifications may come over this connection before the next `Ack`."""
    silence: Seconds = 0.0
    """After how many seconds without a frame the sender takes this connection for dead."""
    refresh: Seconds = NEVER
    """Of a broker: how often it compares tables, in seconds."""
    tree: dict[Name, str] = {}
    """Of a broker: all with whom it has a link of the tree, or had one before it was restarted, and
    whether each is its parent or its child, if that has not changed since."""
    is_open: bool = False
    """Of a broker: whether it has had no parent since it was started, so that whoever was its
    parent before may go on as such."""
    slow_policy: str = ""
    """Of a client: what to do when it does not keep up; empty for the broker's default."""
    order: Count = 0
    """Of a client: how much this session has published and got so far, in its own order."""
    streams: Count = 0
    """Of a client: how many streams this session may have begun before, at whichever brokers."""
    is_astray: bool = False
    """Of a client: whether a broker may ever have begun one without its being known here."""
    durable: str = ""
    """Reserved: the name of a durable subscription."""
    journal: str = ""
    """Of a broker that keeps a journal: its name."""
    kept: tuple[JournalMark, ...] = ()
    """Of such a broker: how far the journals of its neighbours have come. It may not know yet whom
    it has dialled."""


class Welcome(_LinkMessage, frozen=True, kw_only=True):
    """The other side agrees."""

    id: Name
    session: Session
    version: int
    features: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    resumed: Count | None = None
    """If the stream goes on: how many of its frames came here. Else both begin anew."""
    credit: Count = 0
    silence: Seconds = 0.0
    in_tree: bool = True
    """To a broker: whether the link is part of the tree."""
    is_held: bool = False
    """To a broker: whether it is not to carry anything yet, though it is."""
    place: str = ""
    """To a broker: whether it is the parent or the child of the sender, if that is certain."""
    advertisements_required: bool = False
    secret: str = ""
    """To be shown when the stream is resumed: a name alone proves nothing."""
    routing: str = ""
    """To a broker: how the sender learns and tells what is wanted (`said_routing`)."""
    refresh: Seconds = NEVER
    """To a broker: how often the sender compares tables, in seconds. To a client: how often the
    client has to say what it subscribes to."""
    is_expected: bool = False
    """To a broker: whether it was a neighbour of the sender's session before, to the end."""
    former: Count = 0
    """To a broker: the number of that session; 0 if it is not known."""
    journal: str = ""
    """Of a broker that keeps a journal: its name."""
    kept: JournalMark | None = None
    """To a broker with a journal: how far that has come."""
    published: Count | None = None
    """To a client, of a broker that keeps a journal: the number of the last publication of the
    client that is in it. What comes behind that one the broker has never taken."""


class Goodbye(_LinkMessage, frozen=True):
    """The last message of a connection: why it ends, as a word for programs and a text."""

    code: str
    reason: str = ""
    broker: Name = ""
    """Of a refusal because there is a connection already: the id of the broker that says so. Of a
    move: the broker at which the stream goes on."""
    lost: Annotated[int, msgspec.Meta(ge=-1, le=COUNT_MAX)] = -1
    """Of a shutdown: notifications for the receiver that end with the sender; -1 if not known.
    Whatever the sender has not acknowledged by now it has not looked at."""
    addresses: tuple[str, ...] = ()
    """Of a move: where the broker named here can be dialled."""


class Ack(_LinkMessage, frozen=True):
    """So many frames of the stream were taken over, and so much may come over the connection.

    Both only grow. `credit` is the total of notification bytes since the connection began.
    """

    received: Count
    credit: Count


class GivenUp(_LinkMessage, frozen=True):
    """The next so many frames of the stream were notifications that are not coming."""

    count: Count


class Check(_LinkMessage, frozen=True):
    """So many frames of the stream, and bytes that need credit, were sent before this.

    It comes with exactly the frames before it, so the receiver must have counted the same. If
    not, one of the two has a wrong count, and nobody knows which.
    """

    sent: Count
    spent: Count
    refresh: Seconds = NEVER
    """To a client, where a time is stated in which faults are healed: how often it has to say what
    it subscribes to from now on. That follows from delays, which are measured all the time."""


class Ping(_LinkMessage, frozen=True):
    """Are you there?"""

    number: Count = 0


class Pong(_LinkMessage, frozen=True):
    """Yes."""

    number: Count = 0


LinkMessage: TypeAlias = Hello | Welcome | Goodbye | Ack | GivenUp | Check | Ping | Pong | Beacon

LINK_CODEC: ControlCodec[LinkMessage] = ControlCodec(LinkMessage, LINK)

LEAVING, SHUTDOWN = "leaving", "shutdown"
"""Codes of a goodbye: the sender goes for good; it may come back."""

MOVED = "moved"
"""Code of a goodbye to a client: its stream goes on at another broker, perhaps only in a moment.
Whatever the sender has not acknowledged it has not looked at."""

ADOPTED = "adopted"
"""Code of a goodbye to a broker that leaves: its clients are at the sender now."""

NO_COMMON_VERSION = "no-common-version"
WRONG_NETWORK = "wrong-network"
BAD_CREDENTIALS = "bad-credentials"
ID_IN_USE = "id-in-use"
WRONG_ROUTING = "wrong-routing"
PROTOCOL = "protocol-broken"
SLOW_CONSUMER = "slow-consumer"
SILENT = "silent"
BUSY = "busy"
AMID_CHANGE: Final = "a change of the tree that it was part of has not ended here; try again"
REPLACED = "replaced"
ALREADY_LINKED = "already-linked"
OUTSIDE_TREE = "outside-tree"
"""The link is no part of the tree any more; it may be begun anew, as a candidate."""
RENEGOTIATE = "renegotiate"
"""Code of a goodbye: the sender does not know any more what was agreed on in the handshake, so it
wants another one; the stream goes on."""
CONTRADICTION = "contradiction"
"""Code of a goodbye: the two sides of the stream contradict each other, so both begin a new one."""

FINAL_CODES: Final = frozenset(
    {NO_COMMON_VERSION, WRONG_NETWORK, BAD_CREDENTIALS, ID_IN_USE, WRONG_ROUTING}
)
"""Reasons that do not go away by trying again."""


def claimed_name(hello: Hello) -> str:
    """What somebody would be called here, whether their id can be a name or not."""
    return hello.id if hello.role == BROKER else f"{hello.id}.{hello.session}"


def common_version(offered: tuple[int, int], spoken: tuple[int, int] = VERSIONS) -> int | None:
    """The newest version that both sides speak, if there is one."""
    newest = min(offered[1], spoken[1])
    return newest if newest >= max(offered[0], spoken[0]) else None


def common_features(offered: tuple[str, ...], own: tuple[str, ...] = FEATURES) -> tuple[str, ...]:
    """The optional abilities that both sides have."""
    return tuple(name for name in own if name in offered)


_FOLLOWS_TREE: Final = "hierarchical/"


def said_routing(algorithm: str, *, is_hierarchical: bool) -> str:
    """How a broker routes, in one word.

    A release that knows nothing of hierarchical routing refuses the word, as it has to: it would
    not ask others for what it is to send here.
    """
    return f"{_FOLLOWS_TREE}{algorithm}" if is_hierarchical else algorithm


def algorithm_of(routing: str) -> str:
    """The algorithm in the word for how a broker routes."""
    return routing.removeprefix(_FOLLOWS_TREE)


def refusal(hello: Hello, *, network: str, token: str, routing: str) -> Goodbye | None:
    """Why whoever says this hello is not welcome, if so."""
    if common_version(hello.versions) is None:
        theirs, ours = ("-".join(map(str, span)) for span in (hello.versions, VERSIONS))
        return Goodbye(
            NO_COMMON_VERSION,
            f"no common protocol version: you speak {theirs}, this broker {ours}; "
            "upgrade the older of the two",
        )
    if hello.network != network:
        return Goodbye(
            WRONG_NETWORK,
            f"this is network {network!r}, not {hello.network!r}; "
            "give the right address or the right network name",
        )
    shown = hello.credentials.get("token", "")
    if token and not compare_digest(shown.encode(), token.encode()):
        return Goodbye(BAD_CREDENTIALS, "the token is missing or wrong; give this network's token")
    algorithm = algorithm_of(hello.routing)
    if hello.role == BROKER and algorithm and algorithm not in ALGORITHMS:
        return Goodbye(
            WRONG_ROUTING,
            f"no routing {hello.routing!r} is known here; "
            f"start the broker with --routing {routing}",
        )
    if hello.role == BROKER and (algorithm == FLOODING) != (routing == FLOODING):
        return Goodbye(
            WRONG_ROUTING,
            f"this network routes by {routing}, not by {hello.routing}; flooding does not go "
            f"together with others: start the broker with --routing {routing}",
        )
    return None
