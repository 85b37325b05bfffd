"""What brokers say to each other about the costs of the tree, and about swaps.

All of them are control messages between neighbours in the tree, and only between brokers that say
that they move links (`SWAPS` among the features). What they say of costs is looked at before it is
believed: a value that cannot be one is left out and counted.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from sapwood.protocol.naming import MessageBase, Name

SWAPS: Final = "swaps"
"""The feature of a broker that tells its neighbours what they need to decide about swaps."""

Addresses: TypeAlias = Annotated[tuple[Name, ...], msgspec.Meta(max_length=16)]
"""Where a broker can be dialled."""

Refusal: TypeAlias = Literal[
    "",
    "locked",
    "full",
    "pinned",
    "forbidden",
    "undialable",
    "routing",
    "utilisation",
    "observe",
    "rate",
]
"""Why a broker does not take part in a swap; empty if it does."""


class Neighbourhood(MessageBase, frozen=True):
    """What the neighbours of the sender have to know of it to decide about swaps."""

    processing_cost: float = 0.0
    """What it costs to handle a notification at the sender."""
    utilisation: float = 0.0
    """Which share of the time the sender is busy."""
    degree: int = 0
    """How many links of the tree it has."""
    slots: int = 0
    """How many more it may have."""
    slot_price: float | None = None
    """What it would lose by making room for another one, if there is none; None: it cannot."""
    zone: Name = ""
    pinned: bool = False
    """Whether none of its links is to be removed or added."""
    addresses: Addresses = ()


class LinkProbe(MessageBase, frozen=True):
    """To a neighbour: what would a link from you to another broker cost?"""

    request: int
    target: Name
    addresses: Addresses = ()


class LinkCost(MessageBase, frozen=True):
    """The answer."""

    request: int
    target: Name
    cost: float = 0.0
    samples: int = 0
    linked: bool = False
    """Whether it was measured over a link in use, or given."""
    error: str = ""
    """Why there is no cost; empty if there is."""
    deviation: float = 0.0
    """The standard error of the cost."""


class SwapPropose(MessageBase, frozen=True):
    """From the middle to both others: the mover is to hang on the other one instead of on me."""

    change: Name
    mover: Name
    onto: Name
    moved: float = 0.0
    """Notifications per second that concern the mover."""
    joint: float = 0.0
    """Those of them that concern the other one, too."""
    gain: float = 0.0
    sigma: float = 0.0
    pay: float = 0.0
    """What the middle would give for room at the other one, if that has none."""
    addresses: Addresses = ()
    """Where the other end of the new link can be dialled, as the middle was told."""
    zone: Name = ""
    """Of the other end of the new link."""
    cost_old: float = 0.0
    """What the link costs that goes."""


class SwapAnswer(MessageBase, frozen=True):
    """To the middle: whether the sender takes part."""

    change: Name
    reason: Refusal = ""
    price: float | None = None
    """What room would cost, if there is none."""


class SwapCancelled(MessageBase, frozen=True):
    """From the middle: nothing comes of a swap that the receiver agreed to."""

    change: Name


class SwapDone(MessageBase, frozen=True):
    """To the middle, a while after a swap: what it has gained, as the other one measured it."""

    change: Name
    gain: float
    link_cost: float
    """What the new link costs in use."""


SwapMessage: TypeAlias = (
    Neighbourhood | LinkProbe | LinkCost | SwapPropose | SwapAnswer | SwapCancelled | SwapDone
)
