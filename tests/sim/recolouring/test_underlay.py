"""The underlay: channels keep their order, what is cut or lost brings nothing, ticks come."""

from __future__ import annotations

import math
from random import Random
from typing import Any, NamedTuple

from sapwood.sim.recolouring.underlay import Underlay, Words


class Got(NamedTuple):
    source: str
    message: Any


class Out(NamedTuple):
    destination: str
    message: Any


class Told(NamedTuple):
    text: str


class Echo:
    """Notes what it gets; sends what it is told to."""

    def __init__(self) -> None:
        self.next_at = math.inf
        self.got: list[tuple[float, Any]] = []

    def handle(self, event: Any, now: float) -> list[Any]:
        self.got.append((now, event))
        self.next_at = math.inf
        return event if isinstance(event, list) else []


def underlay(*delays: float, tick_period: float = 1000.0) -> Underlay:
    drawn = iter(delays)
    one = Underlay(
        Words("tick", Got, Out), lambda source, target, random: next(drawn), Random(1), tick_period
    )
    for name in ("A", "B", "C"):
        one.add(name, Echo())
    return one


def got(one: Underlay, name: str) -> list[tuple[float, Any]]:
    machine = one.machines[name]
    assert isinstance(machine, Echo)
    return machine.got


def test_a_channel_keeps_its_order_whatever_the_delays() -> None:
    one = underlay(3.0, 1.0, 1.0)
    one.handle("A", [Out("B", 1), Out("B", 2), Out("C", 3)])
    one.kernel.run(10)
    assert got(one, "B") == [(3.0, Got("A", 1)), (3.0, Got("A", 2))]
    assert got(one, "C") == [(1.0, Got("A", 3))]
    assert one.sent == {"int": 3}


def test_what_is_under_way_on_a_wire_that_is_cut_is_gone() -> None:
    one = underlay(2.0, 1.0, 1.0)
    one.handle("A", [Out("B", 1)])
    one.kernel.run(1)
    one.cut_wire("B", "A")
    one.handle("A", [Out("B", 2)])
    one.mend_wire("A", "B")
    one.handle("A", [Out("B", 3)])
    one.kernel.run(10)
    assert got(one, "B") == [(2.0, Got("A", 3))]


def test_a_lost_broker_gets_and_sends_nothing() -> None:
    one = underlay(1.0, 1.0)
    one.handle("A", [Out("B", 1)])
    one.handle("B", [Out("A", 2)])
    one.lose("B")
    one.handle("B", [Out("A", 3)])
    one.handle("A", [Out("B", 4), Out("nobody", 5)])
    one.kernel.run(10)
    assert one.alive == ["A", "C"]
    assert [event for _, event in got(one, "A") if isinstance(event, Got)] == []


def test_effects_that_send_nothing_go_to_the_world() -> None:
    one, seen = underlay(), []
    one.effects = lambda name, effect: seen.append((name, effect))
    one.after = lambda name, event: seen.append((name, "handled"))
    one.handle("A", [Told("x")])
    assert seen == [("A", Told("x")), ("A", "handled")]


def test_a_tick_comes_when_it_is_due() -> None:
    one = underlay()
    echo = one.machines["A"]
    assert isinstance(echo, Echo)
    echo.next_at = 5.0
    one.plan("A")
    echo.next_at = 4.0
    one.plan("A")
    one.kernel.run(10)
    assert got(one, "A") == [(4.0, "tick")]


def test_a_spoilt_time_is_due_at_once() -> None:
    for spoilt in (math.nan, -1e9):
        one = underlay()
        echo = one.machines["A"]
        assert isinstance(echo, Echo)
        echo.next_at = spoilt
        one.plan("A")
        one.kernel.run(10)
        assert got(one, "A") == [(0.0, "tick")]


def test_ticks_come_in_any_case() -> None:
    one = underlay(tick_period=4.0)
    one.kernel.run(10)
    assert got(one, "A") == [(4.0, "tick"), (8.0, "tick")]
