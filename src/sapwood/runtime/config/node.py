"""From the settings of a broker to what its node has to know."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from msgspec.structs import replace

from sapwood.protocol.accounts import Accounts
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.protocol.ports import Hint, Remember
from sapwood.routing.algorithms import PEER_TO_PEER
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.config.stabilization import with_periods
from sapwood.runtime.tls import admin_url

START: Final = "covering"
"""How edges are routed at first where brokers choose: tables are small, and what another way of
telling would cost is known without keeping anything beside."""


def node_config(
    settings: Settings,
    session: int,
    remembered: Remember,
    was_part: bool,
    former: int = 0,
    book: tuple[Hint, ...] = (),
    accounts: Accounts | None = None,
) -> NodeConfig:
    """What a node has to know, with what its data directory remembers of the last session."""
    settings = with_periods(settings)
    return NodeConfig(
        id=settings.id,
        session=session,
        network=settings.network,
        token=settings.token,
        accounts=accounts,
        account=settings.account,
        secret=settings.secret,
        require_certificate=settings.tls.require_certificate,
        joins=settings.join,
        joins_for_ever=was_part or not settings.join_seconds,
        expected=remembered.neighbours,
        expected_sessions=remembered.sessions,
        expected_parent=remembered.parent,
        former=former,
        book=book,
        restore_seconds=settings.restore_seconds,
        addresses=settings.advertise,
        admin=admin_url(settings),
        release=version("sapwood"),
        routing=START if settings.routing == "auto" else settings.routing,
        routing_variant=settings.routing_variant,
        advertisements_required=settings.advertisements == "required",
        settle_interval=settings.settle_interval_seconds,
        settle_patience=settings.settle_patience_seconds,
        remembered_max=settings.remembered_max,
        ack_seconds=settings.ack_seconds,
        leave_seconds=settings.leave_seconds,
        hand_over_seconds=settings.hand_over_seconds,
        link=settings.link,
        client=settings.client,
        stabilization=settings.stabilization,
        tree=settings.tree,
        optimization=settings.optimization,
        edges=_edges(settings),
        durability=settings.durability,
        recording=bool(settings.trace.directory),
        noting=settings.log.level != "off",
        raises_faults=False,
    )


def _edges(settings: Settings) -> EdgeRoutingSettings:
    """Whether the routing of edges is chosen; to observe it is said in its own section.

    Hierarchical routing sets all edges by the tree. Where advertisements are required, what is told
    depends on them, and the costs that decide do not take that into account.
    """
    edges = settings.edge_routing
    is_plain = settings.routing_variant == PEER_TO_PEER and settings.advertisements == "off"
    if settings.routing == "auto" and edges.choice == "fixed" and is_plain:
        return replace(edges, choice="auto")
    return edges
