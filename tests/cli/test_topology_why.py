"""The decisions by which brokers have moved links, as people and programs see them."""

from __future__ import annotations

from protocol.optimize.middle import decision
from sapwood.cli.topology_why import as_object, lines
from sapwood.runtime.admin.status import OptimizationStatus


def test_decisions_of_all_brokers_are_shown_in_the_order_of_time() -> None:
    first = decision(at=10.0, outcome="refused", reason="b: locked")
    second = decision(at=20.0, outcome="completed", gain=7.0, gain_seen=6.5)
    third = decision(at=15.0, middle="w", mover="x", onto="y", outcome="observed")
    best = decision(middle="w", mover="y", onto="x", score=0.25, threshold=0.5)
    shown = list(
        lines(
            {
                "v": OptimizationStatus(mode="on", decisions=(first, second), cost=10.0),
                "w": OptimizationStatus(mode="observe", decisions=(third,), considered=best),
                "z": None,
            }
        )
    )
    assert shown == [
        "00:00:10  v: a onto b  refused (b: locked)",
        "    gain 1 ± 1; doubt 0, price 1, had to exceed 1",
        "    N 1/s, J 1/s, X 1/s in 1 s; costs: a-v 1, a-b 1, v-b 1, at v 1, at b 1",
        "00:00:15  w: x onto y  observed",
        "    gain 1 ± 1; doubt 0, price 1, had to exceed 1",
        "    N 1/s, J 1/s, X 1/s in 1 s; costs: x-w 1, x-y 1, w-y 1, at w 1, at y 1",
        "00:00:20  v: a onto b  completed",
        "    gain 7 ± 1, seen 6.5; doubt 0, price 1, had to exceed 1",
        "    N 1/s, J 1/s, X 1/s in 1 s; costs: a-v 1, a-b 1, v-b 1, at v 1, at b 1",
        "w leaves its links: moving y onto x would gain 0.25 for certain, and has to gain 0.5",
        "the traffic of the last minutes costs 10 a second at 2 brokers",
    ]


def test_it_is_said_that_nobody_moves_links() -> None:
    assert list(lines({"v": OptimizationStatus()})) == [
        "no broker moves links: optimization.mode is off"
    ]


def test_programs_get_all_of_it() -> None:
    found = as_object({"v": OptimizationStatus(mode="on", cost=2.0), "w": None})
    assert found["cost"] == 2.0
    assert [(one["id"], one["mode"]) for one in found["brokers"]] == [("v", "on"), ("w", None)]
    assert found["brokers"][0]["decisions"] == ()
