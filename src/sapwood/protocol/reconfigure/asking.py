"""What a client asks of the tree, and what it is answered.

The broker that a client is connected to carries out what it asks (``conducting``): it looks at the
network, plans the steps, and tells how far it is. If that broker is lost meanwhile, steps that were
begun end by themselves, and nobody begins the others: the client is told that it cannot be known
how far it went. So nothing is asked again by itself.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from sapwood.protocol.naming import MessageBase, Name
from sapwood.protocol.reconfigure.messages import Outcome

EXCHANGE: Literal["exchange"] = "exchange"
SWAP: Literal["swap"] = "swap"
REMOVE: Literal["remove"] = "remove"
PLAN: Literal["plan"] = "plan"

Wish: TypeAlias = Literal["exchange", "swap", "remove", "plan"]
"""One link for another; the same with a shared end; a broker is to leave; a whole tree."""

JobOutcome: TypeAlias = Literal["completed", "undone", "refused", "stopped"]
"""How it ended; stopped: after some steps, of which the tree is the result."""


class StepReport(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """How one step ended: a link exchanged for another, or a broker that left."""

    outcome: Outcome
    reason: str = ""
    change: Name = ""
    """Its name; empty if nothing was begun."""
    ring: tuple[Name, ...] = ()
    """The brokers that took part."""
    old: tuple[Name, ...] = ()
    """The ends of the link that goes; of a broker that leaves, it and the one that takes over."""
    new: tuple[Name, ...] = ()
    """The ends of the link that comes; nothing if a broker leaves."""
    messages: int = 0
    seconds: float = 0.0


class ChangeTree(MessageBase, frozen=True):
    """From a client: the tree is to be changed."""

    request: int
    wish: Wish
    links: tuple[tuple[Name, Name], ...] = ()
    """The link that goes and the one that comes; or all links of the tree that is wanted."""
    broker: Name = ""
    """Who is to leave."""


class TreeChangeProgress(MessageBase, frozen=True):
    """To a client: a step of what it asked for has ended."""

    request: int
    number: int
    """Of the step, from 1."""
    total: int
    """How many steps there are."""
    step: StepReport


class TreeChangeEnded(MessageBase, frozen=True):
    """To a client: what it asked for is done, or will not be, and how far it went."""

    request: int
    outcome: JobOutcome
    reason: str = ""
    steps: tuple[StepReport, ...] = ()
    """Those that were begun."""
    total: int = 0
    """How many there were to be."""
    seconds: float = 0.0
