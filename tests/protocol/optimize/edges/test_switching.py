"""One edge switches between telling and flooding: nothing is lost, repeated or late."""

from __future__ import annotations

from protocol.wiring import Line
from sapwood.protocol.neighbours import EDGES
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings

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
