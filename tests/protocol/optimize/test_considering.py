"""Which swap is the best one."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.optimize.middle import settings, told
from sapwood.protocol.optimize.considering import COUNT_MIN, Part, Seen, View, consider, judge
from sapwood.protocol.optimize.gain import Concerned
from sapwood.protocol.optimize.surroundings import Room
from sapwood.protocol.optimize.weighing import tabulate

BETWEEN = {("a", "b"): 2.0, ("a", "c"): 4.0, ("b", "c"): 1.0}
SETS: dict[Concerned, list[int]] = {("a", "b"): [400, 1], ("", "c"): [400, 1]}


def view(**values: Any) -> View:
    limits = values.pop("limits", {})
    neighbours = {
        "a": Seen(values.pop("told_a", told()), 5.0, 0.0, 3),
        "b": Seen(values.pop("told_b", told()), 3.0, 0.0, 1),
        "c": Seen(told(), 1.0, 0.0, 1),
    }
    usual: dict[str, Any] = {
        "middle": "v",
        "now": 40.0,
        "processing": 1.0,
        "neighbours": neighbours,
        "parts": [Part(0.0, tabulate(40.0, SETS))],
        "settings": settings(**limits),
        "pair_cost": lambda one, other: BETWEEN[min(one, other), max(one, other)],
        "allowed": lambda mover, onto: onto != "a",
        "is_full": False,
    }
    return View(**{**usual, **values})


def test_the_best_swap_that_pays_is_chosen() -> None:
    best = consider(view()).best
    assert best is not None
    assert (best.middle, best.mover, best.onto) == ("v", "a", "b")
    assert (best.moved, best.joint, best.alone) == (10.0, 10.0, 10.0)
    assert best.gain == 10.0 * (5.0 - 2.0) + 10.0 * (1.0 + 3.0)
    assert best.score == pytest.approx(best.gain - 2 * best.sigma)
    assert best.threshold == (12 + 3) * 5.0 / 600.0


def test_it_has_to_gain_more_than_the_change_costs() -> None:
    found = consider(view(limits={"gain_min": 1000.0}))
    assert found.best is None
    assert found.closest is not None
    assert (found.closest.mover, found.closest.threshold) == ("a", 1000.0)


def test_it_has_to_gain_a_share_of_what_the_link_costs() -> None:
    """θ·N·(c + p) is 0.9·10·6 = 54 here."""
    gained = consider(view()).best
    assert gained is not None
    assert gained.score > 54
    assert consider(view(limits={"theta": 0.9})).best is not None
    assert consider(view(limits={"theta": 0.9, "z": 5.0})).best is None


def test_measured_costs_are_doubted_and_given_ones_are_not() -> None:
    """N = J = X = 10; each cost errs by a tenth and half a millisecond, as squares."""
    given = consider(view()).best
    assert given is not None
    assert given.doubt == 0.0
    measured = {"costs": "measured", "link_costs": ()}
    sure = consider(view(limits=measured)).best
    assert sure is not None
    squares = (5.0**2 + 2.0**2 + 3.0**2 + 1.0**2) / 100 + 4 * 0.25
    assert sure.doubt == pytest.approx(10 * squares**0.5)
    both = (sure.sigma**2 + sure.doubt**2) ** 0.5
    assert sure.score == pytest.approx(sure.gain - 2 * both)
    unsteady = consider(view(limits=measured, pair_error=lambda one, other: 5.0)).closest
    assert unsteady is not None
    assert unsteady.doubt == pytest.approx(10 * (squares + 25.0) ** 0.5)
    assert unsteady.score < unsteady.threshold


def test_what_is_not_certain_does_not_pay() -> None:
    assert consider(view(limits={"z": 100.0})).best is None


def test_a_few_notifications_decide_nothing() -> None:
    for count in (COUNT_MIN - 1, COUNT_MIN):
        parts = [Part(0.0, tabulate(40.0, {("a", "b"): [count, 1]}))]
        found = consider(view(parts=parts, limits={"z": 0.0}))
        assert (found.best is not None) == (count == COUNT_MIN)


def test_a_short_time_decides_nothing() -> None:
    short = view(parts=[Part(35.0, tabulate(5.0, SETS))])
    assert judge(short, "a", "b") is None
    assert consider(short).best is None


def test_traffic_from_before_a_link_does_not_count() -> None:
    late = view()
    seen = late.neighbours["b"]._replace(since=20.0)
    neighbours = {**late.neighbours, "b": seen}
    parts = [Part(0.0, tabulate(20.0, SETS)), Part(20.0, tabulate(20.0, {}))]
    judged = judge(late._replace(neighbours=neighbours, parts=parts), "a", "b")
    assert judged is not None
    assert (judged.counted, judged.decision.window) == (0, 20.0)


def test_links_that_may_pay_are_asked_to_be_measured() -> None:
    """What is not known yet is taken to be as cheap as it can be."""
    unknown = consider(view(pair_cost=lambda one, other: None))
    assert unknown.best is None
    assert unknown.probes == [("a", "b"), ("a", "c")]
    assert consider(view(pair_cost=lambda one, other: None, limits={"z": 1e6})).probes == []


def test_room_has_its_price() -> None:
    full = told(slots=0, slot_price=5.0)
    paid = consider(view(told_b=full)).best
    free = consider(view()).best
    assert paid is not None
    assert free is not None
    assert paid.price == 5.0
    assert paid.score == pytest.approx(free.score - 5.0)
    assert consider(view(told_b=told(slots=0, slot_price=500.0))).best is None
    assert consider(view(told_b=told(slots=0))).best is None


def test_ways_to_make_room_are_found_the_cheapest_first() -> None:
    idle = Seen(told(), 2.0, 0.0, 0)
    usual = view(limits={"window_max_seconds": 80.0})
    neighbours = {**usual.neighbours, "d": idle}
    found = consider(
        usual._replace(neighbours=neighbours, pair_cost=lambda one, other: 2.0, is_full=True)
    )
    assert found.rooms[0] == Room(0.0, "a", "b")
    assert Room(0.0, "d", "b") in found.rooms
    assert [room.loss for room in found.rooms] == sorted(room.loss for room in found.rooms)


def test_whoever_was_not_counted_for_long_may_not_be_idle_and_makes_no_room() -> None:
    """40 of 600 seconds without anything: what moving it would lose is not known."""
    idle = Seen(told(), 2.0, 0.0, 0)
    usual = view(limits={"window_max_seconds": 600.0})
    neighbours = {**usual.neighbours, "d": idle}
    found = consider(
        usual._replace(neighbours=neighbours, pair_cost=lambda one, other: 2.0, is_full=True)
    )
    assert [room.mover for room in found.rooms if room.mover == "d"] == []
    assert Room(0.0, "a", "b") in found.rooms


def test_what_is_not_allowed_is_not_thought_of() -> None:
    found = consider(view(allowed=lambda mover, onto: onto != "b"))
    assert found.best is None or found.best.onto != "b"
