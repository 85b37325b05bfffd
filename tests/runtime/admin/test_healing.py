"""The place in the tree, the faults that were found, and the bounds, as a broker tells them."""

from __future__ import annotations

import msgspec
import pytest

from protocol.reconfigure.rings import ring
from runtime.living import until
from runtime.serving import run, serving
from sapwood.analysis.stabilization import TERMS, bounds, network_of
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings
from sapwood.runtime.admin.healing import change_status, fault_counts, healing_status
from sapwood.runtime.admin.status import ChangeStatus, HealingStatus, TreeStatus
from sapwood.runtime.config.settings import LinkSettings, Settings
from sapwood.runtime.config.stabilization import periods_set, with_periods

ROOT = TreeStatus(
    protocol="beacons", root="B1", size=40, delay_seconds=0.1, delay_tree_seconds=0.95
)


def test_three_brokers_tell_where_they_are_and_what_stands_by() -> None:
    async def check() -> None:
        quick = {"tree": TreeSettings(beacon_seconds=0.5)}
        async with (
            serving("B1", **quick) as first,
            serving("B2", join=(str(first.address),), **quick) as second,
            serving("B3", join=(str(first.address), str(second.address)), **quick) as third,
        ):
            await until(lambda: first.status().tree.size == 3, "the root knows of three brokers")
            await until(lambda: bool(third.status().tree.candidates), "a link stands by")
            one, two, three = (server.status().tree for server in (first, second, third))
            assert (one.root, one.parent, one.depth, one.kept) == ("B1", "", 0, ())
            assert {two.root, three.root} == {"B1"}
            assert sorted([two.parent, three.parent]) in (["B1", "B1"], ["B1", "B2"])
            assert len(one.candidates) + len(two.candidates) + len(three.candidates) == 2
            healing = first.status().healing
            assert healing is not None
            assert healing.brokers == 3
            assert healing.bounds["age_max"] == pytest.approx(
                3 * 0.5 + one.delay_tree_seconds + 2 * 0.5, abs=one.delay_seconds
            )

    run(check())


def test_a_neighbour_that_is_away_is_kept() -> None:
    async def check() -> None:
        async with serving("B1") as first, serving("B2", join=(str(first.address),)) as second:
            await until(lambda: first.status().tree.size == 2, "the link carries")
            (endpoint,) = second.driver._endpoints.values()
            second.driver._is_closed = True  # it dials no more
            endpoint.abort("pulled out")
            await until(lambda: first.status().tree.kept == ("B2",), "B2 is kept")

    run(check())


def test_changes_of_the_tree_are_told_while_they_last_and_counted() -> None:
    brokers = ring(3)
    brokers.candidate("B1", "B3")
    brokers.exchange("B1", ("B2", "B3"), ("B1", "B3"))
    first = brokers.brokers["B1"]
    while first.turning.ring is None:
        assert brokers.step()
    now = change_status(first)
    assert (sorted(now.ring), now.completed, bool(now.change)) == (["B1", "B2", "B3"], 0, True)
    brokers.run_ticks()
    assert change_status(first) == ChangeStatus(completed=1, finished={now.change: "completed"})


def test_bounds_are_those_of_the_analysis_with_what_the_tree_knows() -> None:
    settings = Settings(
        id="B1",
        tree=TreeSettings(beacon_seconds=2.0, depth_max=20, ring_max=5),
        stabilization=StabilizationSettings(refresh_seconds=7.0),
        link=LinkSettings(away_seconds=77.0),
    )
    found = healing_status(ROOT, settings)
    network = network_of(40, diameter=10, delay_max=0.1, depth_max=20, ring_max=5)
    periods = msgspec.structs.replace(periods_set(settings), away_time=77.0)
    wanted = bounds(network, periods)
    assert (found.brokers, found.diameter, found.delay_seconds) == (40, 10, 0.1)
    assert found.bounds == {term.name: pytest.approx(getattr(wanted, term.name)) for term in TERMS}
    assert (found.bounds["away"], found.bounds["audit"]) == (77.0, 300.0)


def test_who_is_not_the_root_takes_as_many_brokers_as_settings_allow() -> None:
    settings = Settings(id="B2", tree=TreeSettings(depth_max=20))
    found = healing_status(msgspec.structs.replace(ROOT, parent="B1", depth=1), settings)
    assert (found.brokers, found.diameter) == (20, 10)


def test_what_is_switched_off_never_heals() -> None:
    settings = Settings(
        id="B1",
        tree=TreeSettings(protocol="off"),
        stabilization=StabilizationSettings(refresh="off"),
    )
    found = healing_status(TreeStatus(delay_seconds=0.05), settings)
    never = {name for name, seconds in found.bounds.items() if seconds is None}
    assert {"failover", "tree", "tables", "total", "silent_neighbour"} <= never
    assert found.diameter == 2 * (settings.tree.depth_max - 1)


def test_a_stated_time_holds() -> None:
    stated = StabilizationSettings(seconds=120.0, delay_max=0.05)
    settings = Settings(id="B1", stabilization=stated, tree=TreeSettings(depth_max=8))
    tree = TreeStatus(protocol="beacons", root="B1", size=8, delay_seconds=0.05)
    found = healing_status(tree, settings).bounds["total_derived"]
    assert found is not None
    assert found <= 120.0
    assert with_periods(settings) != settings


def test_faults_of_all_kinds_are_counted_whether_found_or_not() -> None:
    async def check() -> None:
        async with serving("B1") as server:
            node = server.node
            kinds = {"mismatch", "expired", "strays", "silent", "impossible", "rebirth_changed"}
            assert fault_counts(node) == dict.fromkeys(kinds, 0)
            node.broker.faults["impossible"] += 2
            node.counts["contradiction"] += 3
            assert server.status().faults == {
                **dict.fromkeys(kinds, 0),
                "impossible": 2,
                "contradiction": 3,
            }

    run(check())


def test_periods_follow_from_a_stated_time_and_the_delays_that_are_measured() -> None:
    stated = StabilizationSettings(seconds=60.0)
    settings = Settings(id="B1", stabilization=stated, tree=TreeSettings(depth_max=8))

    def found(delay: float) -> HealingStatus:
        tree = TreeStatus(
            protocol="beacons",
            root="B1",
            size=8,
            delay_seconds=delay,
            delay_tree_seconds=4 * delay,
        )
        return healing_status(tree, settings)

    quick = found(0.05)
    assert (quick.stated_seconds, quick.problem) == (60.0, "")
    assert quick.refresh_seconds == with_periods(settings).stabilization.refresh_seconds
    slow = found(0.15)
    assert slow.bounds["total_derived"] == pytest.approx(60.0)
    assert slow.bounds["audit"] == pytest.approx(slow.refresh_seconds)
    assert slow.problem == ""
    assert slow.refresh_seconds < quick.refresh_seconds
    slowest = found(3.0)
    total = slowest.bounds["total_derived"]
    assert total is not None
    assert total > 60.0
    assert slowest.problem.startswith("60 s is not kept: with 3 s over a link, S ≥ Δs + Δt + Δr")
    assert "; no periods keep it: seconds is 60 s; wanted S ≥ " in slowest.problem
    assert healing_status(ROOT, Settings(id="B1")).problem == ""
