"""One edge switches between telling and flooding: nothing is lost, repeated or late."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.wiring import Line
from sapwood.protocol.drops import Drop
from sapwood.protocol.events import ControlReceived, FramesReceived, Tick
from sapwood.protocol.invariants import network_problems
from sapwood.protocol.messages import EdgeRouting, Message
from sapwood.protocol.neighbours import EDGES, REFRESH
from sapwood.protocol.optimize.edges.messages import Filtering, PleaseTell, Stop, Stopped, Tell
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.protocol.stabilize.settings import StabilizationSettings

AUTO = EdgeRoutingSettings(choice="auto")


def three() -> Line:
    """B1 - B2 - B3, a client at each, all of them with a wish of their own."""
    net = Line(3, algorithm="identity", features=(EDGES,), edges=AUTO, routing="identity")
    for number in (1, 2, 3):
        net.connect(f"c{number}", f"B{number}")
        net.subscribe(f"c{number}", "s", f"x = {number}")
    net.run()
    return net


def switch(net: Line, name: str, neighbour: str, how: str = "") -> None:
    """Let the edge to a neighbour flood, or the one from it tell."""
    edges = net.brokers[name].edges
    effects = edges.tell(neighbour, how) if how else edges.flood(neighbour)
    for effect in effects:
        net._do(name, effect)


def is_flooded(net: Line, name: str, neighbour: str) -> bool:
    return net.brokers[name].neighbours[neighbour].is_flooded


def test_an_edge_from_a_leaf_floods_and_tells_again() -> None:
    net = three()
    switch(net, "B1", "B2")
    net.run()
    first, second = net.brokers["B1"], net.brokers["B2"]
    assert is_flooded(net, "B1", "B2")
    assert second.neighbours["B1"].floods
    assert first.subscriptions.of("B2") == []
    assert second.subscriptions.told("B1") == {}
    net.publish("c1", {"x": 2})
    net.publish("c1", {"x": 7})
    net.run()
    assert net.got["c2"] == [("c1", 1)]
    assert net.forwarded == [("B1", "B2", 1), ("B1", "B2", 1)]
    switch(net, "B2", "B1", "covering")
    net.run()
    assert not is_flooded(net, "B1", "B2")
    assert second.neighbours["B1"].is_confirmed
    assert {str(one.filter) for one in first.subscriptions.of("B2")} == {"x = 2", "x = 3"}
    net.publish("c1", {"x": 7})
    net.publish("c1", {"x": 3})
    net.run()
    assert net.got["c3"] == [("c1", 4)]
    assert len(net.forwarded) == 4
    net.check()


def lie(net: Line, message: Message) -> int:
    """Let B2 say something to B1; how often B1 has dropped such things then."""
    first = net.brokers["B1"]
    before = first.drops.counts[Drop.OLD_SWITCH] + first.drops.counts[Drop.MALFORMED]
    net.handle("B1", ControlReceived("B2", message))
    return first.drops.counts[Drop.OLD_SWITCH] + first.drops.counts[Drop.MALFORMED] - before


@pytest.mark.parametrize(
    "message",
    [
        Tell(0),
        Stopped(0),
        Stopped(5),
        Filtering(3),
        EdgeRouting("gossip", 1),
        PleaseTell((), 1e9),
    ],
)
def test_what_makes_no_sense_is_counted_and_changes_nothing(message: Message) -> None:
    net = three()
    before = net.brokers["B1"].snapshot()
    assert lie(net, message) == 1
    assert net.brokers["B1"].snapshot() == before


def test_what_belongs_to_an_older_switch_is_ignored() -> None:
    net = three()
    switch(net, "B1", "B2")
    net.run()
    switch(net, "B2", "B1", "identity")
    net.run()
    assert net.brokers["B1"].neighbours["B2"].outward_number == 2
    for message in (Tell(1), EdgeRouting("flooding", 1), Stopped(1)):
        assert lie(net, message) == 1
    assert not is_flooded(net, "B1", "B2")
    second = net.brokers["B2"]
    net.handle("B2", ControlReceived("B1", Stop(1)))
    assert not second.neighbours["B1"].floods


def test_a_broker_that_is_told_what_to_send_cannot_flood_beyond() -> None:
    net = three()
    refusal = net.brokers["B2"].edges.flooding_refusal("B3")
    assert refusal == "B1 is told what to send, so what B3 wants has to be known"
    switch(net, "B1", "B2")
    net.run()
    switch(net, "B2", "B3")
    net.run()
    refusal = net.brokers["B2"].edges.telling_refusal("B1")
    assert refusal == "B3 gets everything, so what it wants is not known"


def test_neighbours_of_earlier_releases_are_left_alone() -> None:
    net = Line(2, algorithm="identity", edges=AUTO, routing="identity")
    assert "knows switches" in net.brokers["B1"].edges.flooding_refusal("B2")


@pytest.mark.parametrize(
    "spoil",
    [
        {"receives": "flooding"},
        {"outward_number": 7},
        {"outward_phase": "stopping"},
        {"sends": "flooding", "announced": "flooding"},
        {"inward_number": 2**40},
        {"is_stopped": True},
    ],
)
@pytest.mark.parametrize("is_flooded_first", [False, True])
def test_spoilt_edges_agree_again_after_some_comparisons(
    spoil: dict[str, Any], is_flooded_first: bool
) -> None:
    """Numbers and modes that a fault made wrong; everybody gets what he wants afterwards."""
    net = Line(
        3,
        algorithm="identity",
        features=(EDGES, REFRESH),
        edges=EdgeRoutingSettings(choice="auto", period_seconds=1e6),
        routing="identity",
        stabilization=StabilizationSettings(refresh_seconds=1.0),
    )
    for number in (1, 2, 3):
        net.connect(f"c{number}", f"B{number}")
        net.subscribe(f"c{number}", "s", f"x = {number}")
    net.run()
    if is_flooded_first:
        switch(net, "B1", "B2")
        net.run()
    for key, value in spoil.items():
        setattr(net.brokers["B1"].neighbours["B2"], key, value)
    for _ in range(10):
        net.now += 1.0
        for name, broker in net.brokers.items():
            for effect in broker.handle(Tick(), net.now):
                net._do(name, effect)
        while any(net.queues.values()):
            edge = next(one for one, queue in net.queues.items() if queue)
            event = FramesReceived(edge[0], net.queues[edge].popleft())
            for effect in net.brokers[edge[1]].handle(event, net.now):
                net._do(edge[1], effect)
    first, second = (net.brokers[name].neighbours for name in ("B1", "B2"))
    assert first["B2"].outward_number == second["B1"].inward_number
    assert second["B1"].outward_number == first["B2"].inward_number
    assert first["B2"].is_flooded == second["B1"].floods
    assert second["B1"].is_flooded == first["B2"].floods
    assert network_problems(net.brokers) == []
    before = {client: len(got) for client, got in net.got.items()}
    for number in (1, 2, 3):
        net.publish("c1", {"x": number})
        net.publish("c3", {"x": number})
    net.run()
    assert {client: len(got) - before[client] for client, got in net.got.items()} == {
        "c1": 2,
        "c2": 2,
        "c3": 2,
    }
