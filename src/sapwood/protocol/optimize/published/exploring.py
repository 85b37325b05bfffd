"""The frame of the published heuristics as a machine of a broker (thesis 5.5.4, Algorithms 17, 18).

Corrected: a broadcast carries the summary of its origin only, so only that one is stored, and
its age counts from then (Algorithm 17, line 12); the request names a link that is on the path, in
the direction of the path, and looks for the next broker behind this one (Algorithm 18, lines 9 and
19). What the tree was when a request began may have changed meanwhile: then it is dropped, and a
change that begins in vain is refused by whoever it concerns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol
from zlib import crc32

import msgspec

from sapwood.errors import BloomFormatError
from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.machine import Machine, MessageHandler
from sapwood.protocol.optimize.published.judging import HEURISTICS, Prospect, link_to_remove
from sapwood.protocol.optimize.published.messages import (
    Knowledge,
    RingAgreed,
    RingRequest,
    as_message,
)
from sapwood.protocol.optimize.published.settings import HeuristicSettings
from sapwood.protocol.optimize.published.summaries import Members, Recent, summary_of
from sapwood.protocol.reconfigure.exchange import anybody, oriented
from sapwood.protocol.reconfigure.fitness import RING_MIN
from sapwood.protocol.reconfigure.messages import BeginChange
from sapwood.protocol.reconfigure.requests import ATTEMPTS_MAX, Changing

REQUESTS_FROM: Final = 10**9
"""Numbers of requests from here on, negated, are this machine's."""


class CostModel(Protocol):
    """What links and brokers cost, as far as one broker can say it."""

    def processing_cost(self, name: str) -> float:
        """What a notification costs at a broker; asked for the broker itself only."""

    def link_cost(self, left: str, right: str) -> float:
        """What it costs between the broker itself and another one, linked or not."""


class Heard(NamedTuple):
    """What another broker has said of itself."""

    recent: bytes
    at: float


class Exploring(Machine):
    """What one broker tells and hears, and what it makes of it."""

    name = "exploring"
    derived = ("costs", "settings")

    def __init__(
        self, core: Core, changing: Changing, settings: HeuristicSettings, costs: CostModel
    ) -> None:
        super().__init__(core)
        self.settings = settings
        self.costs = costs
        self.recent = Recent(settings.cache_size)
        self.heard: dict[str, Heard] = {}
        phase = crc32(core.id.encode()) / 2**32
        self.broadcast_at = settings.start_at + phase * settings.broadcast_interval
        self.told_total = 0
        """How many notifications had been remembered when the last broadcast was sent."""
        self.told_at = float("-inf")
        self.requests = 0
        self.counts: Counter[str] = Counter()
        """Broadcasts and requests begun, and what became of requests here."""
        self._changing = changing
        self._heuristic = HEURISTICS[settings.heuristic]
        self._summary = summary_of(settings)

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """Broadcasts and requests."""
        return {Knowledge: self._told, RingRequest: self._asked, RingAgreed: self._agreed}

    # Traffic

    def saw(self, data: bytes) -> None:
        """A run of notifications concerns this broker."""
        if self._heuristic.needs_traffic:
            self.recent.add(self._summary.keys_of(data))

    # Broadcasts

    @property
    def next_at(self) -> float | None:
        """When the next broadcast is due."""
        if self._is_triggered:
            return max(self.told_at + self.settings.broadcast_interval_min, self.settings.start_at)
        return self.broadcast_at

    @property
    def _is_triggered(self) -> bool:
        """Whether there was traffic enough for a broadcast, where traffic counts."""
        after = self.settings.broadcast_after
        return after > 0 and self.recent.total - self.told_total >= after

    def tick(self, now: float) -> list[Effect]:
        """Tell, if it is time, what this broker costs and what concerns it; forget what is old."""
        at = self.next_at
        if at is None or not is_due(at, now, self.settings.interval_max + self.settings.start_at):
            return []
        self.broadcast_at = now + self.settings.interval_max
        self.told_at, self.told_total = now, self.recent.total
        self._forget(now)
        self.counts["broadcasts"] += 1
        keys = self.recent.keys()
        recent = b"" if keys is None else self._summary.encode(keys)
        return self._tell(
            Knowledge((self.core.id,), (self.costs.processing_cost(self.core.id),), (), recent)
        )

    def _tell(self, message: Knowledge) -> list[Effect]:
        onward = as_message(message)
        neighbours = self.core.neighbours.tree()
        return [Send(name, onward) for name in neighbours if name not in message.path]

    def _forget(self, now: float) -> None:
        """What was not heard again within the update interval is not believed any more."""
        oldest = now - self._believed
        self.heard = {name: one for name, one in self.heard.items() if one.at >= oldest}

    @property
    def _believed(self) -> float:
        settings = self.settings
        return settings.update_interval - settings.broadcast_interval + settings.interval_max

    def _told(self, source: str, message: Knowledge, now: float) -> list[Effect]:
        """Algorithm 17."""
        core, path = self.core, message.path
        if (
            not path
            or path[-1] != source
            or core.id in path
            or not len(path) == len(message.processing) == len(message.links) + 1
        ):
            return core.drops.count(Drop.MALFORMED, source)
        self.heard[path[0]] = Heard(message.recent, now)
        links = (*message.links, self.costs.link_cost(source, core.id))
        processing = (*message.processing, self.costs.processing_cost(core.id))
        effects: list[Effect] = []
        if len(path) > 1:
            link = self.costs.link_cost(core.id, path[0])
            effects += self._evaluate(
                RingRequest(
                    (core.id, *reversed(path)),
                    (*reversed(links), link),
                    tuple(reversed(processing)),
                    (0.0,) * (len(path) + 1),
                    core.config.addresses,
                ),
                now,
            )
        if len(path) < self.settings.horizon:
            effects += self._tell(Knowledge((*path, core.id), processing, links, message.recent))
        return effects

    # Evaluation, and consensus

    def _evaluate(self, request: RingRequest, now: float) -> list[Effect]:
        """Ask for a link to the origin of a broadcast if it would pay."""
        ring = self._prospect(request, now)
        if ring is None:
            self.counts["undecided"] += 1
            return []
        if not self._heuristic.pays(ring):
            return []
        self.counts["requests"] += 1
        return self._consider(request, ring, now)

    def _asked(self, source: str, message: RingRequest, now: float) -> list[Effect]:
        """Algorithm 18."""
        core, path = self.core, message.path
        lengths = {len(path), len(message.links), len(message.processing), len(message.costs)}
        if core.id not in path[1:] or len(path) < RING_MIN or len(lengths) != 1:
            return core.drops.count(Drop.MALFORMED, source)
        if path[path.index(core.id) - 1] != source:
            return core.drops.count(Drop.MALFORMED, source)
        ring = self._prospect(message, now)
        if ring is None:
            self.counts["unknown"] += 1
            return []
        return self._consider(message, ring, now)

    def _consider(self, request: RingRequest, ring: Prospect, now: float) -> list[Effect]:
        """Add what this broker thinks of the ring; let it go on, or decide."""
        added = self._heuristic.contribution(ring)
        costs = tuple(one + more for one, more in zip(request.costs, added, strict=True))
        if ring.place == ring.size - 1:
            return self._decide(msgspec.structs.replace(request, costs=costs), now)
        following = request.path[ring.place + 1]
        if not self.core.neighbours.is_in_tree(following):
            self.counts["overtaken"] += 1
            return []
        return [Send(following, as_message(msgspec.structs.replace(request, costs=costs)))]

    def _decide(self, request: RingRequest, now: float) -> list[Effect]:
        """All have said what they think: change the tree, or leave it as it is."""
        core, path = self.core, request.path
        place = link_to_remove(request.costs, self.settings.hysteresis)
        if place is None:
            self.counts["rejected"] += 1
            return []
        self.counts["agreed"] += 1
        step = oriented(path, place + 1, anybody)
        if step.ring[0] == core.id:
            return self._begin(step.ring, step.k, request.addresses, now)
        agreed = RingAgreed(tuple(reversed(path)), step.k, core.config.addresses)
        return self._agreed(core.id, agreed, now)

    def _agreed(self, source: str, message: RingAgreed, now: float) -> list[Effect]:
        """All have agreed: pass it on to who begins, or begin."""
        core, path = self.core, message.path
        if core.id not in path or len(path) < RING_MIN:
            return core.drops.count(Drop.MALFORMED, source)
        if path[-1] == core.id:
            return self._begin(tuple(reversed(path)), message.k, message.addresses, now)
        following = path[path.index(core.id) + 1]
        if not core.neighbours.is_in_tree(following):
            self.counts["overtaken"] += 1
            return []
        return [Send(following, as_message(message))]

    def _begin(
        self, ring: tuple[str, ...], k: int, addresses: tuple[str, ...], now: float
    ) -> list[Effect]:
        """Change the tree; not tried again for long, as the next broadcast brings it up anew."""
        core = self.core
        self.requests += 1
        wanted = BeginChange(
            core.id,
            -(REQUESTS_FROM + self.requests),
            ring,
            k,
            (core.id,),
            (core.id,),
            addresses,
        )
        effects = self._changing.begin(wanted, now)
        order = self._changing.orders.get((core.id, wanted.request))
        if order is not None:
            order.attempts = max(order.attempts, ATTEMPTS_MAX - 1)
        return effects

    def _prospect(self, request: RingRequest, now: float) -> Prospect | None:
        """A ring as this broker knows it; None if it does not know enough, or not any more."""
        core, oldest = self.core, now - self._believed
        members: list[Members | None] = []
        keys = self.recent.keys()
        for name in request.path:
            if name == core.id or not self._heuristic.needs_traffic:
                members.append(None)
                continue
            known = self.heard.get(name)
            if known is None or not known.recent or known.at < oldest or keys is None:
                return None
            try:
                members.append(self._summary.members(keys, known.recent))
            except BloomFormatError:
                return None
        return Prospect(
            request.path.index(core.id), request.links, request.processing, tuple(members)
        )

    # Looking

    def report(self) -> dict[str, Any]:
        """What was told, asked and decided, and how much is known."""
        return {**self.counts, "heard": len(self.heard), "remembered": len(self.recent)}
