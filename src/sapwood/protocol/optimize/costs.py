"""What a notification costs on links and at brokers: measured, given, or told by others.

The cost of a link is the least round trip of the last dozen, halved, in milliseconds, smoothed.
The least and not the mean, because queues are load, and load in the costs makes them oscillate. The
cost to a broker that is no neighbour is measured in the same way, over a link outside the tree.
What was measured over a link in use is worth more than what was measured for a swap: if the two
disagree and the better one is forgotten, changes never end. How much round trips differ is known,
too: a link on which they do is not known exactly, and what rests on it is less certain.

Or costs are given, in any unit: then nothing is measured.
"""

from __future__ import annotations

from math import sqrt
from statistics import median_low
from typing import Final

import msgspec

from sapwood.protocol.optimize.settings import OptimizationSettings

SAMPLES: Final = 12
"""Round trips of which the least counts."""

SMOOTHING: Final = 0.2
"""Share of a new value in the cost of a link."""

PROBED_SAMPLES: Final = 3
"""Round trips after which the cost to a broker that is no neighbour is known."""

PAIRS_MAX: Final = 256
"""Brokers to which the cost is remembered; of more the least recently used are given up."""

LINKED_FACTOR: Final = 4
"""How much longer what was measured over a link in use beats what was measured for a swap."""

MILLISECONDS: Final = 1000.0


def is_cost(value: object, cost_max: float) -> bool:
    """Whether a value can be a cost: nothing else is believed, whoever says it."""
    if type(value) not in (int, float):
        return False
    assert isinstance(value, int | float)
    return 0 <= value <= cost_max


class LinkMeter(msgspec.Struct):
    """The round trips over one link."""

    round_trips: list[float] = []
    """The last ones, in seconds."""
    cost: float | None = None
    """In milliseconds, smoothed; None while nothing was measured."""
    samples: int = 0

    @property
    def error(self) -> float:
        """The standard error of the cost, in milliseconds.

        What the usual message takes longer than the quickest, less by the root of their number.
        While there were a few only, as much as the cost itself.
        """
        number = len(self.round_trips)
        if number < PROBED_SAMPLES:
            return self.cost or 0.0
        usual, least = median_low(self.round_trips), min(self.round_trips)
        return (usual - least) / 2 * MILLISECONDS / sqrt(number)

    def add(self, seconds: float, extra: float = 0.0) -> None:
        """Take a round trip; and what is added to the cost because of zones."""
        self.round_trips = [*self.round_trips[-(SAMPLES - 1) :], seconds]
        self.samples += 1
        least = min(self.round_trips) / 2 * MILLISECONDS + extra
        is_early = self.cost is None or self.samples <= PROBED_SAMPLES
        before = least if is_early or self.cost is None else self.cost
        self.cost = before + SMOOTHING * (least - before)


class PairCost(msgspec.Struct):
    """What the link to a broker would cost."""

    cost: float
    at: float
    """When it was measured or heard."""
    linked: bool
    """Whether over a link that was in use, and not only to find out."""
    error: float = 0.0
    """Its standard error."""


def is_fresh(known: PairCost, now: float, settings: OptimizationSettings) -> bool:
    """Whether a cost was measured lately."""
    lasts = settings.probe_ttl_seconds * (LINKED_FACTOR if known.linked else 1)
    return 0 <= now - known.at <= lasts


class Costs:
    """The costs that one broker knows."""

    def __init__(self) -> None:
        self.given: dict[str, float] = {}
        """Costs of links to brokers that the operator has stated."""
        self.meters: dict[str, LinkMeter] = {}
        """By broker at the other end of a link, in the tree or not."""
        self.pairs: dict[str, PairCost] = {}
        """By broker; the least recently used first."""

    def link(self, name: str, extra: float = 0.0) -> float | None:
        """What a notification costs on the link to a neighbour; None if that is not known."""
        if name in self.given:
            return self.given[name] + extra
        meter = self.meters.get(name)
        if meter is not None and meter.cost is not None:
            return meter.cost + extra
        return None

    def error(self, name: str) -> float:
        """The standard error of what the link to a neighbour costs; none if that is given."""
        meter = None if name in self.given else self.meters.get(name)
        return 0.0 if meter is None else meter.error

    def measured(
        self, name: str, seconds: float, now: float, settings: OptimizationSettings, *, linked: bool
    ) -> bool:
        """A round trip over a link took so long; whether that could be used."""
        if not is_cost(seconds * MILLISECONDS, settings.cost_max):
            return False
        meter = self.meters.setdefault(name, LinkMeter())
        meter.add(seconds)
        if meter.cost is not None and (linked or meter.samples >= PROBED_SAMPLES):
            self.note(name, meter.cost, now, settings, linked=linked, error=meter.error)
        return True

    def note(
        self,
        name: str,
        cost: float,
        now: float,
        settings: OptimizationSettings,
        *,
        linked: bool,
        error: float = 0.0,
    ) -> None:
        """Remember what the link to a broker costs, unless something better is remembered."""
        known = self.pairs.pop(name, None)
        is_better = (
            known is not None
            and known.linked
            and not linked
            and 0 <= now - known.at < LINKED_FACTOR * settings.probe_ttl_seconds
        )
        fresh = PairCost(cost, now, linked, error)
        self.pairs[name] = known if is_better and known is not None else fresh
        while len(self.pairs) > PAIRS_MAX:
            del self.pairs[next(iter(self.pairs))]

    def pair(self, name: str, now: float, settings: OptimizationSettings) -> PairCost | None:
        """What the link to a broker would cost, if that is given, or known and not too old."""
        if name in self.given:
            return PairCost(self.given[name], now, linked=True)
        known = self.pairs.get(name)
        if known is None:
            return None
        return known if is_fresh(known, now, settings) else None

    def forget_link(self, name: str) -> None:
        """There is no link to a broker any more; what it cost is remembered for a while."""
        self.meters.pop(name, None)

    def mend(self, cost_max: float) -> None:
        """Forget what cannot be a cost: it is from before a fault."""
        self.meters = {
            name: meter
            for name, meter in self.meters.items()
            if type(meter) is LinkMeter
            and type(meter.round_trips) is list
            and type(meter.samples) is int
            and all(is_cost(one * MILLISECONDS, cost_max) for one in meter.round_trips)
            and (meter.cost is None or is_cost(meter.cost, cost_max))
        }
        self.pairs = {
            name: pair
            for name, pair in self.pairs.items()
            if type(pair) is PairCost
            and is_cost(pair.cost, cost_max)
            and is_cost(pair.error, cost_max)
            and type(pair.at) in (int, float)
        }
