"""How the edges of a broker are routed, for its status."""

from __future__ import annotations

from typing import Any

from sapwood.protocol.broker import Broker
from sapwood.runtime.admin.status import EdgesStatus, EdgeStatus


def edges_status(broker: Broker) -> EdgesStatus:
    """Both edges of every link of the tree."""
    switching, choosing = broker.edges.report(), broker.edge_choice.report()
    edges: list[EdgeStatus] = []
    for name, one in switching["by_neighbour"].items():
        to, back = choosing.get("to", {}).get(name, {}), choosing.get("from", {}).get(name, {})
        edges += [
            _edge(broker.id, name, one["receives"], one["receives_number"], to),
            _edge(name, broker.id, one["sends"], one["sends_number"], back),
        ]
    return EdgesStatus(
        choice=choosing["choice"],
        stopped=switching["stopped"],
        told=switching["told"],
        contradicted=switching["contradicted"],
        unanswered=switching["unanswered"],
        observed=choosing.get("observed", 0),
        edges=tuple(edges),
    )


def _edge(source: str, target: str, mode: str, number: int, seen: dict[str, Any]) -> EdgeStatus:
    known = {key: value for key, value in seen.items() if key != "mode"}
    return EdgeStatus(source=source, target=target, mode=mode, number=number, **known)
