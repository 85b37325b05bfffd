"""Each thing that can be wrong is found, with what helps; without a fault nothing is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from protocol.joined import Network, line_of
from sapwood.protocol.link.consistency import (
    ENDED_SECONDS,
    Remedy,
    line_findings,
    peer_findings,
    structure_findings,
)
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.states import LineState
from sapwood.protocol.node import Node


def network() -> Network:
    net = line_of(2)
    net.client("c", "B1").subscribe("n >= 0")
    net.advance(0.2)
    return net


def found(node: Node, now: float) -> set[Remedy]:
    findings = [*structure_findings(node, now)]
    for name, peer in node.peers.items():
        findings += peer_findings(node, name, peer, now)
    for number, line in node.lines.items():
        findings += line_findings(node, number, line, now)
    assert all(finding.what for finding in findings)
    return {finding.remedy for finding in findings}


def test_nothing_is_found_without_a_fault() -> None:
    net = network()
    assert [found(node, net.now) for node in net.nodes.values()] == [set(), set()]


def line_of_peer(peer: Peer) -> Any:
    assert peer.line is not None
    return peer.line


def shorten_what_waits(peer: Peer) -> None:
    """Less data than was counted: the rest of the frame would be waited for at the other end."""
    peer.channel.push(bytes(20), 1)
    spool: Any = peer.channel.spool
    spool._waiting[0] = spool._waiting[0]._replace(data=bytes(2))


SPOILT: list[tuple[Remedy, Callable[[Node, Peer], None]]] = [
    (Remedy.STREAM, lambda node, peer: setattr(peer, "name", "ghost")),
    (Remedy.STREAM, lambda node, peer: setattr(peer, "is_client", True)),
    (Remedy.STREAM, lambda node, peer: setattr(peer.channel, "sent", 99)),
    (Remedy.STREAM, lambda node, peer: setattr(peer.channel, "_sent_ever", 99)),
    (Remedy.STREAM, lambda node, peer: setattr(peer.channel, "window", 2**40)),
    (Remedy.STREAM, lambda node, peer: setattr(peer.channel, "_half_full", 1)),
    (Remedy.STREAM, lambda node, peer: setattr(peer.channel.spool, "given_up", -1)),
    (Remedy.STREAM, lambda node, peer: setattr(peer.channel.spool, "_partly", 1)),
    (Remedy.STREAM, lambda node, peer: shorten_what_waits(peer)),
    (Remedy.LINE, lambda node, peer: setattr(peer.channel, "_granted", 2**40)),
    (Remedy.LINE, lambda node, peer: setattr(peer.channel, "connected", False)),
    (Remedy.LINE, lambda node, peer: setattr(peer, "is_over", True)),
    (Remedy.LINE, lambda node, peer: setattr(line_of_peer(peer), "peer", None)),
    (Remedy.LINE, lambda node, peer: setattr(line_of_peer(peer), "number", 99)),
    (Remedy.LINE, lambda node, peer: node.peers.clear()),
    (Remedy.LINE, lambda node, peer: setattr(line_of_peer(peer), "state", LineState.CLOSING)),
    (Remedy.LINE, lambda node, peer: setattr(line_of_peer(peer), "state", LineState.EXAMINING)),
    (Remedy.LINE, lambda node, peer: setattr(line_of_peer(peer), "silence", -1.0)),
    (Remedy.LINE, lambda node, peer: setattr(line_of_peer(peer), "out", [7])),
    (Remedy.LINE, lambda node, peer: setattr(line_of_peer(peer), "rest", [b"abc"])),
    (Remedy.DERIVE, lambda node, peer: setattr(peer, "away_since", 1.0)),
    (Remedy.DERIVE, lambda node, peer: setattr(peer, "in_tree", False)),
    (Remedy.DERIVE, lambda node, peer: peer.holds.update(ghost=None)),
    (Remedy.DERIVE, lambda node, peer: node.flow.congested.update(ghost=None)),
    (Remedy.DERIVE, lambda node, peer: node.admission.greeting.update({99: 1.0})),
    (Remedy.DERIVE, lambda node, peer: setattr(node, "client_count", 5)),
]


@pytest.mark.parametrize(("remedy", "spoil"), SPOILT)
def test_what_is_spoilt_is_found(remedy: Remedy, spoil: Callable[[Node, Peer], None]) -> None:
    net = network()
    node = net.nodes["B1"]
    spoil(node, node.peers["B2"])
    assert remedy in found(node, net.now)


def test_a_line_that_was_ended_is_gone_in_time() -> None:
    net = network()
    node = net.nodes["B1"]
    line = line_of_peer(node.peers["B2"])
    node.abort(line, "test", net.now)
    assert Remedy.LINE not in found(node, net.now + 1.0)
    assert Remedy.LINE in found(node, net.now + ENDED_SECONDS + 1.0)
