"""Periods that follow from a stated time follow from the delays that brokers measure, too."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from sapwood.analysis.stabilization import bounds, periods_within, refreshed
from sapwood.protocol.events import LinkDown
from sapwood.protocol.link.limits import ClientLimits
from sapwood.protocol.stabilize.periods import network_allowed, network_known, periods_of
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings
from sapwood.protocol.stabilize.timing import DELAY_SECONDS_MIN
from sapwood.sim.faithful.network import FaithfulNetwork
from sim.faithful.loading import client

STATED_SECONDS = 60.0
TREE = TreeSettings(depth_max=6)


def settings() -> tuple[StabilizationSettings, TreeSettings]:
    """As a broker reads them where a time is stated: solved for the quickest links."""
    stated = StabilizationSettings(seconds=STATED_SECONDS)
    assumed = msgspec.structs.replace(stated, delay_max=DELAY_SECONDS_MIN)
    solved = periods_within(
        STATED_SECONDS, network_allowed(assumed, TREE), periods_of(stated, TREE, 30.0)
    )
    return (
        msgspec.structs.replace(
            stated, refresh_seconds=solved.refresh_period, audit_seconds=solved.audit_period
        ),
        msgspec.structs.replace(TREE, beacon_seconds=solved.beacon_period),
    )


def chain(delay: float) -> FaithfulNetwork:
    """Three brokers over links of some delay, and a client at the last one."""
    stabilization, tree = settings()
    network = FaithfulNetwork(
        Random(1),
        delay=(delay, delay),
        config={
            "stabilization": stabilization,
            "tree": tree,
            "client": ClientLimits(refresh_seconds=stabilization.refresh_seconds),
        },
    )
    for name, joins in {"B1": (), "B2": ("B1",), "B3": ("B2",)}.items():
        network.add_broker(name, joins)
    client(network, "c.1", "B3", "n > 0")
    network.driver.run(40.0)
    return network


def test_quick_links_leave_the_periods_as_they_were_solved() -> None:
    stabilization, _ = settings()
    for broker in chain(0.002).brokers.values():
        assert broker.refresh_seconds == broker.audit_seconds == stabilization.refresh_seconds


def test_slow_links_are_measured_and_looked_at_more_often() -> None:
    network = chain(0.03)
    stabilization, tree = settings()
    for name, broker in network.brokers.items():
        assert broker.tree.delay >= 0.06, "twice the way"
        period = broker.refresh_seconds
        assert 1.0 < period < stabilization.refresh_seconds
        assert broker.audit_seconds == period
        size = None if broker.tree.parent else 3
        known = network_known(tree, broker.tree.delay_any, broker.tree.delay_tree, size)
        found = refreshed(period, periods_of(stabilization, tree, 30.0))
        total = bounds(known, found).total_derived
        assert total == pytest.approx(STATED_SECONDS), name
    assert network.faults() == {}


def test_tables_streams_and_clients_are_really_compared_as_often() -> None:
    network = chain(0.03)
    session = network.clients["c.1"].session
    period = network.brokers["B3"].refresh_seconds
    assert session.refreshing.seconds == pytest.approx(period, rel=0.1)
    refresh = network.brokers["B3"].machines[-1]
    assert refresh.name == "refresh"
    times: dict[str, set[float]] = {"B2": set(), "c.1": set()}
    for _ in range(100):
        network.driver.run(0.5)
        for name, seen in times.items():
            seen.add(refresh.edges[name].heard_at)  # type: ignore[attr-defined]
    for name, seen in times.items():
        longest = max(b - a for a, b in zip(sorted(seen), sorted(seen)[1:], strict=False))
        asked = {"B2": network.brokers["B2"].refresh_seconds, "c.1": session.refreshing.seconds}
        assert longest <= asked[name] + 1.5, f"{name} compared {longest} s apart"
    assert network.faults() == {}


def test_one_slow_link_is_known_to_all_and_forgotten_with_its_broker() -> None:
    network = chain(0.002)
    stabilization, _ = settings()
    tree = network.brokers["B3"].tree
    network.brokers["B3"].neighbours["B2"].delay = 0.12
    network.driver.run(15.0)
    for broker in network.brokers.values():
        assert broker.tree.delay_any == pytest.approx(0.12, abs=0.011)
        assert broker.refresh_seconds < stabilization.refresh_seconds
    assert network.brokers["B1"].tree.delay == DELAY_SECONDS_MIN, "its own link is quick"
    for wrong in (1e12, -1.0, float("nan"), float("inf")):
        tree.slowest = wrong
        assert tree.delay_any == pytest.approx(0.12, abs=0.011)
    network.crash("B3")
    network.driver.run(15.0)
    assert network.brokers["B1"].tree.delay_any == pytest.approx(0.12, abs=0.011), "it is kept"
    network.brokers["B2"].handle(LinkDown("B3"), network.kernel.now)
    network.driver.run(15.0)
    assert network.brokers["B1"].tree.delay_any == DELAY_SECONDS_MIN


def test_a_delay_that_was_spoilt_is_not_believed() -> None:
    network = chain(0.002)
    broker = network.brokers["B2"]
    for wrong in (1e12, -1.0, float("nan"), float("inf")):
        broker.neighbours["B1"].delay = wrong
        assert broker.tree.delay == DELAY_SECONDS_MIN
    network.driver.run(11.0)
    assert broker.neighbours["B1"].delay < DELAY_SECONDS_MIN
