"""Routing tables that heal by themselves, whatever a fault did to them.

Links keep their order, and a broker tells all that follows from an event before it looks at the
next one. So when a digest of what a broker owes arrives at a neighbour, the entries that the
neighbour holds of it must have just this digest: an exact comparison, without any race. Every
period each broker sends one over every link (`Refresh`); where it differs, the receiver asks
(`Repeat`) with digests of the buckets of what it holds, and the sender tells those that differ
(`Whole`), which replace what was there as one change each. What follows for others travels on as
differences.

Clients compare in the same way over what they have subscribed to and advertised, in their own
words. Nobody else can know what they want, so one that can compare and does not is asked, and then
sent away. Clients and neighbours of older releases are left alone, and counted.

- Nothing is remembered of a question that is open: a memory can be wrong. The next comparison asks
  again.
- While an edge rests (`is_resting`) nothing is sent over it, compared or replaced, and its silence
  is not counted. When it rests no more, a comparison follows at once.
- Entries of destinations that are neither neighbours nor clients are removed.
- Three differences of a table in a row mean that the two ends do not make digests in the same
  way, or that one cannot read what the other tells. Then all of it is asked for and taken as it
  comes, whatever its digest, every period as in batches, and the neighbour is reported. It is not
  asked for less often: a count that was spoilt would put off what has to be mended.
- Stored times are clamped (``due``): a wrong one acts at once.

Two other schemes are there to compare with, on the same parts: ``batch`` and ``lease``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import Effect, ResetStream, Send
from sapwood.protocol.machine import Machine, MessageHandler
from sapwood.protocol.messages import Advertise, Refresh, Repeat, Subscribe, TableName, Whole
from sapwood.protocol.neighbours import REFRESH, refresh_features
from sapwood.protocol.optimize.edges.switching import Switching
from sapwood.protocol.ports import TICK_SECONDS
from sapwood.protocol.restoration import Restoration
from sapwood.protocol.stabilize.batch import batch
from sapwood.protocol.stabilize.digest import digest, digests, is_digest
from sapwood.protocol.stabilize.edge_tables import TABLES, EdgeTables
from sapwood.protocol.stabilize.lease import Leases, renewal
from sapwood.protocol.stabilize.settings import StabilizationSettings
from sapwood.protocol.stabilize.whole import (
    Partial,
    answer,
    can_answer,
    following,
    is_possible,
)
from sapwood.protocol.subscribing import Subscribing
from sapwood.routing.algorithms import ALGORITHMS

DELAY_SECONDS: Final = 5.0
"""How long a message between neighbours may take, where the settings do not say it: it may have to
wait behind notifications."""

ROW_MAX: Final = 3
"""Differences of a table in a row after which it is taken as it comes."""

LOOKS_PER_PERIOD: Final = 10
"""How often it is looked in a period whether a client is silent: there may be many clients."""

COUNTS: Final = ("mismatch", "repaired", "expired", "strays", "silent")
"""Comparisons that differed; entries that were put right; leases that ended; unknown destinations
with entries; and those who did not compare in time. None of it happens without a fault."""


class Edge(msgspec.Struct):
    """What is kept about comparisons with one neighbour or client."""

    heard_at: float
    """When it last compared, or when it could not be expected to."""
    at: float = float("-inf")
    """Of a neighbour: when it is sent the next comparison."""
    is_asked: bool = False
    """Of a client: whether it was asked since."""
    silences: int = 0
    """How often in a row it was silent for too long."""
    rows: dict[TableName, int] = {}
    """By table: how often in a row it differed."""
    partial: Partial | None = None
    """The bucket that is coming in parts."""


class Refreshing(Machine):
    """Compares the tables of a broker with those of its neighbours and clients."""

    name = "refresh"
    derived = ("_tables", "leases")

    def inherit(self, before: Machine) -> None:
        """Go on with the state of the machine that this one takes the place of."""
        super().inherit(before)
        if isinstance(before, Refreshing) and isinstance(before.leases.flags, dict):
            self.leases.flags = before.leases.flags

    def __init__(
        self, core: Core, subscribing: Subscribing, restoration: Restoration, switching: Switching
    ) -> None:
        super().__init__(core)
        self.edges: dict[str, Edge] = {}
        """By neighbour or client: those that can compare."""
        self.counts: Counter[str] = Counter()
        self.look_at = float("-inf")
        """When to look again for strays, and for neighbours that are silent."""
        self.look_at_clients_at = float("-inf")
        """When to look again for clients that are silent."""
        self.expire_at = float("-inf")
        """With leases: when the period is over."""
        self._restoration = restoration
        self._switching = switching
        self._tables = EdgeTables(core, subscribing, restoration)
        self.leases = Leases(self._tables)

    @property
    def _settings(self) -> StabilizationSettings:
        """As they are set: a copy of them could be spoilt, and periods of zero never end."""
        return self.core.config.stabilization

    @property
    def _is_leased(self) -> bool:
        return self._settings.refresh == "hop-lease"

    # Whom it concerns

    def is_resting(self, neighbour: str) -> bool:
        """Whether nothing is to be said and compared over the edge with a neighbour for now."""
        one = self.core.neighbours.get(neighbour)
        return one is None or one.is_withheld

    def _neighbours(self) -> list[str]:
        """Those in the tree that can be refreshed in the way this broker does it."""
        (needed,) = refresh_features(self._settings.refresh)
        return [
            name
            for name, one in self.core.neighbours.items()
            if one.in_tree and needed in one.features
        ]

    def _edge(self, name: str, now: float) -> Edge:
        edge = self.edges.get(name)
        if edge is None:
            edge = self.edges[name] = Edge(now)
        return edge

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """Comparisons, questions and answers."""
        handlers: dict[type, MessageHandler] = {
            Refresh: self._compared,
            Repeat: self._asked,
            Whole: self._told,
        }
        if self._is_leased:
            handlers |= {Subscribe: self._subscribed, Advertise: self._advertised}
        return handlers

    def from_clients(self) -> Mapping[type, MessageHandler]:
        """A client compares and answers; it is told nothing that it could ask for."""
        return {Refresh: self._compared, Whole: self._told}

    # Saying

    def _say(self, neighbour: str, edge: Edge, now: float) -> list[Effect]:
        """Send a neighbour the next comparison."""
        core, tables = self.core, self._tables
        tables.presume(neighbour)
        edge.at = now + core.refresh_seconds
        if self._settings.refresh == "batch":
            return batch(core, tables, neighbour)
        if self._is_leased:
            return renewal(core, tables, neighbour)
        wanted, advertised = (digest(tables.owed(neighbour, one).items()) for one in TABLES)
        one = core.neighbours[neighbour]
        number = one.inward_number if one.has_edges else 0
        is_complete = self._restoration.has_told(neighbour)
        return [Send(neighbour, Refresh(one.sends, wanted, advertised, is_complete, number))]

    def _say_at_once(self, neighbour: str, now: float) -> list[Effect]:
        """The stream is new, or goes on: compare at once, and wait for nothing older."""
        if neighbour not in self._neighbours() or self.is_resting(neighbour):
            return []
        edge = self._edge(neighbour, now)
        edge.heard_at, edge.silences = now, 0
        return self._say(neighbour, edge, now)

    def _asked(self, source: str, message: Repeat, now: float) -> list[Effect]:
        """A neighbour does not hold what it is owed: tell it."""
        if self.is_resting(source):
            return []
        if not can_answer(message):
            return self.core.drops.count(Drop.MALFORMED, source)
        self._tables.presume(source)
        owed = self._tables.owed(source, message.table)
        return [Send(source, one) for one in answer(message, owed)]

    # Comparing

    def _compared(self, source: str, message: Refresh, now: float) -> list[Effect]:
        core = self.core
        is_client = source in core.clients
        if not is_client and self.is_resting(source):
            return []
        said = message.subscriptions, message.advertisements
        is_sound = all(map(is_digest, said))
        if not is_sound or (not is_client and message.routing not in ALGORITHMS):
            return core.drops.count(Drop.MALFORMED, source)
        edge = self._heard(source, now)
        edge.partial = None
        effects: list[Effect] = []
        if not is_client:
            effects += self._switching.confirm(source, message.routing, message.number, now)
            if message.is_complete:
                effects += self._restoration.completed(source)
        for name, right in zip(TABLES, said, strict=True):
            if name == "s" and core.is_deaf_to(source):
                continue
            held = self._tables.held(source, name)
            if digest(held.items()) == right:
                edge.rows.pop(name, None)
                continue
            self.counts["mismatch"] += 1
            row = edge.rows[name] = edge.rows.get(name, 0) + 1
            effects.append(Send(source, Repeat(name, () if row >= ROW_MAX else digests(held))))
        return effects

    def _told(self, source: str, message: Whole, now: float) -> list[Effect]:
        core = self.core
        if source not in core.clients and self.is_resting(source):
            return []
        if message.table == "s" and core.is_deaf_to(source):
            return []
        if not is_possible(message):
            return core.drops.count(Drop.MALFORMED, source)
        edge = self._heard(source, now)
        edge.partial = partial = following(edge.partial, message)
        if partial is None or partial.next < partial.parts:
            return []
        edge.partial = None
        partial.lines = [(self._tables.entry_id(source, one), text) for one, text in partial.lines]
        is_sound = digest(partial.lines) == message.digest
        if not is_sound and edge.rows.get(partial.table, 0) < ROW_MAX:
            return core.drops.count(Drop.MALFORMED, source)
        effects, changed = self._tables.replace(source, partial)
        self.counts["repaired"] += changed
        return effects

    def _heard(self, source: str, now: float) -> Edge:
        edge = self._edge(source, now)
        edge.heard_at, edge.silences, edge.is_asked = now, 0, False
        return edge

    # Leases

    def _subscribed(self, source: str, message: Subscribe, now: float) -> list[Effect]:
        self.leases.told(source, "s", message.id)
        return []

    def _advertised(self, source: str, message: Advertise, now: float) -> list[Effect]:
        self.leases.told(source, "a", message.id)
        return []

    @property
    def lease_seconds(self) -> float:
        """How long an entry may stay without being told again, before its second chance."""
        return 1.01 * self._settings.refresh_seconds + 2 * TICK_SECONDS + self._delay

    @property
    def _delay(self) -> float:
        return self._settings.delay_max or DELAY_SECONDS

    def _expire(self, now: float) -> list[Effect]:
        if not is_due(self.expire_at, now, self.lease_seconds):
            return []
        self.expire_at = now + self.lease_seconds
        there = [name for name in self._neighbours() if not self.is_resting(name)]
        effects, expired = self.leases.expire(there)
        self.leases.forget_all_but(self._neighbours())
        self.counts["expired"] += expired
        return effects

    # Time

    @property
    def next_at(self) -> float | None:
        """When the next comparison is due."""
        first: float | None = None
        (needed,) = refresh_features(self._settings.refresh)
        for name, one in self.core.neighbours.items():
            if one.in_tree and needed in one.features and not one.is_withheld:
                edge = self.edges.get(name)
                if edge is not None and (first is None or edge.at < first):
                    first = edge.at
        return first

    def tick(self, now: float) -> list[Effect]:
        """Compare what is due, and look who is silent."""
        effects: list[Effect] = []
        period = self.core.refresh_seconds
        is_look = is_due(self.look_at, now, TICK_SECONDS)
        if is_look:
            self.look_at = now + TICK_SECONDS
            told, strays = self._tables.remove_strays()
            self.counts["strays"] += strays
            effects += told
        if self._is_leased:
            effects += self._expire(now)
        for name in self._neighbours():
            edge = self._edge(name, now)
            if self.is_resting(name):
                edge.heard_at, edge.silences = now, 0
            elif is_due(edge.at, now, period):
                effects += self._say(name, edge, now)
            if is_look and not self._is_leased:
                effects += self._look_at_neighbour(name, edge, now)
        between = self.core.config.client_refresh_seconds / LOOKS_PER_PERIOD
        if is_look and is_due(self.look_at_clients_at, now, between):
            self.look_at_clients_at = now + between
            effects += self._look_at_clients(now)
        return effects

    def _look_at_clients(self, now: float) -> list[Effect]:
        """Ask or send away those who are silent; forget the edges of those who are gone."""
        clients, neighbours = self.core.clients.with_feature(REFRESH), self._neighbours()
        effects: list[Effect] = []
        for name in clients:
            effects += self._look_at_client(name, self._edge(name, now), now)
        known = {*clients, *neighbours}
        self.edges = {name: edge for name, edge in self.edges.items() if name in known}
        return effects

    def _silence(self, edge: Edge, now: float) -> float:
        """How long somebody has not compared."""
        if not edge.heard_at <= now:  # no number, or a time to come
            edge.heard_at = now
        return now - edge.heard_at

    def _look_at_neighbour(self, name: str, edge: Edge, now: float) -> list[Effect]:
        told = self.core.neighbours[name].refresh_seconds
        period = max(self._settings.refresh_seconds, told)
        if self._silence(edge, now) <= 2 * period + TICK_SECONDS + self._delay:
            return []
        return self._reset(name, edge, now)

    def _look_at_client(self, name: str, edge: Edge, now: float) -> list[Effect]:
        if name in self.core.clients.away:
            edge.heard_at = now
        period = self.core.config.client_refresh_seconds
        late = self._silence(edge, now) - TICK_SECONDS - self._delay
        if late > 3 * period:
            edge.is_asked = False
            return self._reset(name, edge, now)
        if late > 2 * period and not edge.is_asked:
            edge.is_asked = True
            return [Send(name, Repeat(one)) for one in TABLES]
        return []

    def _reset(self, name: str, edge: Edge, now: float) -> list[Effect]:
        """Let a stream begin anew that has brought no comparison for too long."""
        seconds = self._silence(edge, now)
        edge.heard_at = now
        edge.silences += 1
        self.counts["silent"] += 1
        reason = f"no comparison of tables came for {seconds:.1f} s"
        return [ResetStream(name, reason, edge.silences)]

    # Links and clients

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """Everything is new: compare behind what was told."""
        self.edges.pop(neighbour, None)
        return self._say_at_once(neighbour, now)

    def link_back(self, neighbour: str, now: float) -> list[Effect]:
        """Compare behind what was withheld."""
        if self._is_leased:
            self.leases.begin(neighbour)
        return self._say_at_once(neighbour, now)

    def link_thawed(self, neighbour: str, now: float) -> list[Effect]:
        """A link that a change of the tree has brought is compared behind what was told."""
        if neighbour not in self.edges:
            return self._say_at_once(neighbour, now)
        self.edges[neighbour].heard_at = now
        return []

    def compare(self, neighbour: str, now: float) -> list[Effect]:
        """Both ends of an edge may know different things: let them find out."""
        return self._say_at_once(neighbour, now)

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """There is nothing to compare any more."""
        self.edges.pop(neighbour, None)
        return []

    def client_up(self, client: str, now: float) -> list[Effect]:
        """A client that can compare is going to."""
        if self.core.clients.has_feature(client, REFRESH):
            self.edges[client] = Edge(now)
        return []

    def client_back(self, client: str, now: float) -> list[Effect]:
        """A client could not compare while it was away."""
        edge = self.edges.get(client)
        if edge is not None:
            edge.heard_at, edge.silences, edge.is_asked = now, 0, False
        return []

    def client_down(self, client: str, now: float) -> list[Effect]:
        """There is nothing to compare any more."""
        self.edges.pop(client, None)
        return []

    # Looking

    def report(self) -> dict[str, Any]:
        """What was found and mended, who cannot compare, and who writes texts in another way."""
        core, can = self.core, self._neighbours()
        return {
            "scheme": self._settings.refresh,
            **{name: self.counts[name] for name in COUNTS},
            "differing": sorted(
                name
                for name, edge in self.edges.items()
                if max(edge.rows.values(), default=0) >= ROW_MAX
            ),
            "neighbours_without": [one for one in core.neighbours.tree() if one not in can],
            "clients_without": len(core.clients) - len(core.clients.with_feature(REFRESH)),
        }

    def state(self) -> Any:
        """What is kept by edge, and the times."""
        return {
            "edges": {name: repr(one) for name, one in sorted(self.edges.items())},
            "times": [self.look_at, self.look_at_clients_at, self.expire_at],
            "flags": {name: sorted(one) for name, one in sorted(self.leases.flags.items())},
        }
