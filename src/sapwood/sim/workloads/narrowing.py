"""Arrivals only, of ranges that overlap: first wide ones, then ever narrower ones.

Nobody leaves. Some arrivals repeat an earlier filter, so identity-based routing forwards less than
simple routing; many fall into a range that came before, so covering forwards less than that; and
many of the rest straddle ranges that came before, so merging, which pays for its mergers while
there are few, forwards least in the end. Were narrow ranges to come first, a cover would have to
replace what it covers, one message each: for control traffic, only that identity needs no more than
simple is true of every workload.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import msgspec

from sapwood.filters import kinds
from sapwood.filters.filter import Filter
from sapwood.sim.parameters import (
    check_at_least,
    check_between,
    check_brokers,
    check_order,
    check_positive,
)
from sapwood.sim.workloads.action import Action, ActionKind, merged, split
from sapwood.sim.workloads.rates import Rate, schedule_of

ATTRIBUTE = "value"


class NarrowingParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many ranges come, and how wide they are."""

    subscriptions: int = 500
    """How many subscriptions arrive in all."""

    arrival_rate: float = 10.0
    """New subscriptions per second."""

    values: int = 10_000
    """Ranges and publications are over the whole numbers from 0 up to this."""

    width_first: float = 0.3
    """Width of the first range, as a share of all values."""

    width_last: float = 0.1
    """Width of the last range; in between, widths fall by the same factor each time."""

    repeats: float = 0.3
    """Share of the arrivals that repeat an earlier filter, drawn evenly."""

    publication_rate: Rate = 10.0
    """Publications per second, each of a value drawn evenly, at a broker drawn evenly."""

    publications_from: float = 0.0
    """Seconds before the first publication."""

    def __post_init__(self) -> None:
        check_at_least("subscriptions", self.subscriptions, 1)
        check_positive("arrival_rate", self.arrival_rate)
        check_at_least("values", self.values, 1)
        check_between("width_first", self.width_first, 0, 1)
        check_between("width_last", self.width_last, 0, 1)
        check_positive("width_last", self.width_last)
        check_order("width_last", self.width_last, "width_first", self.width_first)
        check_between("repeats", self.repeats, 0, 1)
        schedule_of("publication_rate", self.publication_rate)
        check_at_least("publications_from", self.publications_from, 0)


class NarrowingWorkload:
    """Subscribers, each with one range, and one publisher at every broker."""

    def __init__(self, parameters: NarrowingParameters, brokers: Sequence[str]) -> None:
        check_brokers("brokers", brokers)
        self.parameters = parameters
        self.brokers = tuple(brokers)

    def actions(self, random: Random, until: float) -> Iterator[Action]:
        """Everything the clients do before `until`, in the order of time."""
        subscribers, publishers = split(random), split(random)
        return merged([self._publish(publishers, until), self._subscribe(subscribers, until)])

    def filters(self, random: Random) -> Iterator[Filter]:
        """The filters of all arrivals, one after the other."""
        parameters = self.parameters
        earlier: list[Filter] = []
        for index in range(parameters.subscriptions):
            if earlier and random.random() < parameters.repeats:
                yield random.choice(earlier)
                continue
            progress = index / max(1, parameters.subscriptions - 1)
            share = parameters.width_first ** (1 - progress) * parameters.width_last**progress
            width = max(1, round(share * parameters.values))
            first = random.randint(0, parameters.values - width)
            earlier.append(Filter.all_of({ATTRIBUTE: kinds.between(first, first + width - 1)}))
            yield earlier[-1]

    def _subscribe(self, random: Random, until: float) -> Iterator[Action]:
        at = 0.0
        for number, filter in enumerate(self.filters(split(random)), start=1):
            at += random.expovariate(self.parameters.arrival_rate)
            if at >= until:
                return
            client, broker = f"S{number}", random.choice(self.brokers)
            yield Action(at, client, broker, ActionKind.CONNECT)
            yield Action(at, client, broker, ActionKind.SUBSCRIBE, filter)

    def _publish(self, random: Random, until: float) -> Iterator[Action]:
        publishers = [(f"P{number}", broker) for number, broker in enumerate(self.brokers, start=1)]
        for client, broker in publishers if until > 0 else ():
            yield Action(0.0, client, broker, ActionKind.CONNECT)
        publications = schedule_of("publication_rate", self.parameters.publication_rate)
        at = publications.next_after(self.parameters.publications_from, random)
        while at < until:
            client, broker = random.choice(publishers)
            attributes = {ATTRIBUTE: random.randrange(self.parameters.values)}
            yield Action(at, client, broker, ActionKind.PUBLISH, None, attributes)
            at = publications.next_after(at, random)
