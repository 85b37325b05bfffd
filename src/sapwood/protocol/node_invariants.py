"""What must hold of a node between two events: links, streams, flow, deadlines, and its broker.

Read-only, like those of a broker (``invariants``), and not quick. Each check gives one line per
problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.link.states import LineState, TargetState

if TYPE_CHECKING:
    from sapwood.protocol.node import Node


def node_problems(node: Node) -> list[str]:
    """What is wrong with a node between two events."""
    found = [
        *_peer_problems(node),
        *_roster_problems(node),
        *_line_problems(node),
        *_flow_problems(node),
        *_deadline_problems(node),
    ]
    return [f"{node.config.id}: {problem}" for problem in found] + broker_problems(node.broker)


def _peer_problems(node: Node) -> Iterator[str]:
    """A peer has a line or is away; its stream is connected just then, and its counts fit."""
    for name, peer in node.peers.items():
        if name != peer.name:
            yield f"{peer.name} is kept as {name}"
        is_away = peer.away_since is not None
        if is_away != (peer.line is None) or peer.channel.connected != (peer.line is not None):
            yield f"{name} is away since {peer.away_since} and has {peer.line}"
        if peer.line is not None and peer.line.peer is not peer:
            yield f"the line of {name} belongs to {peer.line.peer}"
        for problem in peer.channel.problems():
            yield f"the stream to {name}: {problem}"


def _roster_problems(node: Node) -> Iterator[str]:
    """The broker knows the peers, and nobody else."""
    clients = sorted(name for name, peer in node.peers.items() if peer.is_client)
    if clients != sorted(node.broker.clients):
        yield f"clients are {clients}, to the broker {sorted(node.broker.clients)}"
    if node.client_count != len(clients):
        yield f"{len(clients)} clients, counted {node.client_count}"
    neighbours = sorted(name for name, peer in node.peers.items() if not peer.is_client)
    if neighbours != sorted(node.broker.neighbours):
        yield f"neighbours are {neighbours}, to the broker {sorted(node.broker.neighbours)}"


def _line_problems(node: Node) -> Iterator[str]:
    """Every line is waited for by whoever its state says."""
    watched = {number for _, number in node.keepalive.due}
    calling = {
        one.line for one in node.dialing.targets if one.state is TargetState.CALLING and one.line
    }
    expected = {
        LineState.GREETING: node.admission.greeting.keys(),
        LineState.EXAMINING: node.admission.applicants.keys(),
        LineState.CALLING: calling,
        LineState.OPEN: watched,
    }
    for number, line in node.lines.items():
        if line.state in expected and number not in expected[line.state]:
            yield f"{line} is waited for by nobody"
        if (line.peer is not None) != (line.state is LineState.OPEN):
            yield f"{line} belongs to {line.peer}"


def _flow_problems(node: Node) -> Iterator[str]:
    """Who is held back knows by whom, and only those get no credit."""
    for name, peer in node.peers.items():
        for held in peer.holds:
            other = node.peers.get(held)
            if other is None or name not in other.holders:
                yield f"{name} holds back {held}, who does not know"
        for holder in peer.holders:
            other = node.peers.get(holder)
            if other is None or name not in other.holds:
                yield f"{name} is held back by {holder}, who does not know"
        if peer.channel.withheld != (bool(peer.holders) or node.broker.is_restoring):
            yield f"the credit of {name} is {'' if peer.channel.withheld else 'not '}withheld"


def _deadline_problems(node: Node) -> Iterator[str]:
    """The driver is asked for a tick before anything is due."""
    if node.deadline > node.next_at:
        yield f"a tick is wanted at {node.deadline}, though something is due at {node.next_at}"
