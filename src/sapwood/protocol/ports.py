"""The door between a driver and a node, or a client's session.

A driver moves bytes and decides nothing: it brings these events, and does all effects of one event,
in order, before it brings the next. It brings a `Tick` when the `deadline` of the machine has
come, and every `TICK_SECONDS` in any case, so that no deadline can be lost for ever.

Before every regular `Tick` it says which connections hold bytes that the other side has not read
(`Unsent`).

Connections are numbered by the driver, attempts to dial by the machine. An effect that a driver
does not know is for whoever started the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from sapwood.protocol.events import ChangeRequested, Tick
from sapwood.protocol.reconfigure.messages import ChangeEnded

TICK_SECONDS: Final = 0.5
"""Longest time between two ticks."""


class _Event(msgspec.Struct, frozen=True, gc=False):
    """What all events share."""


class Connected(_Event, frozen=True):
    """A connection is there: somebody dialled, or an attempt of ours succeeded."""

    connection: int
    dial: int = 0
    """The number of the attempt; zero if the other side dialled."""
    address: str = ""
    """Of the other end, for people to read."""
    certificate: tuple[str, ...] | None = None
    """The names in the certificate that the other end showed and a trusted authority signed."""


class Data(_Event, frozen=True):
    """Bytes came over a connection."""

    connection: int
    data: bytes


class Disconnected(_Event, frozen=True):
    """A connection is gone, whoever ended it."""

    connection: int
    reason: str = ""


class DialFailed(_Event, frozen=True):
    """An attempt to dial did not lead to a connection."""

    dial: int
    reason: str
    is_final: bool = False
    """Whether it will fail again, as with a certificate that is not trusted."""


class Unsent(_Event, frozen=True):
    """Bytes that were written to a connection and have not left: the other side does not read."""

    connection: int
    size: int


class SecretVerified(_Event, frozen=True):
    """Whether the secret that somebody showed over a connection is right (`VerifySecret`)."""

    connection: int
    is_right: bool


class Reload(_Event, frozen=True):
    """Settings have changed that can while a node is running: `RELOADABLE` of `NodeConfig`."""

    config: Any
    """A `NodeConfig`, of which the rest is not looked at."""


class Synced(_Event, frozen=True):
    """What was written into the journal is on disk, up to a position (`Sync`)."""

    position: int


class Fetched(_Event, frozen=True):
    """What was asked for is here (`Fetch`)."""

    request: int
    data: bytes


class DropMailbox(_Event, frozen=True):
    """End a durable subscription, with all that is kept for it."""

    name: str


class Stop(_Event, frozen=True):
    """End in an orderly way; the last effect will be `Stopped`."""


DriverEvent: TypeAlias = (
    Connected
    | Data
    | Disconnected
    | DialFailed
    | Unsent
    | SecretVerified
    | Synced
    | Fetched
    | DropMailbox
    | Tick
    | Reload
    | Stop
    | ChangeRequested
)


class _Effect(msgspec.Struct, frozen=True, gc=False):
    """What all effects share."""


class Write(_Effect, frozen=True):
    """Send bytes over a connection."""

    connection: int
    data: bytes


class Close(_Effect, frozen=True):
    """End a connection when everything written has gone out, or the patience is over."""

    connection: int
    reason: str = ""


class Abort(_Effect, frozen=True):
    """End a connection at once."""

    connection: int
    reason: str = ""


class Dial(_Effect, frozen=True):
    """Connect to an address; answer with `Connected` or `DialFailed`."""

    dial: int
    address: str


class VerifySecret(_Effect, frozen=True):
    """See whether a secret belongs to one of some hashes (`sapwood.protocol.hashing.is_right`).

    That takes a while, so it is done beside everything else. Answer with `SecretVerified`.
    """

    connection: int
    hashes: tuple[str, ...]
    secret: str


class Append(_Effect, frozen=True):
    """Write bytes at the end of the journal; nobody relies on them before they are `Synced`."""

    data: bytes
    segment: int = 0
    """If the bytes begin a segment: its number; else they go behind the last ones."""


class Sync(_Effect, frozen=True):
    """Bring all that was written to disk; answer with `Synced` and the position given here."""

    position: int


class Fetch(_Effect, frozen=True):
    """Read back some bytes of a segment, behind all that was written; answer with `Fetched`."""

    request: int
    segment: int
    start: int
    end: int


class Trim(_Effect, frozen=True):
    """Remove the segments of the journal before this one, which is on disk."""

    segment: int


class Row(_Effect, frozen=True):
    """Write a row into the trace, or one for each notification in a run of frames."""

    at: float
    kind: str
    fields: dict[str, Any]
    data: bytes = b""
    first: int = 0
    """How many frames of the data are left out before."""
    end: int = 2**62
    """The number of the frame before which the run ends; by default behind the last."""
    size: int | None = None
    """About how many bytes the run has, if it is but a part of the data."""


class ClientOrder(_Effect, frozen=True):
    """A client begins here, with so much published and received elsewhere; None: it has left."""

    client: str
    order: int | None


class Joined(_Effect, frozen=True):
    """The broker behind an address that was to be joined is linked."""

    address: str


class JoinFailed(_Effect, frozen=True):
    """An attempt to join did not succeed; another one follows unless this is final."""

    address: str
    reason: str
    code: str = ""
    is_final: bool = False


class Remember(_Effect, frozen=True):
    """Keep for the next start who the neighbours in the tree are."""

    neighbours: tuple[str, ...]
    sessions: tuple[int, ...] = ()
    """Of each of them, in the same order: whatever an older one had kept ended with it."""
    parent: str = ""
    """Which of them is the parent; empty if this broker is the root."""


class ChangeAnswered(_Effect, frozen=True):
    """A change of the tree that the driver asked for (`ChangeRequested`) has ended."""

    answer: ChangeEnded


class Hint(msgspec.Struct, frozen=True):
    """Where a broker could be reached, as it was heard some time ago."""

    broker: str
    addresses: tuple[str, ...]
    age: float
    """How long ago, in seconds."""


class RememberBook(_Effect, frozen=True):
    """Keep for the next start where other brokers can be reached, in place of what was kept."""

    hints: tuple[Hint, ...]


class Restart(_Effect, frozen=True):
    """Begin a new session in the same process: end all connections, and drive a new machine.

    The state of this one is impossible, and to build it anew from what it holds did not help.
    """

    reason: str


Level: TypeAlias = Literal["debug", "info", "warning", "error"]


class Note(_Effect, frozen=True):
    """Write something into the log that an operator reads, if one is kept (`NodeConfig.noting`)."""

    level: Level
    event: str
    """What happened, in a word or two, always the same for the same kind of thing."""
    fields: dict[str, Any]


class Stopped(_Effect, frozen=True):
    """Everything has been said; the process may end."""


DriverEffect: TypeAlias = (
    Write
    | Close
    | Abort
    | Dial
    | VerifySecret
    | Append
    | Sync
    | Fetch
    | Trim
    | Row
    | ClientOrder
    | Joined
    | JoinFailed
    | Remember
    | ChangeAnswered
    | RememberBook
    | Restart
    | Note
    | Stopped
)


class Machine(Protocol):
    """What a driver drives: a broker's node, or a client's session."""

    deadline: float
    """When the next `Tick` is wanted at the latest; infinite if any time will do."""

    def receive(self, connection: int, data: bytes, now: float) -> Sequence[object]:
        """Take what came over a connection: `handle` with `Data`, without an object for it."""

    def handle(self, event: DriverEvent, now: float) -> Sequence[object]:
        """Take an event; what the driver has to do because of it, in order.

        Effects other than those of this module are handed on to whoever started the driver.
        """
