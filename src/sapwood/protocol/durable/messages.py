"""What clients and brokers say about durable subscriptions.

One question with an action, and one answer: `open` begins a durable subscription or finds it,
`status` says how far it is, `read` gives what is there from a position on, `commit` says that
everything before a position was read, `drop` ends it, `list` names all. A `read` or `status` for
what is not there yet waits: that is a long poll.

A position counts the notifications of a durable subscription from 0, in one *epoch*: the number of
the subscription itself, which never comes again. Both together are an offset that can be kept
anywhere.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from sapwood.protocol.naming import MessageBase, Name

Action: TypeAlias = Literal["open", "status", "read", "commit", "drop", "list"]

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Mailbox(MessageBase, frozen=True, kw_only=True):
    """From a client: something about a durable subscription."""

    request: Count
    action: Action
    name: Name = ""
    filter: str = ""
    """To open: what is wanted. Empty: only find it."""
    epoch: Count = 0
    """Which life of the subscription is meant; zero for the present one."""
    position: Count = 0
    """To read: from where on. To see the status: answer when something is behind this one."""
    committed: Count = 0
    """To read or commit: everything before this one was read."""
    size: Count = 2**18
    """To read: about how many bytes to send."""
    wait: Annotated[float, msgspec.Meta(ge=0.0, le=3600.0)] = 0.0
    """Seconds to wait for something to be there."""


class MailboxState(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A durable subscription as it is."""

    name: Name
    filter: str
    epoch: Count
    first: Count = 0
    """The position of the oldest notification that is there."""
    committed: Count = 0
    next: Count = 0
    """The position behind the last one that can be read."""
    size: Count = 0
    """Bytes that are kept."""
    owner: Name = ""
    """The account of whoever opened it; empty without accounts."""
    unused_seconds: float = 0.0
    lost: Count = 0
    """Notifications that were given up unread."""


class MailboxAnswer(MessageBase, frozen=True, kw_only=True):
    """To a client: the answer to what it asked about durable subscriptions."""

    request: Count
    mailboxes: tuple[MailboxState, ...] = ()
    """The one that was asked about, or all."""
    first: Count = 0
    """Of what was read: the position of the first notification. If it is behind the one that was
    asked for, those between were given up."""
    count: Count = 0
    data: bytes = b""
    """The notifications, as frames."""
