"""A broker measures its edges, decides by that, and says why."""

from __future__ import annotations

from protocol.wiring import Line
from sapwood.protocol.events import Tick
from sapwood.protocol.neighbours import EDGES
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings

SETTINGS = EdgeRoutingSettings(
    choice="auto",
    telling=("identity",),
    unit="messages",
    period_seconds=1.0,
    window_seconds=1.0,
    hold_seconds=5.0,
)


def pair(settings: EdgeRoutingSettings = SETTINGS) -> Line:
    """B1 with a publisher, and B2 with a client whose wishes change."""
    net = Line(2, algorithm="identity", features=(EDGES,), edges=settings, routing="identity")
    net.connect("p", "B1")
    net.connect("c", "B2")
    tick(net)
    return net


def tick(net: Line) -> None:
    for name in net.brokers:
        net.handle(name, Tick())
    net.run()
    net.now += 1.0


def is_flooded(net: Line) -> bool:
    return net.brokers["B1"].neighbours["B2"].is_flooded


def churn(net: Line, wishes: int) -> None:
    """Some wishes come and go within a second."""
    for number in range(wishes):
        net.subscribe("c", str(number), f"x = {number}")
        net.unsubscribe("c", str(number))
    net.run()


def test_many_changing_wishes_and_few_notifications_lead_to_flooding_and_back() -> None:
    net = pair()
    churn(net, 20)
    net.publish("p", {"x": 1})
    tick(net)
    first = net.brokers["B1"]
    assert is_flooded(net)
    (decision,) = first.edge_choice.decisions
    assert str(decision).startswith("identity -> flooding: 40.0 -> 1.0 messages/s")
    for _ in range(20):
        net.publish("p", {"x": 1})
    net.run()
    tick(net)
    assert is_flooded(net)  # the edge is held
    for _ in range(6):
        for _ in range(20):
            net.publish("p", {"x": 1})
        net.run()
        tick(net)
    assert not is_flooded(net)
    report = net.brokers["B2"].edge_choice.report()
    assert report["from"]["B1"]["last"].startswith("flooding -> identity")
    assert net.brokers["B1"].report().edges[0].number == 2


def test_where_nothing_may_flood_nothing_does() -> None:
    net = pair(EdgeRoutingSettings(choice="auto", period_seconds=1.0, flooding=False))
    churn(net, 20)
    tick(net)
    assert not is_flooded(net)
