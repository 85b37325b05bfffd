"""The network at one moment, from what its brokers say."""

from __future__ import annotations

from random import Random
from typing import Any

from sapwood.demo.watching import AWAY, DOWN, LINKED, BrokerView, LinkView, view_of
from sapwood.sim.topology import make_topology

TREE = make_topology("tree", 3, Random(0))


def status(*neighbours: tuple[str, str]) -> dict[str, Any]:
    return {
        "clients": [{}, {}],
        "tables": {"subscriptions": 5},
        "counts": {"resumed": 1},
        "neighbours": [
            {"id": name, "state": state, "rate": {"frames_in": 2.0, "frames_out": 3.0}}
            for name, state in neighbours
        ],
    }


def test_links_are_seen_from_the_side_of_the_root() -> None:
    view = view_of(
        TREE,
        {
            "B1": status(("B2", "linked"), ("B3", "away")),
            "B2": status(("B1", "linked")),
            "B3": status(),
        },
    )
    assert view.links == {("B1", "B2"): LinkView(LINKED, 3.0, 2.0), ("B1", "B3"): LinkView(AWAY)}
    assert view.brokers["B1"] == BrokerView(is_up=True, clients=2, entries=5, resumed=1)


def test_who_does_not_answer_is_down_and_so_are_its_links() -> None:
    view = view_of(TREE, {"B1": status(("B3", "linked")), "B2": None, "B3": status()})
    assert view.brokers["B2"] == BrokerView(is_up=False)
    assert view.links == {("B1", "B2"): LinkView(DOWN), ("B1", "B3"): LinkView(LINKED, 3.0, 2.0)}
