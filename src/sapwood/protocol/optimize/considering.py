"""Which swap is the best one now, and what has to be found out for that (A4 of the specification).

Every ordered pair of neighbours is weighed. A swap is worth it if what is certain of its gain
exceeds what the change itself costs, spread over the time in which it has to pay: so in a static
situation every change lowers the cost by more than that, and changes come to an end. Measured
costs are never exact: what their errors make of the gain counts like the error of counting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import hypot
from typing import Final, NamedTuple

from sapwood.protocol.optimize.decision import Decision
from sapwood.protocol.optimize.gain import SwapCosts, doubted
from sapwood.protocol.optimize.messages import Neighbourhood
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.protocol.optimize.surroundings import Room
from sapwood.protocol.optimize.weighing import Table, Weighed, weigh

COUNT_MIN: Final = 30
"""Notifications that must have been counted for the mover."""

CHANGE_MESSAGES: Final = 12
"""Control messages of a change, beside the entries that move."""

ROOMS_MAX: Final = 32
"""Ways to make room that are remembered."""

PairCosts = Callable[[str, str], float | None]
PairErrors = Callable[[str, str], float]
Allowed = Callable[[str, str], bool]


def _no_error(one: str, other: str) -> float:
    """Nothing is measured: costs are given."""
    return 0.0


class Seen(NamedTuple):
    """A neighbour, as far as it matters for swaps."""

    told: Neighbourhood
    cost: float
    """Of the link to it."""
    since: float
    """From when on counts hold for it."""
    entries: int
    """What it has told of subscriptions: that has to be told to another one."""
    error: float = 0.0
    """The standard error of that cost."""


class Part(NamedTuple):
    """A bucket of traffic: from when on, and what it says of all pairs."""

    begin: float
    table: Table


class Considered(NamedTuple):
    """What came of looking at all pairs."""

    best: Decision | None
    """The best one that pays."""
    closest: Decision | None
    """The best one, whether it pays or not."""
    probes: list[tuple[str, str]]
    """Pairs whose cost should be found out, the most promising first."""
    rooms: list[Room]
    """Ways to make room, the cheapest first."""


class View(NamedTuple):
    """What is known when all pairs are looked at."""

    middle: str
    now: float
    processing: float
    neighbours: Mapping[str, Seen]
    parts: Sequence[Part]
    settings: OptimizationSettings
    pair_cost: PairCosts
    allowed: Allowed
    """Whether a swap of a mover onto another one may be thought of at all."""
    is_full: bool
    """Whether this broker has no room: then ways to make some are looked for, too."""
    pair_error: PairErrors = _no_error
    """The standard error of what a link between two others would cost."""


def consider(view: View) -> Considered:
    """Look at all pairs."""
    best: Decision | None = None
    closest: Decision | None = None
    probes: list[tuple[float, str, str]] = []
    rooms: list[Room] = []
    for mover in view.neighbours:
        for onto, other in view.neighbours.items():
            if mover == onto or not view.allowed(mover, onto):
                continue
            judged = judge(view, mover, onto)
            if judged is None:
                continue
            decision, is_counted = judged.decision, judged.counted >= COUNT_MIN
            if not judged.is_known:
                is_worth_knowing = is_counted and decision.score > decision.threshold
                if is_worth_knowing or (view.is_full and other.told.slots > 0):
                    probes.append((decision.score, mover, onto))
                continue
            if other.told.slots > 0 and _is_loss_known(view, judged):
                rooms.append(Room(max(0.0, -decision.score), mover, onto))
            has_room = other.told.slots > 0 or other.told.slot_price is not None
            if not is_counted or not has_room:
                continue
            if closest is None or decision.score > closest.score:
                closest = decision
            if _pays(view, decision) and (best is None or decision.score > best.score):
                best = decision
    probes.sort(reverse=True)
    asked = dict.fromkeys(
        (mover, onto) if mover < onto else (onto, mover) for _, mover, onto in probes
    )
    return Considered(best, closest, list(asked), sorted(rooms)[:ROOMS_MAX])


class Judged(NamedTuple):
    """A swap, how much was counted for it, and whether the cost of the new link is known."""

    decision: Decision
    counted: int
    is_known: bool


def judge(view: View, mover: str, onto: str) -> Judged | None:
    """A swap with all its numbers; None if too little time has passed to say anything.

    If the cost of the new link is not known, the least is taken that it can be if costs are
    distances: half of what the other two differ by.
    """
    moved, other, settings = view.neighbours[mover], view.neighbours[onto], view.settings
    since = max(moved.since, other.since)
    tables = [part.table for part in view.parts if part.begin >= since]
    window = sum(table.seconds for table in tables)
    if window < settings.window_min_seconds:
        return None
    known = view.pair_cost(mover, onto)
    surcharge = settings.surcharge(moved.told.zone, other.told.zone)
    new = known + surcharge if known is not None else abs(moved.cost - other.cost) / 2
    costs = SwapCosts(moved.cost, new, other.cost, view.processing, other.told.processing_cost)
    weighed = weigh(tables, mover, onto, costs)
    error = view.pair_error(mover, onto) if known is not None else 0.0
    doubts = SwapCosts(
        settings.doubt(costs.old, moved.error),
        settings.doubt(costs.new, error),
        settings.doubt(costs.kept, other.error),
        settings.doubt(costs.middle),
        settings.doubt(costs.onto),
    )
    doubt = doubted(weighed.share, doubts)
    decision = _decision(view, mover, onto, costs, weighed, window, doubt)
    return Judged(decision, weighed.counted, known is not None)


def _decision(
    view: View,
    mover: str,
    onto: str,
    costs: SwapCosts,
    weighed: Weighed,
    window: float,
    doubt: float,
) -> Decision:
    settings, told = view.settings, view.neighbours[onto].told
    price = 0.0 if told.slots > 0 else told.slot_price or 0.0
    change_cost = (CHANGE_MESSAGES + view.neighbours[mover].entries) * costs.old
    return Decision(
        at=view.now,
        change="",
        middle=view.middle,
        mover=mover,
        onto=onto,
        moved=weighed.share.moved,
        joint=weighed.share.joint,
        alone=weighed.share.alone,
        window=window,
        cost_old=costs.old,
        cost_new=costs.new,
        cost_kept=costs.kept,
        processing_middle=costs.middle,
        processing_onto=costs.onto,
        gain=weighed.gain,
        sigma=weighed.sigma,
        score=weighed.gain - settings.z * hypot(weighed.sigma, doubt) - price,
        price=price,
        doubt=doubt,
        threshold=max(settings.gain_min, change_cost / settings.payback_seconds),
    )


def _is_loss_known(view: View, judged: Judged) -> bool:
    """Whether room may be made by a swap.

    Of a mover for which little was counted it is not known what that would lose, unless it was so
    for long: then it is idle.
    """
    is_long = judged.decision.window >= view.settings.window_max_seconds / 2
    return judged.counted >= COUNT_MIN or is_long


def _pays(view: View, decision: Decision) -> bool:
    """Whether a swap is worth it."""
    least = view.settings.theta * decision.moved * (decision.cost_old + decision.processing_middle)
    return decision.score > decision.threshold and decision.score > least
