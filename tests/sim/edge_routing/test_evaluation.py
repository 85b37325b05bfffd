"""The evaluation of hybrid routing, at a reduced size: fewer brokers, and a tenth of the rates."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.routing.algorithms import peer_to_peer
from sapwood.sim.edge_routing.evaluation import Evaluation, Setup, excess
from sapwood.sim.edge_routing.validity import invalid_edges
from sapwood.sim.network import Network

RAMP = ((0.0, 10.0), (10.0, 10.0), (60.0, 20_000.0), (100.0, 20_000.0), (120.0, 20.0))
QUICK = EdgeRoutingSettings(
    choice="auto",
    telling=("simple",),
    unit="messages",
    period_seconds=4.0,
    window_seconds=8.0,
    hold_seconds=8.0,
)


def small(**changes: Any) -> Setup:
    """Seven brokers; everything happens in three minutes."""
    setup = Setup(depth=2, scale=20.0, ramp=RAMP, seconds=180, lifetime=10.0, settings=QUICK)
    return setup._replace(**changes)


@pytest.mark.slow
def test_edges_flood_at_the_peak_and_tell_again_afterwards() -> None:
    evaluation = Evaluation(small())
    seconds = evaluation.run()
    assert evaluation.invalid == []
    assert evaluation.network.problems() == []
    assert seconds[9].flooded_edges == 0
    assert 4 <= seconds[99].flooded_edges <= 10
    assert seconds[-1].flooded_edges <= 2
    carried = sum(one.carried for one in seconds)
    assert carried < 0.8 * min(
        sum(one.simple for one in seconds), sum(one.flooding for one in seconds)
    )


def test_one_seed_gives_one_run() -> None:
    runs = [Evaluation(small(seconds=40)).run() for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.slow
def test_at_a_constant_rate_switches_come_to_an_end() -> None:
    """With all ways of telling, and filters that cover others.

    A fortieth of the rates has six times the noise, for which more deviations allow.
    """
    settings = EdgeRoutingSettings(
        choice="auto",
        telling=("simple", "identity", "covering", "merging"),
        unit="messages",
        deviations=6.0,
    )
    setup = Setup(
        depth=2,
        scale=40.0,
        ramp=((0.0, 20_000.0),),
        seconds=450,
        settings=settings,
        start="simple",
        groups=0.1,
    )
    evaluation = Evaluation(setup)
    seconds = evaluation.run()
    assert sum(one.switches for one in seconds) > 0
    assert sum(one.switches for one in seconds[300:]) == 0
    assert evaluation.invalid == []


@pytest.mark.slow
def test_looking_changes_nothing() -> None:
    """Decisions are noted, and nothing is switched."""
    settings = msgspec.structs.replace(QUICK, choice="observe")
    evaluation = Evaluation(small(settings=settings, seconds=100))
    seconds = evaluation.run()
    assert seconds[-1].flooded_edges == 0
    brokers = evaluation.network.brokers.values()
    assert any(one.edge_choice.decisions for one in brokers)
    assert {one.outcome for broker in brokers for one in broker.edge_choice.decisions} == {
        "observed"
    }


@pytest.mark.slow
def test_a_share_of_edges_may_flood() -> None:
    settings = msgspec.structs.replace(QUICK, flood_max_share=0.5)
    evaluation = Evaluation(small(settings=settings, seconds=100))
    evaluation.run()
    for broker in evaluation.network.brokers.values():
        flooded = [one.is_flooded for one in broker.neighbours.values()]
        assert sum(flooded) <= len(flooded) / 2


def test_an_edge_that_filters_before_one_that_floods_is_found() -> None:
    net = Network(Random(1), {"routing": "identity"})
    links = [("B1", "B2"), ("B2", "B3")]
    net.build_tree(links, lambda random: 0.0, peer_to_peer(links, "identity"))
    assert list(invalid_edges(net.brokers)) == []
    net.brokers["B2"].neighbours["B3"].receives = "flooding"
    assert list(invalid_edges(net.brokers)) == ["B1 -> B2 filters, and B2 -> B3 floods"]


def test_the_excess_is_over_the_cheaper_one() -> None:
    seconds = Evaluation(small(seconds=30)).run()
    assert excess([one._replace(carried=11, simple=10, flooding=50) for one in seconds]) == (
        pytest.approx(0.1)
    )
