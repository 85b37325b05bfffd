"""How much a swap gains by what was counted, and how sure that is (A4 of the specification).

For all pairs of neighbours at once: one pass over the sets of a bucket finds N, J and X of every
pair, and from these follow gain and error. The error is that of counting: notifications come
independently of each other, so the variance of a count is the count. Where traffic comes in bursts
that is too little, so with four buckets or more the differences between them count if they say
more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Final, NamedTuple

from sapwood.protocol.optimize.gain import LOCAL, Concerned, Share, SwapCosts
from sapwood.protocol.optimize.traffic import Window

PARTS_MIN: Final = 4
"""Buckets from which the differences between them say something."""

Pair = tuple[str, str]


class Table(NamedTuple):
    """What one bucket says of all pairs of neighbours."""

    seconds: float
    moved: dict[str, int]
    """N, by neighbour."""
    joint: dict[Pair, int]
    """J, by pair; the same both ways round."""
    alone: dict[Pair, int]
    """X, likewise."""


def tabulate(seconds: float, sets: Mapping[Concerned, Sequence[int]]) -> Table:
    """N, J and X of all pairs, from the sets of a bucket."""
    moved: dict[str, int] = {}
    joint: dict[Pair, int] = {}
    alone: dict[Pair, int] = {}
    for concerned, cell in sets.items():
        number = cell[0]
        others = concerned[1:] if concerned and concerned[0] == LOCAL else concerned
        for one in others:
            moved[one] = moved.get(one, 0) + number
            for other in others:
                if one != other:
                    joint[one, other] = joint.get((one, other), 0) + number
        if len(concerned) == 2 and len(others) == 2:
            for pair in (concerned, concerned[::-1]):
                alone[pair[0], pair[1]] = alone.get((pair[0], pair[1]), 0) + number
    return Table(seconds, moved, joint, alone)


def tables_of(window: Window) -> list[Table]:
    """A table for each bucket of a window."""
    return [tabulate(seconds, bucket.sets) for seconds, bucket in window.parts()]


class Weighed(NamedTuple):
    """What a swap would gain per second, by what was counted."""

    counted: int
    """Notifications that concern the mover."""
    share: Share
    """N, J and X per second."""
    gain: float
    sigma: float
    """Its standard error."""


def weigh(tables: Sequence[Table], mover: str, onto: str, costs: SwapCosts) -> Weighed:
    """The gain of a swap by formula (1), and its standard error."""
    seconds = sum(table.seconds for table in tables)
    cheaper = costs.old - costs.new
    alone_gain = cheaper + costs.middle + costs.kept
    apart_gain = cheaper - costs.onto - costs.kept
    pair = (mover, onto)
    moved = joint = alone = 0
    total = variance = 0.0
    parts: list[tuple[float, float]] = []
    for table in tables:
        n = table.moved.get(mover, 0)
        j = table.joint.get(pair, 0)
        x = table.alone.get(pair, 0)
        gained = x * alone_gain + (j - x) * cheaper + (n - j) * apart_gain
        variance += x * alone_gain**2 + (j - x) * cheaper**2 + (n - j) * apart_gain**2
        total += gained
        moved, joint, alone = moved + n, joint + j, alone + x
        if table.seconds > 0:
            parts.append((table.seconds, gained))
    if seconds <= 0:
        return Weighed(moved, Share(0.0, 0.0, 0.0), 0.0, 0.0)
    share = Share(moved / seconds, joint / seconds, alone / seconds)
    gain = total / seconds
    spread = max(variance / seconds**2, _between(parts, gain, seconds))
    return Weighed(moved, share, gain, sqrt(spread))


def _between(parts: Sequence[tuple[float, float]], gain: float, seconds: float) -> float:
    """The variance of the mean, from how the parts differ; zero for a few of them."""
    if len(parts) < PARTS_MIN:
        return 0.0
    squares = sum((gained - gain * length) ** 2 for length, gained in parts)
    return squares / seconds**2 * len(parts) / (len(parts) - 1)
