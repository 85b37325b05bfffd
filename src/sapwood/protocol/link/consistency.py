"""What must hold of peers, lines and what is kept of them, and what helps where it does not.

One definition for two uses: `node_invariants` prints what is wrong and changes nothing, `Checking`
does what helps. Little is primary: who the peers are, their streams, and which line goes with
which peer. Where these contradict each other, the stream or the connection ends and begins anew.
All else follows from them, and is derived again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.protocol.link.line import Line
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.states import LineState, TargetState

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

CALLING: Final = TargetState.CALLING

ENDED_SECONDS: Final = 30.0
"""A line that this side has ended is gone within so long."""


class Remedy(StrEnum):
    """What helps, the gentlest first."""

    DERIVE = "derive"
    """What is kept beside peers and lines is derived again."""
    LINE = "line"
    """The connection ends; the stream goes on over the next one."""
    STREAM = "stream"
    """The stream ends; the next connection begins a new one."""


class Finding(NamedTuple):
    """Something that is wrong."""

    what: str
    remedy: Remedy = Remedy.DERIVE


def peer_findings(node: Node, name: str, peer: Peer, now: float | None) -> Iterator[Finding]:
    """What is wrong with a peer, its line and its stream; without a time, no time is judged."""
    yield from _name_findings(node, name, peer)
    for problem in peer.channel.problems():
        yield Finding(f"the stream to {name}: {problem}", Remedy.STREAM)
    for problem in peer.channel.connection_problems():
        yield Finding(f"the connection to {name}: {problem}", Remedy.LINE)
    line = peer.line
    if line is not None:
        if line.peer is not peer:
            yield Finding(f"the line of {name} belongs to {line.peer}", Remedy.LINE)
        if node.lines.get(line.number) is not line or not line.is_open:
            yield Finding(f"the line of {name} is {line}", Remedy.LINE)
        if not peer.channel.connected or peer.is_over:
            what = f"{name} is away since {peer.away_since} and has {line}"
            yield Finding(what, Remedy.LINE)
        if now is not None:
            for problem in line.problems(now):
                yield Finding(f"the line of {name}: {problem}", Remedy.LINE)
    yield from map(Finding, node.membership.problems(name, peer))
    yield from map(Finding, node.flow.problems(peer))


def _name_findings(node: Node, name: str, peer: Peer) -> Iterator[Finding]:
    """The broker knows a peer under the same name, and as the same."""
    if name != peer.name:
        yield Finding(f"{peer.name} is kept as {name}", Remedy.STREAM)
    broker = node.broker
    is_known = name in (broker.clients if peer.is_client else broker.neighbours)
    if not is_known:
        yield Finding(f"to the broker {name} is not what {peer} is here", Remedy.STREAM)


def _is_kept(node: Node, peer: Peer) -> bool:
    """Whether a peer is among those of a node, be it under a name that is not its own.

    Then its stream is what is wrong, and ends with a report (`_name_findings`).
    """
    return node.peers.get(peer.name) is peer or any(one is peer for one in node.peers.values())


def line_findings(node: Node, number: int, line: Line, now: float | None) -> Iterator[Finding]:
    """Every line is waited for by whoever its state says."""
    if line.number != number:
        yield Finding(f"{line} is kept as {number}", Remedy.LINE)
    peer = line.peer
    if (peer is not None) != line.is_open:
        yield Finding(f"{line} belongs to {peer}", Remedy.LINE)
    elif peer is not None and peer.line is not line:
        yield Finding(f"{line} belongs to {peer}, which has {peer.line}", Remedy.LINE)
    elif peer is not None and not _is_kept(node, peer):
        yield Finding(f"{line} belongs to {peer}, whom nobody knows", Remedy.LINE)
    elif line.state is LineState.GREETING and number not in node.admission.greeting:
        yield Finding(f"{line} is waited for by nobody")
    elif _is_unknown(node, line) or _is_late(node, line, now):
        yield Finding(f"{line} is waited for by nobody", Remedy.LINE)


def _is_unknown(node: Node, line: Line) -> bool:
    """Whether nobody knows of a handshake that is under way."""
    if line.state is LineState.EXAMINING:
        return line.number not in node.admission.applicants
    if line.state is not LineState.CALLING:
        return False
    targets = node.dialing.targets
    return not any(one.line == line.number and one.state is CALLING for one in targets)


def _is_late(node: Node, line: Line, now: float | None) -> bool:
    """Whether a line that this side has ended is still there."""
    if now is None or line.state is not LineState.CLOSING or node.is_stopping:
        return False
    return not line.ended_at <= now <= line.ended_at + ENDED_SECONDS


def structure_findings(node: Node, now: float | None) -> Iterator[Finding]:
    """What is kept beside peers and lines follows from them."""
    clients = _sorted(name for name, peer in node.peers.items() if peer.is_client)
    kept = node.kept_clients
    told = _sorted(name for name in node.broker.clients if name not in kept)
    if clients != told:
        yield Finding(f"clients are {clients}, to the broker {told}")
    if node.client_count != len(clients):
        yield Finding(f"{len(clients)} clients, counted {node.client_count}")
    neighbours = _sorted(name for name, peer in node.peers.items() if not peer.is_client)
    told = _sorted(node.broker.neighbours)
    if neighbours != told:
        yield Finding(f"neighbours are {neighbours}, to the broker {told}")
    for name in node.flow.congested:
        if name not in node.peers:
            yield Finding(f"{name} does not keep up, and is not here")
    yield from map(Finding, node.keepalive.problems(now))
    yield from map(Finding, node.admission.problems())
    yield from map(Finding, node.dialing.problems())


def _sorted(names: Iterable[object]) -> list[str]:
    """Names in their order, whatever a fault has made of them."""
    return sorted(map(str, names))
