"""What a swap gains: formula (1) of the specification, exact and local to the broker in the middle.

Swap(v, a, b): the link v-a is replaced by a-b, so that the *mover* a hangs *onto* b instead of on
v, the *middle*. Of the notifications that v handles, each concerns some of its neighbours, and v
itself if a client of v is concerned (`LOCAL`). With

    N  those that concern a,   J  those that concern a and b,   X  those that concern a and b only

the cost of the whole network (thesis, Eq. 5.3) falls by exactly

    G = N (c_av - c_ab) + X (p_v + c_vb) - (N - J) (p_b + c_vb).

c is what a notification costs on a link, p what it costs to handle it at a broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot
from typing import Final, NamedTuple, TypeAlias

LOCAL: Final = ""
"""Stands for the clients of the broker in the middle; no broker has an empty name."""

Concerned: TypeAlias = tuple[str, ...]
"""Whom a notification concerns, as one broker sees it: neighbours and `LOCAL`, sorted."""


class Share(NamedTuple):
    """The traffic that decides about a swap: notifications, or notifications per unit of time."""

    moved: float
    """N: those that concern the mover."""
    joint: float
    """J: those of them that concern the broker it would hang on, too."""
    alone: float
    """X: those that concern these two, and nobody else."""


class SwapCosts(NamedTuple):
    """The costs that decide about a swap, per notification."""

    old: float
    """c_av: the link that goes."""
    new: float
    """c_ab: the link that comes."""
    kept: float
    """c_vb: the link that stays."""
    middle: float
    """p_v: handling at the broker in the middle."""
    onto: float
    """p_b: handling at the broker that the mover would hang on."""


def share(traffic: Mapping[Concerned, float], mover: str, onto: str) -> Share:
    """N, J and X of a swap, from what the broker in the middle has counted.

    >>> share({("a", "b"): 5, ("", "a"): 2, ("", "a", "b"): 1, ("", "b"): 9}, "a", "b")
    Share(moved=8.0, joint=6.0, alone=5.0)
    """
    moved = joint = alone = 0.0
    for concerned, number in traffic.items():
        if mover in concerned:
            moved += number
            if onto in concerned:
                joint += number
                if len(concerned) == 2:
                    alone += number
    return Share(moved, joint, alone)


def gain(traffic: Share, costs: SwapCosts) -> float:
    """G: how much the cost of the whole network falls; negative if it rises."""
    return (
        traffic.moved * (costs.old - costs.new)
        + traffic.alone * (costs.middle + costs.kept)
        - (traffic.moved - traffic.joint) * (costs.onto + costs.kept)
    )


def doubted(traffic: Share, doubts: SwapCosts) -> float:
    """The standard error of the gain because costs are measured, each with an error of its own.

    The gain is linear in every cost, and costs err independently of each other.

    >>> round(doubted(Share(8.0, 6.0, 5.0), SwapCosts(1.0, 1.0, 1.0, 1.0, 1.0)) ** 2, 9)
    166.0
    """
    apart = traffic.moved - traffic.joint
    return hypot(
        traffic.moved * doubts.old,
        traffic.moved * doubts.new,
        (traffic.alone - apart) * doubts.kept,
        traffic.alone * doubts.middle,
        apart * doubts.onto,
    )


def gain_of_one(concerned: Concerned, mover: str, onto: str, costs: SwapCosts) -> float:
    """How much cheaper one notification gets."""
    if mover not in concerned:
        return 0.0
    cheaper = costs.old - costs.new
    if onto not in concerned:
        return cheaper - costs.onto - costs.kept
    return cheaper + costs.middle + costs.kept if len(concerned) == 2 else cheaper


def rewritten(concerned: Concerned, mover: str, onto: str) -> Concerned | None:
    """Whom it concerns after the swap, as the broker in the middle sees it.

    The mover is behind the other one then. None if that broker does not see it any more.

    >>> rewritten(("", "a"), "a", "b"), rewritten(("a", "b"), "a", "b")
    (('', 'b'), None)
    """
    if mover not in concerned:
        return concerned
    after = tuple(sorted({onto if one == mover else one for one in concerned}))
    return None if after == (onto,) else after


def renamed(concerned: Concerned, before: str, after: str) -> Concerned:
    """The same with a neighbour in the place of another: what the mover sees of a swap."""
    if before not in concerned:
        return concerned
    return tuple(sorted({after if one == before else one for one in concerned}))
