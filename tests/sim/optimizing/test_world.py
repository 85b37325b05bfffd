"""Networks that change their tree to be cheaper: nothing is lost, and tables are right."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from sapwood.protocol.invariants import network_problems
from sapwood.sim.optimizing.setup import TICK_SECONDS, Course
from sapwood.sim.optimizing.ways import heuristic, static, way_named
from sapwood.sim.optimizing.world import World
from sim.optimizing.courses import small


def test_batches_change_nothing_in_the_mean() -> None:
    """What is published in one go costs what it costs one by one."""
    costs = []
    for batch in (5, 50):
        course = small(4, batch_ticks=batch, reassignment_interval=math.inf, ticks=2000)
        costs.append(World(course, static).run().cost(250))
    assert costs[0] == pytest.approx(costs[1], rel=0.08)


def delivered(course: Course, way: str) -> tuple[Counter[str], World]:
    """How much each client was delivered, when all has arrived."""
    world = World(course, way_named(way))
    got: Counter[str] = Counter()
    world.network.deliveries = lambda session, data: got.update({session: data.count(b"job")})
    world.run()
    world.network.kernel.run((course.parameters.ticks + 100) * TICK_SECONDS)
    return got, world


@pytest.mark.slow
@pytest.mark.parametrize("way", ["lmst", "ci"])
def test_the_tree_gets_cheaper_and_nothing_is_lost(way: str) -> None:
    """Every client gets as much as on the tree that nobody changes, no less and no more.

    Only what is published before the first subscriptions have spread is not owed, to nobody.
    """
    course = small(5, ticks=2500, reassignment_interval=math.inf)
    expected, _ = delivered(course, "static")
    published = sum(int(course.published[stay.job].sum()) * 4 for stay in course.stays)
    assert 0.98 * published < expected.total() <= published
    got, world = delivered(course, way)
    assert got == expected
    assert world.problems() == []
    assert sum(one.changes for one in world.measured) > 0
    assert world.measured[-1].cost < 0.9 * world.measured[2].cost


@pytest.mark.slow
def test_tables_are_right_when_all_is_over() -> None:
    course = small(7, ticks=1500)
    world = World(course, way_named("ci"))
    world.run()
    for broker in world.network.brokers.values():
        broker.exploring.broadcast_at = math.inf  # type: ignore[attr-defined]
    world.network.kernel.run((course.parameters.ticks + 3000) * TICK_SECONDS)
    assert network_problems(world.network.brokers) == []


def test_broadcasts_go_as_far_as_the_horizon() -> None:
    course = small(10, ticks=1300)
    world = World(course, heuristic(heuristic="lmst", horizon=1))
    world.run()
    sent = sum(one.control.get("Knowledge", 0) for one in world.measured)
    rounds = sum(one.exploring.counts["broadcasts"] for one in world.network.brokers.values())  # type: ignore[attr-defined]
    assert sent == pytest.approx(rounds * 2 * 13 / 14, rel=0.35)
    assert world.measured[-1].changes == 0, "a broker one hop away is linked already"
