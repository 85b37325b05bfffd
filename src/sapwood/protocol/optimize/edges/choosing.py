"""Choosing the routing of edges: each end measures what it can, and decides what is its own.

Of the edge from i to j: while it floods, j counts what comes and what of it somebody wants, knows
from its own table what it would cost to tell i, and decides to tell. While j tells, i counts what
it has for j's side, what it sends there and what j says, and decides to flood: everything comes to
i then, as all others flood to it. In which way j tells is j's own affair; i need not know.

What is counted holds from the last switch on that could change its meaning.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from sapwood.protocol.core import Core
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import Effect, Record
from sapwood.protocol.machine import Machine, MessageHandler
from sapwood.protocol.messages import CODEC, EdgeReport, Subscribe, Unsubscribe
from sapwood.protocol.neighbours import Neighbour
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.protocol.optimize.edges.switching import Switching
from sapwood.protocol.optimize.edges.weighing import (
    Counted,
    Hold,
    Rates,
    best_way,
    is_lasting,
    is_worth,
    measured,
)
from sapwood.routing.algorithms import FLOODING

DECISIONS_MAX: Final = 64
"""Decisions that are remembered."""

MESSAGE_BYTES: Final = 60.0
"""Size of what is said about a wish, until some was measured."""

MESSAGE_BYTES_MAX: Final = 2.0**24
"""More than any message has."""

SMOOTHING: Final = 0.05
"""Share of a new message in the mean size."""

SHADOWED: Final = ("covering", "merging")
"""Ways of telling whose cost is found out by keeping beside what would be owed."""

SHADOWS_MAX: Final = 8
"""Neighbours and ways for which that is kept at a time; more take turns, period by period."""

SHADOWED_ENTRIES_MAX: Final = 20_000
"""Nothing is kept beside of a larger table: it would take long to find out, in one go."""

PARTS_MAX: Final = 1000
"""Periods that a window may have."""


class Meter(msgspec.Struct):
    """What was counted lately for one edge, at the end that decides about it, in periods."""

    parts: list[Counted] = []
    hold: Hold = msgspec.field(default_factory=Hold)
    mode: str = ""
    """How the edge is routed, as far as was seen."""
    number: int = -1
    """Of the switch that led to it."""
    shadows: dict[str, float] = {}
    """By way of telling: messages per second, as last found out."""
    last: str = ""
    """The last switch, and why."""
    last_at: float = -math.inf


class EdgeDecision(msgspec.Struct, frozen=True, omit_defaults=True):
    """A switch that was decided, with its numbers; costs are per second."""

    at: float
    source: str
    target: str
    before: str
    after: str
    cost_before: float
    cost_after: float
    flooded: float
    wanted: float
    said: float
    unit: str
    outcome: str = "done"

    def __str__(self) -> str:
        """One line."""
        return (
            f"{self.before} -> {self.after}: {self.cost_before:.1f} -> {self.cost_after:.1f} "
            f"{self.unit}/s (all {self.flooded:.1f}, wanted {self.wanted:.1f}, "
            f"said {self.said:.1f})"
        )


class Choosing(Machine):
    """The choice of one broker."""

    name = "edge_choice"

    def __init__(self, core: Core, switching: Switching) -> None:
        super().__init__(core)
        self._switching = switching
        self.inward: dict[str, Meter] = {}
        """By neighbour: of the edges from them."""
        self.outward: dict[str, Meter] = {}
        """By neighbour: of the edges to them."""
        self.heard: Counter[str] = Counter()
        """By neighbour: messages about wishes in this period."""
        self.message_bytes = MESSAGE_BYTES
        self.counted_at = -math.inf
        """When the period began."""
        self.decisions: list[EdgeDecision] = []
        self.counts: Counter[str] = Counter()

    @property
    def _settings(self) -> EdgeRoutingSettings:
        """As they are set: a copy of them could be spoilt, and periods of zero never end."""
        return self.core.config.edges

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """What is said about wishes is counted."""
        if not self._settings.is_looking:
            return {}
        return {Subscribe: self._heard, Unsubscribe: self._heard}

    def _heard(self, source: str, message: Subscribe | Unsubscribe, now: float) -> list[Effect]:
        self.heard[source] += 1
        size = len(CODEC.encode(message))
        self._mend_size()
        self.message_bytes += SMOOTHING * (size - self.message_bytes)
        return []

    def _mend_size(self) -> None:
        """A size that is no number, or an absurd one, is from a fault."""
        if not 0 < self.message_bytes <= MESSAGE_BYTES_MAX:
            self.message_bytes = MESSAGE_BYTES

    # Time

    @property
    def next_at(self) -> float | None:
        """When the period is over."""
        if not self._settings.is_looking:
            return None
        return self.counted_at + self._settings.period_seconds

    def tick(self, now: float) -> list[Effect]:
        """At the end of a period: count, and decide."""
        period = self._settings.period_seconds
        if not self._settings.is_looking or not is_due(self.counted_at + period, now, period):
            return []
        seconds = now - self.counted_at
        self.counted_at = now
        self._mend_size()
        self._note_switches(now)
        if 0 < seconds < math.inf:
            self._count(seconds)
        effects = self._decide(now)
        self._cast_shadow()
        return effects

    # Measuring

    def _note_switches(self, now: float) -> None:
        """Forget what was counted before a switch that changed its meaning."""
        tree = {name: one for name, one in self.core.neighbours.items() if one.in_tree}
        for meters in (self.inward, self.outward):
            for name in [one for one in meters if one not in tree]:
                del meters[name]
        for name, one in tree.items():
            inward = self.inward.setdefault(name, Meter())
            outward = self.outward.setdefault(name, Meter())
            if self._is_switched(inward, one.inward_number, one.floods, one.sends, now):
                inward.parts = []
                for other, meter in self.outward.items():
                    meter.parts = [] if other != name else meter.parts
            if self._is_switched(outward, one.outward_number, one.is_flooded, one.receives, now):
                outward.parts = []
                for other, meter in self.inward.items():
                    meter.parts = [] if other != name else meter.parts

    def _is_switched(self, meter: Meter, number: int, floods: bool, mode: str, now: float) -> bool:
        was_flooding = meter.mode == FLOODING
        is_switched = meter.number != number or was_flooding != floods
        if is_switched and meter.number >= 0:
            meter.hold.switched(now, self._settings)
        meter.mode, meter.number = mode, number
        return is_switched

    def _count(self, seconds: float) -> None:
        """Take what was counted in this period."""
        core = self.core
        assert core.tally is not None
        assert core.wishes is not None
        came, wanted, sent = _totals(core.tally.take("edges"), core.neighbours)
        everything = [sum(one[at] for one in came.values()) for at in (0, 1)]
        for name, meter in self.outward.items():
            own, to = came.get(name, _NONE), sent.get(name, _NONE)
            said = {core.neighbours[name].receives: self.heard[name]}
            meter.parts.append(
                Counted(seconds, everything[0] - own[0], everything[1] - own[1], to[0], to[1], said)
            )
        for name, meter in self.inward.items():
            own, useful = came.get(name, _NONE), wanted.get(name, _NONE)
            said = self._said(name, seconds, meter)
            meter.parts.append(Counted(seconds, own[0], own[1], useful[0], useful[1], said))
        most = min(PARTS_MAX, max(1, round(self._settings.window_seconds / seconds)))
        for meters in (self.inward, self.outward):
            for meter in meters.values():
                meter.parts = [one for one in meter.parts[-most:] if one.is_sound]
        self.heard.clear()
        core.wishes.clear()

    def _said(self, name: str, seconds: float, meter: Meter) -> dict[str, int]:
        """Messages about wishes that each way of telling a neighbour would take, or took."""
        wishes, one = self.core.wishes, self.core.neighbours[name]
        assert wishes is not None
        for neighbour, how in wishes.shadows:
            if neighbour == name:
                meter.shadows[how] = wishes.unsaid[neighbour, how] / seconds
        said = {"simple": wishes.simple(name), "identity": wishes.identity(name)}
        for how, rate in meter.shadows.items():
            said[how] = round(rate * seconds)
        if not one.floods and one.sends in SHADOWED:
            said[one.sends] = wishes.told[name]
        return {how: said[how] for how in said if how in {*self._settings.telling, one.sends}}

    def _cast_shadow(self) -> None:
        """Find out in the next period what other ways of telling some neighbours would take."""
        wishes, table = self.core.wishes, self.core.subscriptions
        assert wishes is not None
        turns = [
            (name, how)
            for how in SHADOWED
            if how in self._settings.telling
            for name in self.inward
            if self.core.neighbours[name].sends != how
        ]
        if len(table) > SHADOWED_ENTRIES_MAX:
            turns = []
        if len(turns) > SHADOWS_MAX:
            last = next(reversed(wishes.shadows), None)
            at = turns.index(last) + 1 if last in turns else 0
            turns = [*turns[at:], *turns[:at]][:SHADOWS_MAX]
        wishes.cast(turns, table)

    def measured(self, meter: Meter) -> Rates | None:
        """What an edge carries, if that is known."""
        return measured(meter.parts, self._settings.unit, self.message_bytes)

    # Deciding

    def _decide(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for name, one in list(self.core.neighbours.items()):
            if not one.in_tree or not one.has_edges:
                continue
            if one.floods:
                effects += self._consider_telling(name, now)
            else:
                effects += self._consider_way(name, one, now)
            if not one.is_flooded:
                effects += self._consider_flooding(name, one, now)
        return effects

    def _consider_flooding(self, name: str, one: Neighbour, now: float) -> list[Effect]:
        """Flood to a neighbour that tells what it wants, if that costs less."""
        meter, settings = self.outward[name], self._settings
        seen = self.measured(meter)
        if seen is None or not settings.flooding or not meter.hold.is_over(now, settings):
            return []
        if self._switching.is_held(now):
            return []
        if one.receives not in seen.said or not is_worth(seen, one.receives, FLOODING, 1, settings):
            return []
        if self._is_flooding_enough() or self._switching.flooding_refusal(name):
            return []
        if not self._is_lasting(meter, one.receives):
            return []
        edge = self.core.id, name
        effects = self._decided(edge, meter, one.receives, FLOODING, seen, now)
        return effects + self._switching.flood(name) if settings.is_auto else effects

    def _is_lasting(self, meter: Meter, mode: str) -> bool:
        """Whether flooding has been cheaper for the whole window, period by period."""
        settings = self._settings
        wanted = min(PARTS_MAX, max(1, round(settings.window_seconds / settings.period_seconds)))
        is_whole = len(meter.parts) >= wanted
        return is_whole and is_lasting(meter.parts, mode, settings.unit, self.message_bytes)

    def _is_flooding_enough(self) -> bool:
        """Whether no more edges from this broker may flood."""
        tree = [one for one in self.core.neighbours.values() if one.in_tree]
        flooded = sum(one.is_flooded for one in tree)
        return flooded + 1 > self._settings.flood_max_share * len(tree)

    def _consider_telling(self, name: str, now: float) -> list[Effect]:
        """Tell a neighbour that floods what to send, if that costs less."""
        meter, settings = self.inward[name], self._settings
        seen = self.measured(meter)
        if seen is None or not meter.hold.is_over(now, settings):
            return []
        if self._switching.telling_refusal(name):
            return []
        best = self._best(seen)
        if best is None or not is_worth(seen, FLOODING, best, self._entries(name), settings):
            return []
        effects = self._decided((name, self.core.id), meter, FLOODING, best, seen, now)
        return effects + self._switching.tell(name, best) if settings.is_auto else effects

    def _consider_way(self, name: str, one: Neighbour, now: float) -> list[Effect]:
        """Tell a neighbour in another way what to send, if that costs less."""
        meter, settings = self.inward[name], self._settings
        seen = self.measured(meter)
        if seen is None or one.is_withheld or not meter.hold.is_over(now, settings):
            return []
        best = self._best(seen)
        if best is None or best == one.sends or one.sends not in seen.said:
            return []
        if not is_worth(seen, one.sends, best, self._entries(name), settings):
            return []
        effects = self._decided((name, self.core.id), meter, one.sends, best, seen, now)
        if not settings.is_auto:
            return effects
        meter.hold.switched(now, settings)
        meter.parts, meter.mode = [], best
        return effects + self._switching.tell(name, best)

    def _best(self, seen: Rates) -> str | None:
        """The cheapest way of telling among those that may be and whose cost is known."""
        return best_way(seen, self._settings.telling)

    def _entries(self, name: str) -> int:
        """What would have to be told first, at most."""
        wishes = self.core.wishes
        return 0 if wishes is None else wishes.filters(name)

    def _decided(
        self, edge: tuple[str, str], meter: Meter, before: str, after: str, seen: Rates, now: float
    ) -> list[Effect]:
        """Note a decision."""
        settings = self._settings
        telling = after if before == FLOODING else before
        decision = EdgeDecision(
            now,
            *edge,
            before,
            after,
            seen.cost(before),
            seen.cost(after),
            seen.flooded,
            seen.wanted,
            seen.said[telling],
            settings.unit,
            "done" if settings.is_auto else "observed",
        )
        self.decisions = [*self.decisions[-(DECISIONS_MAX - 1) :], decision]
        self.counts[decision.outcome] += 1
        meter.last, meter.last_at = str(decision), now
        if not self.core.config.recording:
            return []
        fields = {"source": edge[0], "target": edge[1], "message": str(decision)}
        return [Record("edge_switched", fields)]

    # Looking

    def report(self) -> dict[str, Any]:
        """What was measured and decided, by edge."""
        if not self._settings.is_looking:
            return {"choice": self._settings.choice}
        return {
            "choice": self._settings.choice,
            "done": self.counts["done"],
            "observed": self.counts["observed"],
            "to": {name: self._described(meter) for name, meter in self.outward.items()},
            "from": {name: self._described(meter) for name, meter in self.inward.items()},
            "decisions": [msgspec.to_builtins(one) for one in self.decisions],
        }

    def edge_reports(self) -> tuple[EdgeReport, ...]:
        """How the edges from this broker are routed, if it looks at that."""
        if not self._settings.is_looking:
            return ()
        return tuple(
            EdgeReport(name, one.receives, one.outward_number, self._last(name))
            for name, one in self.core.neighbours.items()
            if one.in_tree
        )

    def _last(self, name: str) -> str:
        meter = self.outward.get(name)
        return "" if meter is None else meter.last

    def _described(self, meter: Meter) -> dict[str, Any]:
        seen = self.measured(meter)
        found: dict[str, Any] = {"mode": meter.mode, "last": meter.last}
        if math.isfinite(meter.last_at):
            found["last_at"] = meter.last_at
        if seen is not None:
            said = {how: round(rate, 3) for how, rate in seen.said.items()}
            found |= {
                "all": round(seen.flooded, 3),
                "wanted": round(seen.wanted, 3),
                "said": said,
                "unit": self._settings.unit,
            }
        return found

    def state(self) -> Any:
        """When the next decision is due; counts end with the window."""
        return {"counted_at": repr(self.counted_at)}

    def problems(self) -> Iterator[str]:
        """Who wants what is counted as the table says."""
        wishes = self.core.wishes
        if wishes is None:
            return
        held: dict[str, dict[str, int]] = {}
        for entry in self.core.subscriptions:
            holders = held.setdefault(entry.filter.id, {})
            holders[entry.destination] = holders.get(entry.destination, 0) + 1
        if held != wishes.holders:
            yield "who wants what is counted wrong"


_NONE: Final = (0, 0)

Totals = dict[str, list[int]]


def _totals(
    counts: Mapping[str, Mapping[tuple[str, ...], list[int]]], neighbours: Mapping[str, Neighbour]
) -> tuple[Totals, Totals, Totals]:
    """By source what came and what of it went anywhere; by neighbour what went there."""
    came: Totals = {}
    wanted: Totals = {}
    sent: Totals = {}
    for source, cells in counts.items():
        for destinations, (number, size) in cells.items():
            _add(came, source, number, size)
            if destinations:
                _add(wanted, source, number, size)
            for one in destinations:
                if one in neighbours:
                    _add(sent, one, number, size)
    return came, wanted, sent


def _add(totals: Totals, name: str, number: int, size: int) -> None:
    cell = totals.setdefault(name, [0, 0])
    cell[0] += number
    cell[1] += size
