"""The simulated network: delays, order, rows, counts, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import RoutingError, TopologyError
from sapwood.protocol.effects import Effect, ResetStream, Send
from sapwood.protocol.events import Event, Tick
from sapwood.protocol.messages import Refused, Unsubscribe
from sapwood.protocol.stabilize.settings import StabilizationSettings
from sapwood.routing.algorithms import hierarchical, peer_to_peer
from sapwood.sim.network import Direction, Hops, Network
from sapwood.wire.frames import decode_envelope, decode_head, split

LINE = [("B1", "B2"), ("B2", "B3")]
ALGORITHMS = ["flooding", "simple", "identity", "covering", "merging"]


def steady(random: Random) -> float:
    return 1.0


def new_network(
    algorithm: str = "covering",
    delay: Callable[[Random], float] = steady,
    record: Callable[..., None] | None = None,
    **config: Any,
) -> Network:
    """B1 - B2 - B3 with a client s at B1 and p at B3."""
    network = Network(Random(1), config, record)
    network.build_tree(LINE, delay, peer_to_peer(LINE, algorithm))
    network.connect("s.1", "B1")
    network.connect("p.1", "B3")
    return network


class Deliveries:
    """Who got what, when."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.all: list[tuple[float, str, str, int]] = []
        network.deliveries = self

    def __call__(self, session: str, data: bytes) -> None:
        for _, head, body in split(data):
            name = decode_head(head)[0], decode_envelope(body).sequence
            self.all.append((self._network.kernel.now, session, *name))


def test_tables_heal_over_simulated_links_and_a_silent_one_begins_anew() -> None:
    settings = StabilizationSettings(refresh_seconds=5.0, delay_max=2.0)
    network = new_network(stabilization=settings)
    network.subscribe("s.1", "1", "n > 0")
    network.kernel.run(30.0)
    far = network.brokers["B3"]
    (entry,) = far.subscriptions.of("B2")
    far.remove(far.subscriptions, "B2", entry.id)
    network.kernel.run(45.0)
    assert (far.subscriptions.of("B2"), network.problems()) == ([entry], [])
    before = network.directions["B3", "B2"]
    mute = network.brokers["B2"].neighbours["B3"]
    mute.features = ()  # as a broker that has forgotten to whom it is linked
    network.kernel.run(80.0)
    after = network.directions["B3", "B2"]
    assert after is not before
    network.kernel.run(85.0)
    assert (far.subscriptions.of("B2"), network.problems()) == ([entry], [])
    network._reset(network._stations["B1"], ResetStream("s.1", "silent"))
    network._reset(network._stations["B1"], ResetStream("nobody", "silent"))
    assert "s.1" not in network.clients


def test_a_notification_takes_as_long_as_the_links_it_goes_over() -> None:
    network = new_network()
    deliveries = Deliveries(network)
    network.subscribe("s.1", "a", "x = 1", settle=False)
    network.kernel.run()
    assert network.kernel.now == 2.0
    assert network.publish("p.1", {"x": 1}) == 1
    assert network.publish("p.1", {"x": 2}) == 2
    network.kernel.run()
    assert deliveries.all == [(4.0, "s.1", "p.1", 1)]
    assert network.hops() == Hops(notifications=2, control=2, settling=0)
    assert network.problems() == []


def test_a_publisher_gets_what_it_subscribed_to_at_once() -> None:
    network = new_network()
    deliveries = Deliveries(network)
    network.subscribe("s.1", "a", "x = 1", settle=False)
    network.publish("s.1", {"x": 1})
    assert deliveries.all == [(0.0, "s.1", "s.1", 1)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_settling_is_told_to_the_client_and_counted_apart(algorithm: str) -> None:
    network = new_network(algorithm)
    request = network.subscribe("s.1", "a", "x = 1")
    assert network.clients["s.1"].settled == {}
    network.kernel.run(until=4.0)
    assert network.clients["s.1"].settled == {request: True}
    assert network.hops() == Hops(0, 0 if algorithm == "flooding" else 2, settling=4)
    request = network.unsubscribe("s.1", "a")
    network.kernel.run()
    assert network.clients["s.1"].settled[request]
    assert network.problems() == []


def test_what_a_client_had_goes_when_it_disconnects() -> None:
    network = new_network(advertisements_required=True)
    network.advertise("p.1", "a", "x = 1")
    network.subscribe("s.1", "a", "x = 1")
    network.kernel.run()
    network.disconnect("s.1")
    network.unadvertise("p.1", "a")
    network.kernel.run()
    assert [len(broker.subscriptions) for broker in network.brokers.values()] == [0, 0, 0]
    assert [len(broker.advertisements) for broker in network.brokers.values()] == [0, 0, 0]
    assert "s.1" not in network.clients


def test_a_refused_publication_is_told_to_the_client() -> None:
    network = new_network(advertisements_required=True)
    network.publish("p.1", {"x": 1})
    (refusal,) = network.clients["p.1"].refused
    assert (refusal.sequence, "advertise" in refusal.reason) == (1, True)
    network.subscribe("s.1", "a", "x >")
    assert network.clients["s.1"].refused[0].request == 1


@given(st.integers(0, 2**32))
def test_a_link_keeps_the_order_whatever_the_delays(seed: int) -> None:
    network = new_network(delay=lambda random: random.choice([0.0, 0.1, 5.0]))
    network._random = Random(seed)
    deliveries = Deliveries(network)
    network.subscribe("s.1", "a", "exists x")
    network.kernel.run()
    for number in range(20):
        network.kernel.at(network.kernel.now + number / 10, network.publish, "p.1", {"x": number})
    network.kernel.run()
    assert [sequence for *_, sequence in deliveries.all] == list(range(1, 21))


def test_what_is_under_way_on_a_link_that_is_cut_is_lost() -> None:
    network = new_network()
    deliveries = Deliveries(network)
    network.subscribe("s.1", "a", "x = 1", settle=False)
    network.kernel.run()
    network.publish("p.1", {"x": 1})
    network.kernel.run(until=network.kernel.now + 1.5)
    network.cut_link("B1", "B2")
    assert network.hops() == Hops(notifications=2, control=2 + 1, settling=0)
    network.add_link("B1", "B2", steady, peer_to_peer(LINE, "covering"))
    network.kernel.run()
    network.publish("p.1", {"x": 1})
    network.kernel.run()
    assert [name for *_, name in deliveries.all] == [2]
    assert network.problems() == []


def test_the_same_seed_gives_the_same_run() -> None:
    def rows(seed: int) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        network = new_network(
            delay=lambda random: random.random(),
            record=lambda broker, kind, **fields: found.append(
                (network.kernel.now if found else 0.0, broker, kind, sorted(fields.items()))
            ),
        )
        network._random = Random(seed)
        network.subscribe("s.1", "a", "x > 3")
        for x in range(10):
            network.kernel.at(x, network.publish, "p.1", {"x": x})
        network.kernel.run()
        return found

    assert rows(1) == rows(1)
    assert rows(1) != rows(2)


def test_rows_say_what_happened_in_the_order_it_happened() -> None:
    rows: list[tuple[str, str, dict[str, Any]]] = []
    network = new_network(record=lambda broker, kind, **fields: rows.append((broker, kind, fields)))
    network.subscribe("s.1", "a", "x = 1")
    network.kernel.run(until=5.0)
    network.publish("p.1", {"x": 1}, payload=b"data")
    network.kernel.run()
    size = 7 + 9 + 25 + 4
    name = {"publisher": "p.1", "sequence": 1, "bytes": size}
    own = {"client": "s.1", "filter": "x = 1"}
    assert rows == [
        ("B1", "subscribed", own),
        ("B1", "settled", {**own, "message": "subscribed"}),
        (
            "B3",
            "published",
            {**name, "client": "p.1", "client_order": 1, "attributes": '{"x":1}'},
        ),
        ("B3", "forwarded", {**name, "source": "B3", "target": "B2"}),
        ("B2", "forwarded", {**name, "source": "B2", "target": "B1"}),
        ("B1", "delivered", {**name, "client": "s.1", "client_order": 1, "target": "s.1"}),
    ]


class Ticks:
    """When which broker is brought a tick."""

    def __init__(self, network: Network) -> None:
        self.all: list[tuple[float, str]] = []
        self._network = network
        self._arrive = network._arrive
        network._arrive = self  # type: ignore[method-assign]

    def __call__(self, direction: Direction, event: Event) -> None:
        if isinstance(event, Tick):
            self.all.append((self._network.kernel.now, direction.target.name))
        self._arrive(direction, event)


def test_a_tick_comes_when_the_broker_wants_it_and_only_then() -> None:
    network = new_network(settle_interval=10.0)
    ticks = Ticks(network)
    network.subscribe("s.1", "a", "x = 1")
    network.subscribe("s.1", "b", "x = 2")  # waits for the second wave
    network.kernel.run()
    assert ticks.all == [(10.0, "B1")]  # none at the deadlines: nobody waits for them any more
    assert network.clients["s.1"].settled == {1: True, 2: True}


def test_a_tick_that_an_earlier_one_has_overtaken_does_not_come() -> None:
    network = new_network()
    ticks = Ticks(network)
    station = network._stations["B1"]
    broker = SimpleNamespace(next_at=5.0)

    def handle(event: Event, now: float) -> list[Effect]:
        broker.next_at = None
        return []

    broker.handle = handle
    station.broker = broker  # type: ignore[assignment]
    network._plan_tick(station)
    broker.next_at = 4.0
    network._plan_tick(station)
    network._plan_tick(station)
    network.kernel.run()
    assert ticks.all == [(4.0, "B1")]


def test_what_is_for_nobody_is_dropped() -> None:
    network = new_network()
    station = network._stations["B1"]
    network._send(station, Send("gone.1", Refused("no")))
    network._send(station, Send("B3", Unsubscribe("a")))
    network._deliver("gone.1", b"")
    assert len(network.kernel) == 0


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda network: network.add_broker("B1"), "broker 'B1' already"),
        (lambda network: network.add_link("B1", "B9", steady, {}), "no broker 'B9'"),
        (lambda network: network.add_link("B1", "B2", steady, {}), "one at most"),
        (lambda network: network.add_link("B1", "B1", steady, {}), "joins two brokers"),
        (lambda network: network.cut_link("B1", "B3"), "no link B1-B3"),
        (lambda network: network.connect("a.1", "B9"), "no broker 'B9'"),
        (lambda network: network.connect("s.1", "B1"), "of that name"),
        (lambda network: network.connect("B2", "B1"), "of that name"),
    ],
)
def test_what_cannot_be_built_is_refused(build: Callable[[Network], object], problem: str) -> None:
    network = new_network()
    clients = list(network.clients)
    with pytest.raises(TopologyError, match=problem):
        build(network)
    assert list(network.clients) == clients
    network.kernel.run()
    assert network.problems() == []


def test_a_mix_that_would_lose_notifications_is_refused() -> None:
    routing = peer_to_peer(LINE, "covering")
    routing["B2", "B3"] = "flooding"
    with pytest.raises(RoutingError):
        Network(Random(1)).build_tree(LINE, steady, routing)


def test_the_hierarchical_variant_delivers_and_sends_subscriptions_up_only() -> None:
    network = Network(Random(1))
    network.build_tree(LINE, steady, hierarchical(LINE, "covering", root="B2"))
    network.connect("s.1", "B1")
    network.connect("p.1", "B3")
    deliveries = Deliveries(network)
    network.subscribe("s.1", "a", "x = 1")
    network.kernel.run()
    network.publish("p.1", {"x": 1})
    network.publish("p.1", {"x": 2})
    network.kernel.run()
    assert [name for *_, name in deliveries.all] == [1]
    assert network.hops()[:2] == (3, 1)
    assert network.problems() == []


def test_a_link_outside_the_tree_carries_nothing() -> None:
    network = new_network()
    network.add_link("B1", "B3", steady, peer_to_peer([("B1", "B3")], "covering"), in_tree=False)
    network.subscribe("s.1", "a", "x = 1")
    network.kernel.run()
    network.publish("p.1", {"x": 1})
    network.kernel.run()
    outside = network.directions["B1", "B3"], network.directions["B3", "B1"]
    assert [(one.notifications, one.control.total()) for one in outside] == [(0, 0), (0, 0)]
    assert network.problems() == []
