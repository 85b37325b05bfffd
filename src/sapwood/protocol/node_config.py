"""What is set for a node from outside: who it is, whom it joins, and what it may cost."""

from __future__ import annotations

from typing import Final

import msgspec

from sapwood.protocol.accounts import Accounts
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.durable.settings import DURABLE, DurabilitySettings
from sapwood.protocol.link.channel import ChannelLimits
from sapwood.protocol.link.handshake import CHECKS, NEVER, SILENCE_SECONDS_MAX, said_routing
from sapwood.protocol.link.limits import ClientLimits, LinkLimits
from sapwood.protocol.neighbours import EDGES, MOVES, REFRESH, RESTART, refresh_features
from sapwood.protocol.optimize.edges.settings import FIXED, EdgeRoutingSettings
from sapwood.protocol.optimize.messages import SWAPS
from sapwood.protocol.optimize.settings import OFF, OptimizationSettings
from sapwood.protocol.ports import Hint
from sapwood.protocol.stabilize.beacon import BEACONS
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings
from sapwood.routing.algorithms import FLOODING, HIERARCHICAL, PEER_TO_PEER

RELOADABLE: Final = ("token", "accounts", "account", "secret", "require_certificate", "client")
"""What may change while a node is running (`Reload`)."""


class NodeConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One broker with its links and clients."""

    id: str
    session: int = 1
    network: str = "sapwood"
    token: str = ""
    """The shared secret. Where there are accounts, nobody is asked for it."""
    accounts: Accounts | None = None
    """Who may log in, and what they may do; None: whoever has the token may do everything."""
    account: str = ""
    secret: str = ""
    """The account of this broker where it dials, and its secret."""
    require_certificate: bool = False
    """Whether whoever connects must show a certificate; a broker one with its id in it."""
    joins: tuple[str, ...] = ()
    """Addresses of brokers to link to."""
    joins_for_ever: bool = True
    """Whether to go on trying after a refusal that another attempt will not change."""
    expected: tuple[str, ...] = ()
    """The neighbours that the session before this one had: it takes part when they are back."""
    expected_sessions: tuple[int, ...] = ()
    """Of each of them, in the same order; a zero, or none at all, if it is not known."""
    expected_parent: str = ""
    """Which of them was its parent in the tree; empty if it was the root."""
    book: tuple[Hint, ...] = ()
    """Where others could be reached, as that session had heard."""
    former: int = 0
    """The number of that session; 0 if it is not known."""
    restore_seconds: float = 10.0
    """How long it waits for them."""
    addresses: tuple[str, ...] = ()
    """Under which others can reach it, if any."""
    admin: str = ""
    release: str = ""
    routing: str = "covering"
    routing_variant: str = PEER_TO_PEER
    advertisements_required: bool = False
    advertisement_routing: str = "covering"
    settle_interval: float = 0.05
    settle_patience: float = 30.0
    remembered_max: int = 65_536
    ack_seconds: float = 0.02
    """Longest time until what came is acknowledged."""
    leave_seconds: float = 2.0
    """How long an orderly end may take."""
    hand_over_seconds: float = 10.0
    """How long a broker at the edge of the tree that is to end may take to hand its clients over
    to its neighbour; zero: it does not."""
    link: LinkLimits = LinkLimits()
    client: ClientLimits = ClientLimits()
    stabilization: StabilizationSettings = StabilizationSettings()
    tree: TreeSettings = TreeSettings()
    optimization: OptimizationSettings = OFF
    edges: EdgeRoutingSettings = FIXED
    durability: DurabilitySettings = DurabilitySettings()
    raises_faults: bool = True
    """Whether an exception where there must be none is raised, as tests and simulations want it. A
    live broker takes it for a fault of its own state, which it mends, or of a stream, which begins
    anew."""
    recording: bool = False
    """Whether rows for a trace are among the effects."""
    noting: bool = False
    """Whether notes for a log are."""

    @property
    def credentials(self) -> dict[str, str]:
        """What this node shows to those whom it dials."""
        shown = {"token": self.token, "account": self.account, "secret": self.secret}
        return {kind: text for kind, text in shown.items() if text}

    @property
    def routing_said(self) -> str:
        """How this node routes, as it says it to others."""
        is_hierarchical = self.routing_variant == HIERARCHICAL and self.routing != FLOODING
        return said_routing(self.routing, is_hierarchical=is_hierarchical)

    @property
    def check_seconds(self) -> float:
        """How often each side of a stream says how far it is, and looks for contradictions."""
        return self.stabilization.refresh_seconds

    def limits(self, *, is_client: bool) -> LinkLimits | ClientLimits:
        """What a peer may cost."""
        return self.client if is_client else self.link

    def channel_limits(self, *, is_client: bool) -> ChannelLimits:
        """How much a stream may hold: between brokers as much as is kept on disk, if it is."""
        limits = self.limits(is_client=is_client).channel()
        if is_client or not self.durability.is_on:
            return limits
        return msgspec.structs.replace(limits, buffer_bytes=self.durability.link_bytes)

    def features(self, *, is_client: bool) -> tuple[str, ...]:
        """What this node can do beyond the first release, with clients or with brokers.

        Clients compare by digests, however brokers refresh each other.
        """
        scheme = self.stabilization.refresh
        durable = (DURABLE,) if self.durability.is_on else ()
        if is_client:
            refresh = () if scheme == "off" else (REFRESH,)
            return (CHECKS, *refresh, MOVES, *durable)
        tree = (BEACONS,) if self.tree.protocol == BEACONS else ()
        swaps = (SWAPS,) if self.optimization.is_on else ()
        own = (RESTART, CHECKS, *tree, *refresh_features(scheme), MOVES, EDGES, *swaps)
        return (*own, *durable)

    def refresh_seconds(self, *, is_client: bool) -> float:
        """How often tables are compared, with clients or with brokers; zero for never."""
        if self.stabilization.refresh == "off":
            return NEVER
        seconds = self.client.refresh_seconds if is_client else self.stabilization.refresh_seconds
        return min(seconds, SILENCE_SECONDS_MAX)

    def broker(self) -> BrokerConfig:
        """The broker's part of it."""
        return BrokerConfig(
            id=self.id,
            session=self.session,
            routing=self.routing,
            routing_variant=self.routing_variant,
            advertisements_required=self.advertisements_required,
            advertisement_routing=self.advertisement_routing,
            settle_interval=self.settle_interval,
            settle_patience=self.settle_patience,
            clients_max=self.client.max_clients,
            remembered_max=self.remembered_max,
            addresses=self.addresses,
            admin=self.admin,
            release=self.release,
            recording=self.recording,
            noting=self.noting,
            expected=self.expected,
            expected_parent=self.expected_parent,
            book=self.book,
            restore_seconds=self.restore_seconds,
            away_seconds=self.link.away_seconds,
            stabilization=self.stabilization,
            tree=self.tree,
            optimization=self.optimization,
            edges=self.edges,
            client_refresh_seconds=self.client.refresh_seconds,
            raises_faults=self.raises_faults,
            accounts=self.accounts,
            claims_max=self.client.claims(),
            pace=self.client.pace(),
        )
