"""The status names both edges of every link."""

from __future__ import annotations

from protocol.wiring import Line
from sapwood.protocol.neighbours import EDGES
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.runtime.admin.edges import edges_status


def test_both_edges_of_a_link_are_named() -> None:
    auto = EdgeRoutingSettings(choice="auto")
    net = Line(2, algorithm="identity", features=(EDGES,), edges=auto, routing="identity")
    for effect in net.brokers["B1"].edges.flood("B2"):
        net._do("B1", effect)
    net.run()
    status = edges_status(net.brokers["B1"])
    found = [(one.source, one.target, one.mode, one.number) for one in status.edges]
    assert found == [("B1", "B2", "flooding", 1), ("B2", "B1", "identity", 0)]
    assert (status.choice, status.stopped) == ("auto", 1)
