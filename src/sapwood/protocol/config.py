"""What is set for a broker from outside."""

from __future__ import annotations

import msgspec

from sapwood.protocol.accounts import Accounts
from sapwood.protocol.clients import Most, Pace
from sapwood.protocol.optimize.edges.settings import FIXED, EdgeRoutingSettings
from sapwood.protocol.optimize.settings import OFF, OptimizationSettings
from sapwood.protocol.ports import Hint
from sapwood.protocol.stabilize.settings import (
    NO_PROTOCOL,
    NO_REFRESH,
    StabilizationSettings,
    TreeSettings,
)
from sapwood.routing.algorithms import FLOODING, HIERARCHICAL, PEER_TO_PEER, check_algorithm


class BrokerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What is set for a broker from outside."""

    id: str
    session: int = 1
    routing: str = "covering"
    """How neighbours learn what to send here, unless a link says otherwise."""
    routing_variant: str = PEER_TO_PEER
    """Whether all neighbours learn that, or only the parent, and children send everything."""
    advertisements_required: bool = False
    advertisement_routing: str = "covering"
    """How advertisements spread, where they are required. With flooding nobody is told of any, so
    every neighbour is taken to publish everything."""
    settle_interval: float = 0.05
    """Shortest time between two waves of a broker, in seconds."""
    settle_patience: float = 30.0
    """Time after which a request to be told is answered with no, in seconds."""
    expected: tuple[str, ...] = ()
    """Neighbours that the broker had before it was restarted."""
    expected_parent: str = ""
    """Which of them was its parent in the tree; empty if it was the root."""
    book: tuple[Hint, ...] = ()
    """Where others could be reached, as the session before had heard."""
    restore_seconds: float = 30.0
    """How long a restarted broker waits for the tables of those it expects."""
    stale_seconds: float = 60.0
    """How long the entries of a restarted neighbour are kept until it has told its table."""
    away_seconds: float = 86_400.0
    """How long a neighbour in the tree that is away is kept."""
    clients_max: int = 10_000
    """Clients that may be here at a time."""
    remembered_max: int = 65_536
    """Publishers and sets of attributes whose destinations are remembered."""
    addresses: tuple[str, ...] = ()
    """Under which the broker can be reached, if any; told in surveys."""
    admin: str = ""
    """Where its admin endpoint is; told in surveys."""
    release: str = ""
    """Which release of Sapwood it is; told in surveys."""
    stabilization: StabilizationSettings = NO_REFRESH
    tree: TreeSettings = NO_PROTOCOL
    optimization: OptimizationSettings = OFF
    edges: EdgeRoutingSettings = FIXED
    client_refresh_seconds: float = 30.0
    """How often a client has to say what it subscribes to, if it can."""
    raises_faults: bool = True
    """Whether an exception where there must be none is raised; else it is a fault that the broker
    has found in its own state, and mends."""
    claims_max: Most = Most(20_000, 8 * 2**20)
    """How much a client may subscribe to and advertise."""
    pace: Pace | None = None
    """How fast clients may change that; None: as fast as they can."""
    accounts: Accounts | None = None
    """Who the clients are, and what they may do; None: everything."""
    recording: bool = False
    """Whether rows for a trace are among the effects."""
    noting: bool = False
    """Whether rows that are of interest to an operator are wanted, too."""

    def __post_init__(self) -> None:
        check_algorithm(self.routing)
        check_algorithm(self.advertisement_routing)

    @property
    def is_hierarchical(self) -> bool:
        """Whether children send everything here, so that only the parent is told what to send."""
        return self.routing_variant == HIERARCHICAL and self.routing != FLOODING

    @property
    def says_routing(self) -> bool:
        """Whether neighbours have to be told how edges are routed, as that may change."""
        return self.is_hierarchical or self.edges.is_auto

    @property
    def spreads_advertisements(self) -> bool:
        """Whether neighbours are told of advertisements, and of subscriptions only within them."""
        return self.advertisements_required and self.advertisement_routing != FLOODING
