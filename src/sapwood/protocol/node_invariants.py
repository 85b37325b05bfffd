"""What must hold of a node between two events: links, streams, flow, deadlines, and its broker.

Read-only, like those of a broker (``invariants``), and not quick. Each check gives one line per
problem. What concerns links is defined where it is mended, too (``link.consistency``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.link.consistency import (
    Finding,
    line_findings,
    peer_findings,
    structure_findings,
)

if TYPE_CHECKING:
    from sapwood.protocol.node import Node


def node_problems(node: Node) -> list[str]:
    """What is wrong with a node between two events."""
    found = [finding.what for finding in _findings(node)]
    found += _deadline_problems(node)
    return [f"{node.config.id}: {problem}" for problem in found] + broker_problems(node.broker)


def _findings(node: Node) -> Iterator[Finding]:
    for name, peer in node.peers.items():
        yield from peer_findings(node, name, peer, None)
    for number, line in node.lines.items():
        yield from line_findings(node, number, line, None)
    yield from structure_findings(node, None)


def _deadline_problems(node: Node) -> Iterator[str]:
    """The driver is asked for a tick before anything is due."""
    if node.deadline > node.next_at:
        yield f"a tick is wanted at {node.deadline}, though something is due at {node.next_at}"
