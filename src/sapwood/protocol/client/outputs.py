"""What a client's session tells its application, as plain values among its effects.

Notifications are not among them: the session puts those into the inboxes of the subscriptions, and
says which of them somebody waits for (`Readable`).
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from sapwood.protocol.durable.messages import MailboxAnswer
from sapwood.protocol.messages import Surveyed
from sapwood.protocol.reconfigure.asking import TreeChangeEnded, TreeChangeProgress


class _Output(msgspec.Struct, frozen=True, gc=False):
    """What all outputs share."""


class Online(_Output, frozen=True):
    """The session is connected to a broker."""

    broker: str
    is_resumed: bool = False
    """Whether the stream goes on; else the broker knew nothing of this session."""


class Offline(_Output, frozen=True):
    """The connection was lost; another one is being looked for."""

    reason: str


class Failed(_Output, frozen=True):
    """The session is over: no broker can be reached in time, or the network refuses it."""

    reason: str
    is_refusal: bool = False
    code: str = ""
    broker: str = ""


class Closed(_Output, frozen=True):
    """The session has ended as the application wanted."""


class Accepted(_Output, frozen=True):
    """A broker has accepted all publications up to a number that it did not refuse."""

    sequence: int


class PublicationRefused(_Output, frozen=True):
    """A broker has refused a publication."""

    sequence: int
    reason: str


class Unconfirmed(_Output, frozen=True):
    """A broker was lost, and nobody knows whether it had accepted some publications."""

    first: int
    last: int


class Answered(_Output, frozen=True):
    """What was requested has taken effect everywhere, or not yet, and why."""

    request: int
    settled: bool
    reason: str = ""


class RequestRefused(_Output, frozen=True):
    """A broker has refused a request."""

    request: int
    reason: str


class Ponged(_Output, frozen=True):
    """The broker has answered a ping."""

    number: int


class Readable(_Output, frozen=True):
    """Something has come for a subscription whose reader was waiting."""

    subscription: str


class IndexWanted(_Output, frozen=True):
    """There are so many subscriptions that a match index pays (`Deliveries.use_index`)."""


Output: TypeAlias = (
    Online
    | Offline
    | Failed
    | Closed
    | Accepted
    | PublicationRefused
    | Unconfirmed
    | Answered
    | RequestRefused
    | Surveyed
    | TreeChangeProgress
    | TreeChangeEnded
    | MailboxAnswer
    | Ponged
    | Readable
    | IndexWanted
)
