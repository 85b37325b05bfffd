"""What a broker knows of its surroundings: costs, and what its neighbours are like (A2, A3, D).

Neighbours tell each other what it costs to handle a notification, whether there is room for another
link, and where they can be dialled. The costs of links in use are measured by what measures delays
anyway. What a link between two neighbours would cost, one of them is asked to find out: it answers
from memory, or has the other one dialled and measures three round trips over that link.

What others say is looked at before it is believed, and what cannot be a cost is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from sapwood.protocol.core import Core
from sapwood.protocol.due import is_due, past
from sapwood.protocol.effects import CloseLink, Effect, Measure, OpenLink, Send
from sapwood.protocol.events import CostsGiven, DelayMeasured
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.optimize.costs import (
    MILLISECONDS,
    PAIRS_MAX,
    PROBED_SAMPLES,
    SAMPLES,
    Costs,
    PairCost,
    is_cost,
    is_fresh,
)
from sapwood.protocol.optimize.messages import SWAPS, LinkCost, LinkProbe, Neighbourhood
from sapwood.protocol.optimize.settings import OptimizationSettings

ECHO_SECONDS: Final = 5.0
"""Time between two measurements of a link in use, until there were enough."""

RARE_ECHO_SECONDS: Final = 30.0
"""The same afterwards; what beacons measure anyway is more than that, and counts."""

PROBE_SECONDS: Final = 10.0
"""How long somebody may take to find out what a link would cost."""

PROBES_MAX: Final = 32
"""Links that a broker measures for others at a time."""

FAILED_PERIODS: Final = 16
"""How many periods nobody is asked again about a link that could not be measured."""

CONFIRMED_PERIODS: Final = 8
"""How many periods after an answer a swap is proposed by it; later it is asked again."""

RESERVED_PERIODS: Final = 4
"""How many periods room is kept for whoever has paid for it: it asks again in the next one."""

NEWS_SHARE: Final = 0.1
"""A cost that has changed by more than this share is told at once."""

TOLD_FACTOR: Final = 3
"""What a neighbour told is forgotten when so many times have passed in which it had to tell."""

LOADS: Final = 6
"""Measured costs of processing of which the lower quartile counts: load is to be left out."""

LOAD_SMOOTHING: Final = 0.1
LOAD_SECONDS_MIN: Final = 5.0
"""Shortest time over which load is measured."""

NOTIFICATIONS_MIN: Final = 20
"""Notifications that must have been handled for the time they took to say something."""


class Room(NamedTuple):
    """A way for a broker without room to make some: a swap of its own, and what it loses by it."""

    loss: float
    mover: str
    onto: str


class Reserved(NamedTuple):
    """Room that was made for somebody: others are told that there is none."""

    middle: str
    until: float


class Told(msgspec.Struct):
    """What somebody said, and when."""

    message: Neighbourhood
    at: float


class Probing(msgspec.Struct):
    """A neighbour was asked what a link to another one would cost."""

    asked: str
    target: str
    until: float


class Measuring(msgspec.Struct):
    """A link that others want to know the cost of."""

    askers: list[tuple[str, int]]
    """Who asked, under which number."""
    until: float
    is_dialled: bool
    """Whether the link was dialled because of that, and is to be closed."""


class Surroundings(Machine):
    """Costs and neighbours, as far as they are known."""

    name = "surroundings"

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.costs = Costs()
        self.processing = 0.0
        """What it costs to handle a notification here."""
        self.given: CostsGiven | None = None
        """What the driver has said of costs last, in place of the settings."""
        self.is_processing_given = False
        self._take_given()
        self.utilisation = 0.0
        """Which share of the time this broker is busy."""
        self.busy_seconds = 0.0
        self.load_since = float("-inf")
        """How long it was busy, from when on."""
        self.handled_since = 0
        """Notifications that it handled in that time."""
        self.loads: list[float] = []
        """The last measured costs of processing."""
        self.rooms: list[Room] = []
        """Ways to make room for another link here, the cheapest first."""
        self.reserved = Reserved("", float("-inf"))
        """For whom the room is that was made last, and until when."""
        self.told: dict[str, Told] = {}
        """By neighbour: what it said last."""
        self.said: dict[str, Told] = {}
        """By neighbour: what it was told last."""
        self.heard: dict[tuple[str, str], PairCost] = {}
        """By pair of brokers: what a link between them would cost."""
        self.failed: dict[tuple[str, str], float] = {}
        """Until when nobody is asked about a pair."""
        self.probing: dict[int, Probing] = {}
        """By request."""
        self.measuring: dict[str, Measuring] = {}
        """By broker to which a link is measured."""
        self.echo_at = float("-inf")
        """When links in use are measured next."""
        self.requests = 0
        self.counts: Counter[str] = Counter()
        """Probes, answers to them, and values that were not believed."""

    @property
    def settings(self) -> OptimizationSettings:
        """What the operator said."""
        return self.core.config.optimization

    def events(self) -> Mapping[type, EventHandler]:
        """What the driver measures, or is given."""
        return {CostsGiven: self._given}

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """What neighbours say."""
        return {Neighbourhood: self._told, LinkProbe: self._probed, LinkCost: self._answered}

    def takes_part(self, name: str) -> bool:
        """Whether a neighbour in the tree understands what is said about swaps."""
        one = self.core.neighbours.get(name)
        return one is not None and one.in_tree and SWAPS in one.features

    # Measured here

    def _given(self, event: CostsGiven, now: float) -> list[Effect]:
        """The operator's costs are others from now on; those that are none are left out."""
        self.counts["ignored"] += sum(not self._is_cost(cost) for _, cost in event.links)
        self.given = event
        self.heard.clear()
        self._take_given()
        return self._tell_all(now)

    def _take_given(self) -> None:
        """Costs that are given hold, whatever was measured."""
        settings, given = self.settings, self.given
        links, processing = settings.link_costs, None
        if settings.costs == "given":
            processing = settings.processing_cost
        if isinstance(given, CostsGiven):
            links = given.links
            processing = processing if given.processing is None else given.processing
        self.costs.given = {name: cost for name, cost in links if self._is_cost(cost)}
        self.is_processing_given = processing is not None and self._is_cost(processing)
        if processing is not None and self.is_processing_given:
            self.processing = processing

    def _is_cost(self, value: object) -> bool:
        return is_cost(value, self.settings.cost_max)

    def delay_measured(self, event: DelayMeasured, now: float) -> list[Effect]:
        """A message over a link took so long, one way."""
        name = event.neighbour
        one = self.core.neighbours.get(name)
        if one is None or not self.settings.is_on:
            return []
        is_used = one.in_tree
        seconds = 2 * event.seconds
        if not self.costs.measured(name, seconds, now, self.settings, linked=is_used):
            self.counts["ignored"] += 1
        if name not in self.measuring:
            return []
        meter = self.costs.meters.get(name)
        if meter is None or meter.samples < PROBED_SAMPLES:
            return [Measure(name)]
        return self._end_measuring(name, now)

    def took(self, seconds: float) -> None:
        """Reads of this broker have taken so long since this was last said."""
        self.busy_seconds += seconds

    def handled(self, notifications: int, now: float) -> None:
        """So many were handled since the last look: what that cost, if it was measured."""
        over = now - past(self.load_since, now)
        self.handled_since += notifications
        if over < LOAD_SECONDS_MIN:
            return
        self.load_since = now
        if not self._is_cost(self.busy_seconds):
            self.busy_seconds = 0.0
        self.utilisation = min(1.0, self.busy_seconds / over)
        if self.handled_since >= NOTIFICATIONS_MIN and self.busy_seconds > 0:
            self.loads = [
                *self.loads[-(LOADS - 1) :],
                self.busy_seconds * MILLISECONDS / self.handled_since,
            ]
            quartile = sorted(self.loads)[len(self.loads) // 4]
            if not self.is_processing_given:
                before = self.processing or quartile
                self.processing = before + LOAD_SMOOTHING * (quartile - before)
        self.busy_seconds = 0.0
        self.handled_since = 0

    # What is told

    def room(self, neighbour: str) -> Room | None:
        """The cheapest way to make room that leaves a neighbour alone."""
        return next((one for one in self.rooms if neighbour not in one[1:]), None)

    def reserve(self, middle: str, now: float) -> None:
        """Room is made for a swap of this neighbour: keep it until that can have been made."""
        self.reserved = Reserved(middle, now + RESERVED_PERIODS * self.settings.period_seconds)

    def slots(self, middle: str, now: float) -> int:
        """How many links may be added here by swaps of a neighbour."""
        free = self.settings.degree_max - len(self.core.neighbours.tree())
        lasts = RESERVED_PERIODS * self.settings.period_seconds
        is_kept = not is_due(self.reserved.until, now, lasts)
        return max(0, free - (is_kept and self.reserved.middle != middle))

    def _news(self, neighbour: str, now: float) -> Neighbourhood:
        """What a neighbour is told; room is made without that one."""
        room = self.room(neighbour)
        settings, degree = self.settings, len(self.core.neighbours.tree())
        slots = self.slots(neighbour, now)
        return Neighbourhood(
            self.processing,
            self.utilisation,
            degree,
            slots,
            None if slots or room is None else room.loss,
            settings.zone,
            self.core.id in settings.pinned,
            self.core.config.addresses[:16],
        )

    def _tell_all(self, now: float) -> list[Effect]:
        """Tell neighbours what is new, or was told long ago."""
        if not self.settings.is_on:
            return []
        effects: list[Effect] = []
        seconds = self.settings.tell_seconds
        for name, one in self.core.neighbours.items():
            if not self.takes_part(name) or one.is_withheld:
                continue
            said, news = self.said.get(name), self._news(name, now)
            is_new = said is None or _is_news(said.message, news)
            if is_new or (said is not None and is_due(said.at + seconds, now, seconds)):
                self.said[name] = Told(news, now)
                effects.append(Send(name, news))
        return effects

    def _told(self, source: str, message: Neighbourhood, now: float) -> list[Effect]:
        price = message.slot_price
        is_sound = (
            self._is_cost(message.processing_cost)
            and is_cost(message.utilisation, 1.0)
            and (price is None or self._is_cost(price))
        )
        if is_sound and self.settings.is_on:
            self.told[source] = Told(message, now)
        else:
            self.told.pop(source, None)
            self.counts["ignored"] += 1
        return []

    def no_room(self, name: str, price: float | None) -> None:
        """A neighbour has no room, and says what making some would cost: it said so later."""
        told = self.told.get(name)
        if told is not None and (price is None or self._is_cost(price)):
            told.message = msgspec.structs.replace(told.message, slots=0, slot_price=price)

    def known(self, name: str, now: float) -> Neighbourhood | None:
        """What a neighbour told, if that is not too long ago."""
        told = self.told.get(name)
        if told is None or not self.takes_part(name):
            return None
        lasts = TOLD_FACTOR * self.settings.tell_seconds
        return told.message if 0 <= now - told.at <= lasts else None

    # Costs

    def link_cost(self, name: str, zone: str) -> float | None:
        """What a notification costs on the link to a neighbour in a zone."""
        return self.costs.link(name, self.settings.surcharge(self.settings.zone, zone))

    def pair_cost(self, one: str, other: str, now: float) -> float | None:
        """What a link between two neighbours would cost, without what zones add."""
        known = self.heard.get(_pair(one, other))
        if known is None or not self._is_cost(known.cost):
            return None
        return known.cost if is_fresh(known, now, self.settings) else None

    def pair_error(self, one: str, other: str) -> float:
        """The standard error of what a link between two neighbours would cost, as was said."""
        known = self.heard.get(_pair(one, other))
        return known.error if known is not None and self._is_cost(known.error) else 0.0

    # Asking

    def may_ask(self, mover: str, onto: str, now: float) -> bool:
        """Whether somebody should be asked what a link between two neighbours would cost."""
        pair = _pair(mover, onto)
        lasts = FAILED_PERIODS * self.settings.period_seconds
        if pair in self.failed and not is_due(self.failed[pair], now, lasts):
            return False
        return all(_pair(one.asked, one.target) != pair for one in self.probing.values())

    def confirm(self, one: str, other: str, now: float) -> list[Effect] | None:
        """Ask again before a swap if the answer is old: a fault may have spoilt it; else None.

        Nothing is asked twice at a time, nor if it could not be answered lately.
        """
        pair = _pair(one, other)
        known, lasts = self.heard.get(pair), CONFIRMED_PERIODS * self.settings.period_seconds
        if known is not None and 0 <= now - known.at <= lasts:
            return None
        if any(_pair(asked.asked, asked.target) == pair for asked in self.probing.values()):
            return []
        return self.ask(one, other, now) if self.may_ask(one, other, now) else None

    def ask(self, one: str, other: str, now: float) -> list[Effect]:
        """Ask one of two neighbours what a link between them would cost: who can dial the other."""
        first, second = self.known(one, now), self.known(other, now)
        if first is None or second is None:
            return []
        if not second.addresses and first.addresses:
            one, other, second = other, one, first
        self.failed.pop(_pair(one, other), None)
        self.requests += 1
        self.probing[self.requests] = Probing(one, other, now + PROBE_SECONDS)
        self.counts["probes"] += 1
        return [Send(one, LinkProbe(self.requests, other, second.addresses))]

    def _answered(self, source: str, message: LinkCost, now: float) -> list[Effect]:
        """A neighbour says what a link would cost, or that it cannot say."""
        asked = self.probing.get(message.request)
        if asked is None or (asked.asked, asked.target) != (source, message.target):
            self.counts["ignored"] += 1
            return []
        del self.probing[message.request]
        pair = _pair(source, message.target)
        values = (message.cost, message.deviation)
        if message.error or not all(map(self._is_cost, values)):
            self.counts["unmeasured" if message.error else "ignored"] += 1
            self._fail(pair, now)
            return []
        self._hear(pair, PairCost(message.cost, now, message.linked, message.deviation))
        return []

    def in_use(self, one: str, other: str, cost: float, now: float) -> None:
        """A link that was made costs so much in use: that is worth more than what was told."""
        if self._is_cost(cost):
            self._hear(_pair(one, other), PairCost(cost, now, True))

    def _hear(self, pair: tuple[str, str], cost: PairCost) -> None:
        self.heard.pop(pair, None)
        self.heard[pair] = cost
        while len(self.heard) > PAIRS_MAX:
            del self.heard[next(iter(self.heard))]

    def _fail(self, pair: tuple[str, str], now: float) -> None:
        self.failed[pair] = now + FAILED_PERIODS * self.settings.period_seconds
        while len(self.failed) > PAIRS_MAX:
            del self.failed[next(iter(self.failed))]

    # Being asked

    def _probed(self, source: str, message: LinkProbe, now: float) -> list[Effect]:
        """A neighbour wants to know what a link to another broker would cost."""
        target = message.target
        known = self.costs.pair(target, now, self.settings)
        if known is not None:
            return [Send(source, _cost(message.request, target, known, 1))]
        if not self.settings.is_on or target == self.core.id:
            return [_unknown(source, message.request, target, "it is not measured here")]
        measuring = self.measuring.get(target)
        if measuring is not None:
            measuring.askers.append((source, message.request))
            del measuring.askers[:-PROBES_MAX]
            return []
        if len(self.measuring) >= PROBES_MAX:
            return [_unknown(source, message.request, target, "too many are measured already")]
        one = self.core.neighbours.get(target)
        is_linked = one is not None and one.is_connected
        if not is_linked and not message.addresses:
            return [_unknown(source, message.request, target, "it cannot be dialled")]
        asker = [(source, message.request)]
        self.measuring[target] = Measuring(asker, now + PROBE_SECONDS, not is_linked)
        return [Measure(target)] if is_linked else [OpenLink(target, message.addresses)]

    def link_aside(self, neighbour: str, now: float) -> list[Effect]:
        """A link is there that was dialled to be measured."""
        return [Measure(neighbour)] if neighbour in self.measuring else []

    def _end_measuring(self, target: str, now: float) -> list[Effect]:
        """Answer those who asked; the link is needed no longer, unless a change has begun."""
        measuring = self.measuring.pop(target)
        known = self.costs.pair(target, now, self.settings)
        effects: list[Effect] = []
        for asker, request in measuring.askers:
            if known is None:
                effects.append(_unknown(asker, request, target, "it could not be measured in time"))
            else:
                effects.append(Send(asker, _cost(request, target, known, PROBED_SAMPLES)))
        effects = [one for one in effects if self.core.neighbours.is_in_tree(_to(one))]
        one = self.core.neighbours.get(target)
        is_free = one is not None and not one.in_tree and target != self.core.joining
        if measuring.is_dialled and is_free:
            effects.append(CloseLink(target, "it was dialled to be measured"))
        return effects

    # Links and time

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is in the tree: it is told at once what it needs to know."""
        self.said.pop(neighbour, None)
        self.echo_at = float("-inf")
        return self._tell_all(now)

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is not in the tree any more; what its link cost is remembered."""
        self.said.pop(neighbour, None)
        self.told.pop(neighbour, None)
        return self._tell_all(now)

    def link_thawed(self, neighbour: str, now: float) -> list[Effect]:
        """A change of the tree has ended here: there may be room, or none any more."""
        return self._tell_all(now)

    def neighbour_gone(self, neighbour: str, now: float) -> list[Effect]:
        """There is no link any more."""
        self.costs.forget_link(neighbour)
        return []

    def link_back(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour that could not be reached is told again."""
        return self.link_up(neighbour, now)

    @property
    def next_at(self) -> float | None:
        """When somebody has waited for too long."""
        times = [one.until for one in self.probing.values()]
        times += [one.until for one in self.measuring.values()]
        return min(times, default=None)

    def tick(self, now: float) -> list[Effect]:
        """Tell what is new, and wait for nobody longer than for its time."""
        if not self.settings.is_on:
            return []
        self.costs.mend(self.settings.cost_max)
        self._take_given()
        if not self._is_cost(self.processing):
            self.processing = 0.0
        for request, asked in list(self.probing.items()):
            if is_due(asked.until, now, PROBE_SECONDS):
                del self.probing[request]
                self._fail(_pair(asked.asked, asked.target), now)
        effects = self._echo(now)
        for target, measuring in list(self.measuring.items()):
            if is_due(measuring.until, now, PROBE_SECONDS):
                effects += self._end_measuring(target, now)
        return [*effects, *self._tell_all(now)]

    def _echo(self, now: float) -> list[Effect]:
        """Measure the links in use, unless their costs are given."""
        if not is_due(self.echo_at, now, ECHO_SECONDS):
            return []
        self.echo_at = now + ECHO_SECONDS
        return [
            Measure(name)
            for name, one in self.core.neighbours.items()
            if self.takes_part(name) and one.is_connected and self._wants_echo(name, now)
        ]

    def _wants_echo(self, name: str, now: float) -> bool:
        """Whether a link in use has to be measured for its cost to be known."""
        if name in self.costs.given:
            return False
        meter, known = self.costs.meters.get(name), self.costs.pairs.get(name)
        if meter is None or known is None or meter.samples < SAMPLES:
            return True
        return is_due(known.at + RARE_ECHO_SECONDS, now, RARE_ECHO_SECONDS)

    def report(self) -> dict[str, Any]:
        """What is known, in numbers."""
        return {
            "processing_cost": self.processing,
            "utilisation": self.utilisation,
            "link_costs": {
                name: cost
                for name in self.core.neighbours.tree()
                if (cost := self.costs.link(name)) is not None
            },
            "pairs": len(self.heard),
            "probes": self.counts["probes"],
            "unmeasured": self.counts["unmeasured"],
            "ignored": self.counts["ignored"],
        }

    def state(self) -> Any:
        """All of it."""
        return {
            "processing": self.processing,
            "given": dict(self.costs.given),
            "meters": {name: msgspec.to_builtins(one) for name, one in self.costs.meters.items()},
            "pairs": {name: msgspec.to_builtins(one) for name, one in self.costs.pairs.items()},
            "told": {name: msgspec.to_builtins(one) for name, one in self.told.items()},
            "heard": [[*pair, msgspec.to_builtins(one)] for pair, one in self.heard.items()],
            "probing": {str(key): msgspec.to_builtins(one) for key, one in self.probing.items()},
            "measuring": {name: msgspec.to_builtins(one) for name, one in self.measuring.items()},
        }


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _to(effect: Effect) -> str:
    return effect.destination if isinstance(effect, Send) else ""


def _cost(request: int, target: str, known: PairCost, samples: int) -> LinkCost:
    return LinkCost(request, target, known.cost, samples, known.linked, deviation=known.error)


def _unknown(asker: str, request: int, target: str, error: str) -> Send:
    return Send(asker, LinkCost(request, target, error=error))


def _is_news(before: Neighbourhood, after: Neighbourhood) -> bool:
    """Whether a neighbour has to be told now."""
    if (before.slots > 0) != (after.slots > 0):
        return True
    if (before.zone, before.pinned) != (after.zone, after.pinned):
        return True
    if before.addresses != after.addresses:
        return True
    numbers = (
        (before.processing_cost, after.processing_cost),
        (before.slot_price or 0.0, after.slot_price or 0.0),
    )
    if any(abs(old - new) > NEWS_SHARE * max(old, new) for old, new in numbers):
        return True
    return (before.slot_price is None) != (after.slot_price is None)
