"""Arbitrary values in everything that brokers choose by: counts, costs, what they decided.

As after a fault in memory. Each value is of a kind that the field can have, or none that makes
sense: no number, far too large, of another time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, TypeVar

from sapwood.protocol.node import Node
from sapwood.protocol.optimize.costs import LinkMeter, PairCost
from sapwood.protocol.optimize.edges.weighing import Counted, Hold
from sapwood.protocol.optimize.messages import Neighbourhood, SwapPropose
from sapwood.protocol.optimize.records import Backoff, Promise
from sapwood.protocol.optimize.surroundings import Told
from sapwood.protocol.optimize.traffic import Bucket

Drawn = TypeVar("Drawn")

COUNTS: Final = (0, 1, 1000, 10**9)
SOON_SECONDS: Final = 8.0
COSTS: Final = (0.0, 0.1, 5.0, 1e5, -3.0, float("nan"), float("inf"))


class ChoiceSpoiler:
    """Draws such values, and puts them into a node."""

    def __init__(self, random: Random, names: Sequence[str]) -> None:
        self._random = random
        self._names = [*names, "ghost"]

    def spoil(self, node: Node, now: float) -> None:
        """Give most of what choices rest on another value."""
        changes: tuple[Callable[[Node, float], None], ...] = (
            self._spoil_counts,
            self._spoil_costs,
            self._spoil_told,
            self._spoil_decisions,
            self._spoil_meters,
        )
        for change in changes:
            if self._random.random() < 0.8:
                change(node, now)

    def _some(self, choices: Sequence[Drawn]) -> Drawn:
        return self._random.choice(choices)

    def _time(self, now: float) -> float:
        around = now + self._random.uniform(-100.0, 100.0)
        return self._some((around, around, float("-inf"), float("inf"), float("nan")))

    def _soon(self, now: float) -> float:
        """A time until which something is waited for: what is plausible is over before the run."""
        return self._some((now + self._random.uniform(0.0, SOON_SECONDS), self._time(now - 200.0)))

    def _spoil_counts(self, node: Node, now: float) -> None:
        swapping = node.broker.swapping
        for bucket in swapping.traffic.buckets:
            for key in list(bucket.sets):
                bucket.sets[key] = [self._some(COUNTS), self._some(COUNTS)]
        pair = tuple(sorted(self._random.sample(self._names, 2)))
        swapping.traffic.buckets.append(Bucket(self._time(now), {pair: [10**6, 10**6]}))
        swapping.since = {name: self._time(now) for name in swapping.since}
        swapping.decide_at, swapping.tokens_at = self._time(now), self._time(now)
        swapping.tokens = self._some(COSTS)

    def _spoil_costs(self, node: Node, now: float) -> None:
        surroundings = node.broker.surroundings
        costs = surroundings.costs
        for name in self._names:
            costs.meters[name] = LinkMeter([self._some(COSTS)], self._some(COSTS), 3)
            costs.pairs[name] = PairCost(
                self._some(COSTS), self._time(now), self._some((True, False))
            )
            costs.given[name] = self._some(COSTS)
            for other in self._names:
                if name < other:
                    surroundings.heard[name, other] = PairCost(
                        self._some(COSTS), self._time(now), self._some((True, False))
                    )
        surroundings.processing = self._some(COSTS)
        surroundings.busy_seconds = self._some(COSTS)

    def _spoil_told(self, node: Node, now: float) -> None:
        told = node.broker.surroundings.told
        for name in list(told):
            told[name] = Told(
                Neighbourhood(
                    processing_cost=self._some(COSTS),
                    slots=self._some(COUNTS),
                    slot_price=self._some(COSTS),
                    pinned=self._some((True, False)),
                    addresses=told[name].message.addresses,
                ),
                self._time(now),
            )

    def _spoil_decisions(self, node: Node, now: float) -> None:
        swapping = node.broker.swapping
        first, second, third = (self._some(self._names) for _ in range(3))
        swapping.promise = Promise(SwapPropose("no such", first, second), third, self._soon(now))
        swapping.backoffs[first, second] = Backoff(self._soon(now), self._some(COUNTS))
        swapping.left_out[third] = self._soon(now)
        swapping.strikes[first] = self._some(COUNTS)

    def _spoil_meters(self, node: Node, now: float) -> None:
        choice = node.broker.edge_choice
        for meters in (choice.inward, choice.outward):
            for meter in meters.values():
                meter.parts = [
                    Counted(
                        seconds=self._some(COSTS),
                        flooded=self._some(COUNTS),
                        wanted=self._some(COUNTS),
                        wanted_bytes=self._some(COUNTS),
                        said={"identity": self._some(COUNTS)},
                    )
                ]
                meter.hold = Hold(self._some(COSTS), self._time(now))
        choice.counted_at = self._time(now)
        choice.message_bytes = self._some(COSTS)
