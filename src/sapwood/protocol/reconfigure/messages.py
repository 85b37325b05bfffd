"""The messages of a change of the tree: what is asked, the waves round the ring, how it ended.

A change replaces one link of the tree by another. Its *ring* is the path between the ends of the
new link, and the new link. All messages go hop by hop over links of the ring, in order with
notifications; a change is named ``<broker>.<session>/<count>`` by the broker that begins it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from sapwood.protocol.naming import MessageBase, Name

Lines: TypeAlias = tuple[tuple[Name, str], ...]
"""Entries of a table: ids, and the texts of filters."""

Kind: TypeAlias = Literal["exchange", "swap"]
"""What is asked for: any exchange of links, or one in which the links share an end."""

Outcome: TypeAlias = Literal["completed", "undone", "refused"]
"""How a change ended: the new tree, the old one after something was locked, or nothing begun."""

COMPLETED: Outcome = "completed"
UNDONE: Outcome = "undone"
REFUSED: Outcome = "refused"


class EdgeChange(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """How what was told over an edge differs from what holds in the new tree."""

    added: Lines = ()
    removed: tuple[Name, ...] = ()


class EdgeTables(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The same for both tables of an edge."""

    advertisements: EdgeChange = EdgeChange()
    subscriptions: EdgeChange = EdgeChange()


class Way(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The way to the root as it is in the new tree: what a beacon of the sender will say then."""

    root: Name = ""
    priority: int = 0
    age: float = 0.0
    path: tuple[Name, ...] = ()
    """From the root to the sender."""
    delay_tree: float = 0.0


# Asking


class BeginChange(MessageBase, frozen=True):
    """On its way over the tree to the broker that is to begin a change."""

    asker: Name
    request: int
    """The asker's number of it."""
    path: tuple[Name, ...]
    """The ring, beginning with the receiver at the end of the way."""
    k: int
    """How many of the path are on its side of the old link."""
    route: tuple[Name, ...] = ()
    """The way there, from the asker to the first of the path."""
    back: tuple[Name, ...] = ()
    """The way from there to the asker in the new tree."""
    addresses: tuple[str, ...] = ()
    """Where the last of the path can be dialled."""


class ChangeEnded(MessageBase, frozen=True):
    """To whoever asked for a change: how it ended."""

    asker: Name
    request: int
    outcome: Outcome
    reason: str = ""
    change: Name = ""
    """Its name; empty if nothing was begun."""
    ring: tuple[Name, ...] = ()
    old: tuple[Name, ...] = ()
    """The two ends of the link that it removes."""
    messages: int = 0
    """What the waves of a change with such a ring take; paints come on top."""
    seconds: float = 0.0
    """From the request to the end of it at the broker that began it."""
    route: tuple[Name, ...] = ()
    """The way to the asker."""


class LeaveTree(MessageBase, frozen=True):
    """On its way over the tree to a broker that is to hand its clients over and end."""

    request: int
    """The asker's number of it."""
    route: tuple[Name, ...]
    """The way there, from the asker."""


# Waves


class Prepare(MessageBase, frozen=True):
    """Nothing is locked yet: the last of the path is to dial the first, which cannot dial it."""

    change: Name
    path: tuple[Name, ...]
    addresses: tuple[str, ...] = ()
    """Where the first of the path can be dialled."""


class TablePart(MessageBase, frozen=True):
    """Part of tables that are too large for one frame; the message behind has the rest."""

    change: Name
    tables: EdgeTables


class Lock(MessageBase, frozen=True):
    """The receiver takes part in a change; beyond the old link it brings the table from there."""

    change: Name
    path: tuple[Name, ...]
    k: int
    root: Name = ""
    """Of the tree, as the sender knows it; empty if it keeps no tree."""
    way: tuple[Name, ...] = ()
    """From the root to the sender."""
    is_root_left: bool | None = None
    """On which side of the old link the root is; known from the old link on."""
    tables: EdgeTables | None = None
    moved: tuple[Name, ...] = ()
    """Beyond the old link: where clients that moved are whose publications came over it."""


class Collect(MessageBase, frozen=True):
    """What the sender owes the receiver in the new tree, on the side of the initiator."""

    change: Name
    tables: EdgeTables = EdgeTables()
    is_root_left: bool | None = None
    moved: tuple[Name, ...] = ()
    """As in `Lock`."""


class Offer(MessageBase, frozen=True):
    """Over the new link: what the last of the path owes the first. From here on it is held."""

    change: Name
    tables: EdgeTables = EdgeTables()
    way: Way = Way()


class Accept(MessageBase, frozen=True):
    """Over the new link: what the first of the path owes the last. From here on it is held."""

    change: Name
    tables: EdgeTables = EdgeTables()
    way: Way = Way()


class Turn(MessageBase, frozen=True):
    """The sender has turned to the new tree, and owes the receiver this in it."""

    change: Name
    tables: EdgeTables = EdgeTables()
    way: Way = Way()


class Flush(MessageBase, frozen=True):
    """All that crosses the old link and comes to the receiver is before this."""

    change: Name


class Paint(MessageBase, frozen=True):
    """The notifications that follow belong to the new tree, or to the old one."""

    change: Name
    is_gray: bool = False


# Faults


class Undo(MessageBase, frozen=True):
    """A change is undone, or refused by somebody who is to take part."""

    change: Name
    reason: str = ""


class Ask(MessageBase, frozen=True):
    """How did a change end? It has taken too long."""

    change: Name


class Done(MessageBase, frozen=True):
    """A change was completed."""

    change: Name


ChangeMessage: TypeAlias = (
    BeginChange
    | ChangeEnded
    | LeaveTree
    | Prepare
    | TablePart
    | Lock
    | Collect
    | Offer
    | Accept
    | Turn
    | Flush
    | Paint
    | Undo
    | Ask
    | Done
)
