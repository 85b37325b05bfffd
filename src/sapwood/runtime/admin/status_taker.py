"""Taking the status of a broker.

It costs a walk over neighbours and clients and nothing else; the broker keeps no books for it that
it does not need anyway. Rates are differences of counts, taken by whoever asks regularly (see
``sapwood.runtime.admin.rates``).
"""

from __future__ import annotations

import time
from importlib.metadata import version

import msgspec

from sapwood.protocol.clients import SUBSCRIBED
from sapwood.protocol.link.dialing import Target
from sapwood.protocol.link.handshake import VERSIONS
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.states import TargetState
from sapwood.protocol.node import Node
from sapwood.runtime.address import Address, parse_address
from sapwood.runtime.admin.edges import edges_status
from sapwood.runtime.admin.healing import (
    change_status,
    fault_counts,
    healing_status,
    optimization_status,
    tree_status,
)
from sapwood.runtime.admin.rates import Rates
from sapwood.runtime.admin.status import (
    AWAY,
    CONNECTED,
    LINKED,
    ClientStatus,
    JoinStatus,
    LatencyStatus,
    NeighbourStatus,
    QueueStatus,
    RefreshStatus,
    Status,
    TableStatus,
    TraceStatus,
)
from sapwood.runtime.certificates import expiries
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.tracing import Tracer


class StatusTaker:
    """Takes the status of one broker."""

    def __init__(self, node: Node, settings: Settings, rates: Rates, tracer: Tracer | None) -> None:
        self._node = node
        self._settings = settings
        self._rates = rates
        self._tracer = tracer
        self._started_at = time.monotonic()
        self._certificates = expiries(settings.tls)

    def take(self, listens: Address | None, now: float) -> Status:
        """The status now."""
        node, broker, config = self._node, self._node.broker, self._node.config
        tree = tree_status(broker)
        peers = sorted(node.peers.values(), key=lambda peer: peer.name)
        return Status(
            id=config.id,
            session=config.session,
            network=config.network,
            version=version("sapwood"),
            protocol=VERSIONS,
            routing=config.routing,
            listens="" if listens is None else str(listens),
            at=now,
            uptime_seconds=time.monotonic() - self._started_at,
            neighbours=tuple(self._neighbour(p, now) for p in peers if not p.is_client),
            clients=tuple(self._client(p, now) for p in peers if p.is_client),
            joins=tuple(map(_join, node.dialing.targets)),
            tables=TableStatus(
                subscriptions=len(broker.subscriptions), advertisements=len(broker.advertisements)
            ),
            refresh=self._refresh(),
            drops={str(why): count for why, count in sorted(broker.drops.counts.items())},
            counts=dict(sorted({**node.counts, **broker.faults}.items())),
            trace=self._trace(),
            tree=tree,
            faults=fault_counts(node),
            healing=healing_status(tree, self._settings),
            changes=change_status(broker),
            optimization=optimization_status(broker),
            edges=edges_status(broker),
            latency=LatencyStatus(
                counts=tuple(node.metering.latencies), seconds=node.metering.latency_seconds
            ),
            waiting_changes=broker.turns.report()["waiting"],
            certificates=self._certificates,
        )

    def _refresh(self) -> RefreshStatus:
        report = self._node.broker.reports().get("refresh", {"scheme": "off"})
        return msgspec.convert(report, RefreshStatus)

    def _neighbour(self, peer: Peer, now: float) -> NeighbourStatus:
        neighbour = self._node.broker.neighbours.get(peer.name)
        return NeighbourStatus(
            id=peer.name,
            session=peer.session,
            state=AWAY if peer.line is None else LINKED,
            in_tree=peer.in_tree,
            sends="" if neighbour is None else neighbour.sends,
            receives="" if neighbour is None else neighbour.receives,
            address=_address(peer),
            advertised=tuple(peer.addresses),
            away_seconds=_away_seconds(peer, now),
            is_congested=peer.congested_since is not None,
            frames_in=peer.frames_in,
            frames_out=peer.frames_out,
            rate=self._rates[peer.name],
            queue=_queue(peer),
            bytes_in=peer.bytes_in,
            bytes_out=peer.bytes_out,
            round_trip_seconds=peer.round_trip,
            account=self._account("broker", peer.name),
        )

    def _client(self, peer: Peer, now: float) -> ClientStatus:
        channel = peer.channel
        is_filling = channel.buffered > channel.limits.buffer_bytes // 2
        return ClientStatus(
            id=peer.name,
            state=AWAY if peer.line is None else CONNECTED,
            address=_address(peer),
            away_seconds=_away_seconds(peer, now),
            subscriptions=len(self._node.broker.clients.claims(peer.name, SUBSCRIBED)),
            slow_policy=peer.slow_policy,
            is_slow=is_filling or channel.given_up > 0,
            frames_in=peer.frames_in,
            frames_out=peer.frames_out,
            rate=self._rates[peer.name],
            queue=_queue(peer),
            bytes_in=peer.bytes_in,
            bytes_out=peer.bytes_out,
            account=self._account("client", peer.name.rpartition(".")[0]),
        )

    def _account(self, role: str, name: str) -> str:
        """The name of the account that owns an id, if one does."""
        accounts = self._node.config.accounts
        owner = None if accounts is None else accounts.owner(role, name)
        return "" if owner is None else owner.name

    def _trace(self) -> TraceStatus | None:
        tracer, settings = self._tracer, self._settings.trace
        if tracer is None:
            return None
        return TraceStatus(
            directory=settings.directory,
            run=settings.run,
            left_out=tracer.left_out,
            failure=tracer.failure,
        )


def _join(target: Target) -> JoinStatus:
    is_linked = target.state is TargetState.LINKED
    return JoinStatus(
        address=str(parse_address(target.address)),
        is_linked=is_linked,
        problem="" if is_linked else target.problem,
    )


def _address(peer: Peer) -> str:
    return "" if peer.line is None else peer.line.address


def _away_seconds(peer: Peer, now: float) -> float:
    return 0.0 if peer.away_since is None else now - peer.away_since


def _queue(peer: Peer) -> QueueStatus:
    channel = peer.channel
    return QueueStatus(
        buffered_bytes=channel.buffered,
        buffer_bytes=channel.limits.buffer_bytes,
        control_bytes=channel.control_buffered,
        waiting_runs=channel.waiting,
        given_up=channel.given_up,
        missed=channel.missed,
    )
