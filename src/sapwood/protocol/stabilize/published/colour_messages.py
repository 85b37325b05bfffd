"""What coloured trees are told, tell each other, and ask of their driver (thesis 4.5.3).

A colour is 0, 1 or 2. Subscriptions, unsubscriptions and notifications carry the colour of the
topology they travel over, and how many links they have passed: on an overlay with a cycle nothing
else would end their journey.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from sapwood.filters.values import Value

COLORS = 3


class _Value(msgspec.Struct, frozen=True, gc=False):
    """What all messages, events and effects share."""


class Change(_Value, frozen=True):
    """A broker gets another parent; without a new one it leaves, being a leaf."""

    broker: str
    old_parent: str
    new_parent: str


# Messages between brokers


class Recolor(_Value, frozen=True):
    """The colours rotate; the new one is named (RECmsg, algorithms 9 and 10)."""

    color: int
    changes: tuple[Change, ...] = ()
    path: tuple[str, ...] = ()
    """From the root to the sender. Not in the print: empty there."""


class Acknowledge(_Value, frozen=True):
    """A child has got the recolour message (ACKmsg, algorithm 11)."""


class AskForPlace(_Value, frozen=True):
    """A broker looks for a parent (algorithm 14)."""


class Place(_Value, frozen=True):
    """The answer: be my child (algorithm 15). The print has nothing in it."""

    old: int = 0
    current: int = 1
    new: int = 2
    path: tuple[str, ...] = ()
    """From the root to the sender."""


class TryThere(_Value, frozen=True):
    """The answer: I have as many children as I may, ask this one of them (algorithm 15)."""

    broker: str


class NoPlace(_Value, frozen=True):
    """The answer, corrected: not here, for I am not in the tree myself, or below you."""


class Connect(_Value, frozen=True):
    """As printed: I am your child from now on (algorithm 14, line 22)."""


class Removed(_Value, frozen=True):
    """Corrected: you are not my child any more, for you did not acknowledge."""


class Reign(_Value, frozen=True):
    """Within the root group: I am the root."""


class RequestChange(_Value, frozen=True):
    """To the root: change the tree."""

    change: Change


class Rejected(_Value, frozen=True):
    """From the root: this change contradicts another one."""

    change: Change


class ColoredSubscribe(_Value, frozen=True):
    """A subscription, or the same again to refresh it."""

    color: int
    id: str
    filter: str
    hops: int = 0


class ColoredUnsubscribe(_Value, frozen=True):
    """A subscription is given up."""

    color: int
    id: str
    hops: int = 0


class ColoredNotification(_Value, frozen=True):
    """A notification, over the topology that was current at its publisher's broker."""

    color: int
    publisher: str
    sequence: int
    attributes: dict[str, Value]
    hops: int = 0


Message: TypeAlias = (
    Recolor
    | Acknowledge
    | AskForPlace
    | Place
    | TryThere
    | NoPlace
    | Connect
    | Removed
    | Reign
    | RequestChange
    | Rejected
    | ColoredSubscribe
    | ColoredUnsubscribe
    | ColoredNotification
)


# Events


class Received(_Value, frozen=True):
    """A message from another broker."""

    source: str
    message: Message


class Tick(_Value, frozen=True):
    """Time has passed."""


class ClientSubscribed(_Value, frozen=True):
    """A client of this broker subscribes, or refreshes."""

    client: str
    id: str
    filter: str
    is_refresh: bool = False


class ClientUnsubscribed(_Value, frozen=True):
    """A client of this broker gives a subscription up."""

    client: str
    id: str


class ClientPublished(_Value, frozen=True):
    """A client of this broker publishes."""

    client: str
    sequence: int
    attributes: dict[str, Value]


class ChangeRequested(_Value, frozen=True):
    """Somebody wants the tree changed."""

    change: Change


Event: TypeAlias = (
    Received | Tick | ClientSubscribed | ClientUnsubscribed | ClientPublished | ChangeRequested
)


# Effects


class Send(_Value, frozen=True):
    """Send a message to a broker; any broker can reach any other, as the thesis assumes."""

    destination: str
    message: Message


class Deliver(_Value, frozen=True):
    """Hand a notification to a client of this broker."""

    client: str
    notification: ColoredNotification


Effect: TypeAlias = Send | Deliver
