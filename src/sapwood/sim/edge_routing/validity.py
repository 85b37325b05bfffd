"""Whether all edges of a network are routed so that nothing can be missed, at any instant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sapwood.protocol.broker import Broker


def invalid_edges(brokers: Mapping[str, Broker]) -> Iterator[str]:
    """Edges that filter though a successor floods, by what the sending ends really do (Eq. 1)."""
    for name, broker in brokers.items():
        tree = {other: one for other, one in broker.neighbours.items() if one.in_tree}
        flooded = [other for other, one in tree.items() if one.is_flooded]
        if not flooded:
            continue
        for before in tree:
            sender = brokers.get(before)
            if sender is None or name not in sender.neighbours:
                continue
            behind = [other for other in flooded if other != before]
            there = sender.neighbours[name]
            if behind and there.in_tree and not there.is_flooded:
                yield f"{before} -> {name} filters, and {name} -> {behind[0]} floods"
