"""A broker that a change had locked is restarted: it has forgotten the change, and does no harm."""

from __future__ import annotations

from collections import Counter

import pytest

from sapwood.protocol.reconfigure.state import Ring
from sapwood.sim.faithful.network import FaithfulNetwork
from sim.faithful.test_turning_outages import loaded, publish_for

BROKERS = ("B1", "B2", "B3", "B4")
LOCK_SECONDS = 4.0


def restarted(who: str, after: float, away: float) -> FaithfulNetwork:
    """A change under load of which one broker is killed and started again, and all that follows."""
    network = loaded()
    publish_for(network, 10.0)
    network.exchange("B1", ("B2", "B3"), ("B1", "B4"))
    first = network.nodes["B1"].broker.turning
    assert network.driver.run_until(lambda: first.ring is not None, 10.0, step=0.002)
    network.driver.run(after)
    began = network.kernel.now
    network.crash(who)
    network.driver.run(away)
    network.restart(who)
    assert network.driver.run_until(
        lambda: all(node.broker.turning.ring is None for node in network.nodes.values()),
        3 * LOCK_SECONDS,
        step=0.05,
    )
    assert network.kernel.now - began < 3 * LOCK_SECONDS
    network.driver.run(45.0)
    return network


def most_copies(network: FaithfulNetwork) -> int:
    return max(
        count
        for client in network.clients.values()
        for count in Counter((one.publisher, one.sequence) for one in client.deliveries).values()
    )


@pytest.mark.slow
@pytest.mark.parametrize("who", BROKERS)
@pytest.mark.parametrize(("after", "away"), [(0.06, 0.05), (0.15, 1.0), (0.25, 0.05)])
def test_nothing_comes_twice_and_the_tree_is_one_again(who: str, after: float, away: float) -> None:
    network = restarted(who, after, away)
    assert most_copies(network) == 1
    assert len(network.joined_links()) == 3
    assert network.problems() == []
    assert network.problems_at_rest() == []
    before = {name: len(client.deliveries) for name, client in network.clients.items()}
    for name in network.clients:
        network.publish(name, {"n": 99})
    network.driver.run(3.0)
    for name, client in network.clients.items():
        got = sorted(one.publisher for one in client.deliveries[before[name] :])
        assert got == sorted(network.clients)


@pytest.mark.slow
def test_one_that_counts_as_the_end_of_the_old_tree_would_bring_things_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Ring, "decider", property(lambda ring: ring.down))  # whoever it is
    assert most_copies(restarted("B3", 0.15, 1.0)) > 1


@pytest.mark.slow
def test_one_below_is_let_in_when_the_change_has_ended() -> None:
    network = loaded()
    network.exchange("B1", ("B2", "B3"), ("B1", "B4"))
    decider = network.nodes["B2"].broker.turning
    assert network.driver.run_until(lambda: decider.ring is not None, 10.0, step=0.002)
    network.crash("B3")
    known = network.nodes["B2"].broker.neighbours["B3"].session
    session = network.restart("B3").config.session
    network.driver.run(0.5)
    assert decider.excludes("B3", session)
    assert not decider.excludes("B3", known)
    assert not decider.excludes("B1", session)
    assert not network.is_linked("B2", "B3")
    assert network.driver.run_until(lambda: decider.ring is None, 3 * LOCK_SECONDS, step=0.05)
    assert network.driver.run_until(lambda: len(network.joined_links()) == 3, 45.0)
