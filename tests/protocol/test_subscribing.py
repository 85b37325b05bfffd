"""The routing of an edge: decided by the broker, and changed live with nothing lost."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.brokers import handle, new_broker, tell
from protocol.wiring import Line, Wired, random_links
from sapwood.errors import RoutingError
from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Send
from sapwood.protocol.events import (
    ControlReceived,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    RoutingChanged,
)
from sapwood.protocol.messages import EdgeRouting, Subscribe, Unsubscribe

MakeLine = Callable[..., Line]
FILTERING = ["simple", "identity", "covering", "merging"]
ONE, TWO = Filter("x = 1"), Filter("x = 2")


def with_wants() -> Broker:
    return new_broker(
        ControlReceived("c.1", Subscribe("1", "x = 1")),
        ControlReceived("c.1", Subscribe("2", "x = 2")),
        routing="identity",
    )


def test_a_broker_decides_how_its_edges_are_routed_unless_it_is_told() -> None:
    broker = Broker(BrokerConfig(id="B", routing="merging"))
    broker.handle(LinkUp("N"), 0.0)
    broker.handle(LinkUp("M", sends="simple", receives="flooding"), 0.0)
    ways = {name: (one.sends, one.receives) for name, one in broker.neighbours.items()}
    assert ways == {"N": ("merging", "merging"), "M": ("simple", "flooding")}


def test_between_filtering_algorithms_only_the_difference_is_told() -> None:
    broker = with_wants()
    both = Filter("x in (1, 2)")
    assert handle(broker, RoutingChanged("N", "merging")) == [
        Send("N", Subscribe(both.id, "x in (1, 2)")),
        Send("N", Unsubscribe(ONE.id)),
        Send("N", Unsubscribe(TWO.id)),
    ]
    assert handle(broker, RoutingChanged("N", "merging")) == []
    assert broker.neighbours["N"].sends == "merging"


def test_flooding_begins_before_the_unsubscriptions_and_ends_behind_the_subscriptions() -> None:
    broker = with_wants()
    assert handle(broker, RoutingChanged("N", "flooding")) == [
        Send("N", EdgeRouting("flooding")),
        Send("N", Unsubscribe(ONE.id)),
        Send("N", Unsubscribe(TWO.id)),
    ]
    assert handle(broker, RoutingChanged("N", "identity")) == [
        Send("N", Subscribe(ONE.id, "x = 1")),
        Send("N", Subscribe(TWO.id, "x = 2")),
        Send("N", EdgeRouting("identity")),
    ]


def test_a_neighbour_that_is_away_learns_it_in_the_same_order_when_it_is_back() -> None:
    broker = with_wants()
    handle(broker, RoutingChanged("N", "flooding"))
    handle(broker, NeighbourAway("N"))
    assert handle(broker, RoutingChanged("N", "covering")) == []
    tell(broker, "c.1", Unsubscribe("2"))
    assert handle(broker, NeighbourBack("N")) == [
        Send("N", Subscribe(ONE.id, "x = 1")),
        Send("N", EdgeRouting("covering")),
    ]


def test_whoever_is_told_of_the_routing_floods_or_does_not() -> None:
    broker = new_broker()
    assert tell(broker, "N", EdgeRouting("flooding")) == []
    assert broker.forwarding.neighbours == {"N": True, "M": False}
    assert tell(broker, "N", EdgeRouting("simple")) == []
    assert broker.forwarding.neighbours == {"N": False, "M": False}
    assert tell(broker, "N", EdgeRouting("magic")) == []
    assert tell(broker, "c.1", EdgeRouting("flooding")) == []
    assert broker.drops.counts == {Drop.MALFORMED: 1, Drop.NOT_FOR_BROKERS: 1}


def test_an_edge_in_front_of_a_flooding_one_has_to_flood() -> None:
    broker = with_wants()
    handle(broker, RoutingChanged("N", "flooding"))
    tell(broker, "M", EdgeRouting("flooding"))
    with pytest.raises(RoutingError, match="B -> M floods, so B does not learn what to ask N for"):
        broker.handle(RoutingChanged("N", "covering"), 0.0)
    assert broker.neighbours["N"].sends == "flooding"
    assert handle(broker, RoutingChanged("M", "covering")) == []  # the other direction may


def test_what_makes_no_sense_is_refused() -> None:
    broker = with_wants()
    with pytest.raises(RoutingError, match="no routing algorithm 'magic'"):
        broker.handle(RoutingChanged("N", "magic"), 0.0)
    handle(broker, LinkUp("K", in_tree=False))
    assert handle(broker, RoutingChanged("K", "simple")) == []
    assert handle(broker, RoutingChanged("nobody", "simple")) == []
    assert broker.drops.counts == {Drop.LINK_UNKNOWN: 2}


@given(st.integers(0, 2**32))
def test_nothing_is_lost_whenever_edges_switch(seed: int) -> None:
    """Edges switch between all algorithms while notifications are under way."""
    random = Random(seed)
    links = random_links(5, random)
    network = Wired(links, algorithm=random.choice(FILTERING), random=random)
    leaf = "B5"
    (inner,) = network.around(leaf)
    for number in range(1, 6):
        network.connect(f"c{number}.1", f"B{number}")
        network.subscribe(f"c{number}.1", "a", f"x >= {number}")
    network.run()
    published = []
    for _ in range(30):
        if random.random() < 0.3:
            a, b = random.choice([(here, there) for here, there in network.queues])
            network.handle(a, RoutingChanged(b, random.choice(FILTERING)))
        elif random.random() < 0.2:  # all that a leaf publishes may be flooded by its neighbour
            way = random.choice(["flooding", *FILTERING])
            network.handle(inner, RoutingChanged(leaf, way))
        x, client = random.randrange(7), f"c{random.randrange(1, 6)}.1"
        published.append((network.publish(client, {"x": x}), x))
        for _ in range(random.randrange(5)):
            network.step()
    network.run()
    for number in range(1, 6):
        expected = sorted(name for name, x in published if x >= number)
        assert sorted(network.got[f"c{number}.1"]) == expected
    network.check()
