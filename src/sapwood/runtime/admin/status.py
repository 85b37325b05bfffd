"""What a broker can tell about itself, as one value: for the admin endpoint and the commands."""

from __future__ import annotations

import msgspec

from sapwood.protocol.optimize.decision import Decision
from sapwood.runtime.admin.rates import Rate

LINKED, AWAY = "linked", "away"
CONNECTED = "connected"


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The stream to somebody: what waits, and what did not get through."""

    buffered_bytes: int
    """Notifications that wait or are not acknowledged."""
    buffer_bytes: int
    """How many there may be."""
    control_bytes: int
    """Control messages that wait or are not acknowledged."""
    waiting_runs: int
    """Runs of frames that have not been sent."""
    given_up: int
    """Notifications given up because there was no room for them."""
    missed: int
    """Notifications that the other side has given up."""


class NeighbourStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A broker at the other end of a link."""

    id: str
    session: int
    state: str
    """Whether it is linked, or away: its place is kept."""
    in_tree: bool
    sends: str
    """How this broker tells the neighbour what to send."""
    receives: str
    """How the neighbour tells this broker what to send."""
    address: str
    """The other end of the connection; empty while there is none."""
    advertised: tuple[str, ...]
    """Addresses under which the neighbour can be reached, as it says."""
    away_seconds: float
    """How long there has been no connection."""
    is_congested: bool
    frames_in: int
    frames_out: int
    rate: Rate
    queue: QueueStatus
    bytes_in: int = 0
    """Of the frames that came."""
    bytes_out: int = 0
    """Of the notifications for it."""
    round_trip_seconds: float = 0.0
    """How long the last ping took to be answered; zero if none was yet."""
    account: str = ""
    """By which it may come in here; empty where there are no accounts, or none is its own."""


class ClientStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A client of this broker."""

    id: str
    state: str
    address: str
    away_seconds: float
    subscriptions: int
    slow_policy: str
    is_slow: bool
    """Whether its buffer is more than half full, or notifications for it were given up."""
    frames_in: int
    frames_out: int
    rate: Rate
    queue: QueueStatus
    bytes_in: int = 0
    bytes_out: int = 0
    account: str = ""
    """Whose it is; empty where there are no accounts."""


class TableStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How large the routing tables are."""

    subscriptions: int
    advertisements: int


class RefreshStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How tables are compared, and what was found since the start: nothing, without a fault."""

    scheme: str
    mismatch: int = 0
    """Comparisons that differed."""
    repaired: int = 0
    """Entries that were put right."""
    expired: int = 0
    """Entries whose lease ended."""
    strays: int = 0
    """Destinations with entries that were neither clients nor neighbours."""
    silent: int = 0
    """How often a neighbour or client did not compare in time."""
    differing: tuple[str, ...] = ()
    """Those with whom tables differ again and again."""
    neighbours_without: tuple[str, ...] = ()
    """Neighbours that cannot compare."""
    clients_without: int = 0
    """Clients that cannot compare."""


class TreeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The place of the broker in the tree."""

    protocol: str = "off"
    root: str = ""
    parent: str = ""
    """Empty for the root."""
    depth: int = 0
    """Links to the root."""
    kept: tuple[str, ...] = ()
    """Neighbours in the tree whose links carry nothing for the time being."""
    candidates: tuple[str, ...] = ()
    """Neighbours outside the tree: they stand by."""
    size: int = 1
    """Brokers below this one, with itself; of the root, all brokers."""
    delay_seconds: float = 0.0
    """Longest time of a message over one link of this broker, measured or as set."""
    delay_tree_seconds: float = 0.0
    """Longest way between two brokers of the tree, as the root says."""
    slowest_seconds: float = 0.0
    """Longest time of a message over any link of the tree, as far as is known."""


class ChangeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of the tree in which the broker took part: the one under way, and the last 64."""

    change: str = ""
    """The one under way; empty if there is none."""
    ring: tuple[str, ...] = ()
    """The brokers that take part in it."""
    completed: int = 0
    undone: int = 0
    finished: dict[str, str] = {}
    """How the last ones ended, by their names: the same one is told by everybody on its ring."""
    plan: str = ""
    """What it carries out for a client, step by step."""


class EdgeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A directed edge, as this end of it sees it."""

    source: str
    target: str
    mode: str
    """Flooding, or how the target tells the source what to send."""
    number: int
    """Of the last switch."""
    all: float | None = None
    """What flooding would carry, or does, per second; None while it is not known."""
    wanted: float | None = None
    """What of it somebody behind the edge wants."""
    said: dict[str, float] = {}
    """By way of telling: what would be said about wishes, or is."""
    unit: str = ""
    last: str = ""
    """The last switch that this end decided, with its numbers."""
    last_at: float | None = None
    """When that was."""


class EdgesStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the edges of the broker are routed, and how often that was switched."""

    choice: str = "fixed"
    stopped: int = 0
    """Switches to flooding that this end decided."""
    told: int = 0
    """Switches to telling that it decided and that are in effect."""
    contradicted: int = 0
    """How often the ends of an edge did not agree: never, without a fault."""
    unanswered: int = 0
    """How often a switch was begun anew because no answer came in time."""
    observed: int = 0
    """Switches that it would have decided, where it only looks."""
    edges: tuple[EdgeStatus, ...] = ()


class HealingStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How long until a fault is healed, and what that was computed from."""

    brokers: int
    """Brokers in the tree, as far as this one knows, or as many as its settings allow."""
    diameter: int
    """Links between the two brokers that are farthest apart."""
    delay_seconds: float
    """Longest time over one link."""
    bounds: dict[str, float | None]
    """Seconds by the names of ``sapwood.analysis.stabilization``; None for never."""
    refresh_seconds: float = 0.0
    """Time between two comparisons of tables: as set, or as a stated time wants it here."""
    stated_seconds: float = 0.0
    """The time in which every fault is to be healed, as it was stated; 0 if none was."""
    problem: str = ""
    """Why that time is not kept with the delays that were measured; empty if it is."""


class OptimizationStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Links that were moved to where they are cheaper, and what that was worth."""

    mode: str = "off"
    cost: float = 0.0
    """What this broker's share of the traffic costs per second; of all brokers the sum counts."""
    processing_cost: float = 0.0
    """What it costs to handle a notification here."""
    utilisation: float = 0.0
    """Which share of the time it is busy."""
    link_costs: dict[str, float] = {}
    """What a notification costs on the links of the tree, as far as that is known."""
    swaps: dict[str, int] = {}
    """Swaps with this broker in the middle, by outcome."""
    refusals: dict[str, int] = {}
    """Why others did not take part, by reason."""
    gain_predicted: float = 0.0
    """What those that were made were to gain per second."""
    gain_seen: float = 0.0
    """What they have gained, as far as that was measured."""
    probes: int = 0
    """How often a neighbour was asked what a link would cost."""
    ignored: int = 0
    """Costs that others told and that cannot be any."""
    left_out: tuple[str, ...] = ()
    """Brokers onto which nothing is moved for an hour, since that did not gain what it should."""
    decisions: tuple[Decision, ...] = ()
    """The last ones, the oldest first."""
    considered: Decision | None = None
    """The best swap that was thought of last."""


class TraceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the trace is doing."""

    directory: str
    run: str
    left_out: int
    """Happenings that were not recorded because too much was waiting."""
    failure: str
    """Why nothing is recorded any more; empty if it is."""


class JoinStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A broker that this one was told to link to."""

    address: str
    is_linked: bool
    problem: str
    """Why the last attempt failed; empty if it did not."""


class LatencyStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How long notifications took from their publisher to here, of a sample.

    As far as the clocks of the two machines agree.
    """

    counts: tuple[int, ...] = ()
    """By bucket (`sapwood.protocol.link.metering.LATENCY_BOUNDS`), the last for all longer ones."""
    seconds: float = 0.0
    """What all of them took together."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """One broker."""

    id: str
    session: int
    network: str
    version: str
    protocol: tuple[int, int]
    """The oldest and the newest protocol version it speaks."""
    routing: str
    listens: str
    at: float
    """Seconds since 1970 when this was true."""
    uptime_seconds: float
    neighbours: tuple[NeighbourStatus, ...]
    clients: tuple[ClientStatus, ...]
    joins: tuple[JoinStatus, ...]
    tables: TableStatus
    refresh: RefreshStatus
    drops: dict[str, int]
    """What was dropped, by reason."""
    counts: dict[str, int]
    """Of other things that happened."""
    trace: TraceStatus | None
    tree: TreeStatus = TreeStatus()
    faults: dict[str, int] = {}
    """What was found that only a fault brings about, by kind: all 0 where all is well."""
    healing: HealingStatus | None = None
    """None where a broker of an earlier release does not say."""
    changes: ChangeStatus = ChangeStatus()
    optimization: OptimizationStatus = OptimizationStatus()
    edges: EdgesStatus = EdgesStatus()
    latency: LatencyStatus = LatencyStatus()
    waiting_changes: int = 0
    """Changes of subscriptions that wait for their turn."""
    certificates: dict[str, float] = {}
    """By file with certificates: when the first of them expires, in seconds since 1970."""

    @property
    def streams(self) -> tuple[NeighbourStatus | ClientStatus, ...]:
        """Everybody that frames are exchanged with."""
        return (*self.neighbours, *self.clients)
