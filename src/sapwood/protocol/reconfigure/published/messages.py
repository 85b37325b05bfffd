"""What machines of the published ways are told, tell each other, and ask of their driver."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from sapwood.filters.values import Value
from sapwood.protocol.reconfigure.published.changes import Change


class _Value(msgspec.Struct, frozen=True, gc=False):
    """What all messages, events and effects share."""


# Messages of every broker


class Notification(_Value, frozen=True):
    """A notification, and how many links it has passed: on a ring nothing else would end it."""

    publisher: str
    sequence: int
    attributes: dict[str, Value]
    hops: int = 0
    gray: bool = False
    """Link exchange: the colour it got where it entered the ring."""


class Carried(_Value, frozen=True):
    """A notification with something written on it, for those who take part in a change."""

    notification: Notification


class Subscribe(_Value, frozen=True):
    """Somebody beyond the sender wants what a filter matches."""

    key: str
    filter: str
    gray: bool = False
    relayed: bool = False
    """Link exchange: to be taken as if it had come over the new link."""


class Unsubscribe(_Value, frozen=True):
    """Nobody beyond the sender wants it any more."""

    key: str
    gray: bool = False
    relayed: bool = False


Routed: TypeAlias = Notification | Subscribe | Unsubscribe
"""What routing is about; everything else coordinates."""


# Events


class Received(_Value, frozen=True):
    """A message from another broker."""

    source: str
    message: msgspec.Struct


class ClientSubscribed(_Value, frozen=True):
    """A client of this broker subscribes."""

    client: str
    filter: str


class ClientUnsubscribed(_Value, frozen=True):
    """A client of this broker gives a subscription up."""

    client: str
    filter: str


class ClientPublished(_Value, frozen=True):
    """A client of this broker publishes."""

    client: str
    sequence: int
    attributes: dict[str, Value]


class ChangeAsked(_Value, frozen=True):
    """Somebody wants the tree changed, and this broker is one of those who are told."""

    change: Change


class Tick(_Value, frozen=True):
    """Time has passed."""


Event: TypeAlias = (
    Received | ClientSubscribed | ClientUnsubscribed | ClientPublished | ChangeAsked | Tick
)


# Effects


class Send(_Value, frozen=True):
    """Send a message to a broker, over their link or past it."""

    destination: str
    message: msgspec.Struct
    out_of_band: bool = False
    """Not over a link: the papers assume that any broker can reach any other."""


class Deliver(_Value, frozen=True):
    """Hand a notification to a client of this broker."""

    client: str
    notification: Notification


class Waited(_Value, frozen=True):
    """A notification was held back so long."""

    seconds: float


Effect: TypeAlias = Send | Deliver | Waited

CLIENT = "@"
"""The first sign of a destination that is a client: no broker is called so."""
