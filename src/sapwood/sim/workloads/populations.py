"""Clients that come and go: subscribers with one subscription each, and publishers.

Subscriptions arrive as a Poisson process, each at a broker drawn evenly, and live for an
exponentially distributed time (thesis 3.3.3 and 3.5.1; 001, section 4.1). Each has a client of
its own, so that equal filters at one broker are separate subscriptions. Since the exponential
distribution has no memory, a run can start in equilibrium: with as many subscriptions at time 0 as
there will be on average, arrival rate / departure rate.

Publications are a Poisson process over all publishers, each equally likely to be next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from random import Random
from typing import NamedTuple

import msgspec

from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.sim.parameters import check_at_least
from sapwood.sim.workloads.action import Action, ActionKind, merged, split
from sapwood.sim.workloads.rates import Rate, schedule_of


class PopulationParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many clients come, how long they stay, and how much they publish.

    All rates are those of the whole network.
    """

    arrival_rate: Rate
    """New subscriptions per second: the birth rate, lambda."""

    departure_rate: float
    """One over the mean lifetime of a subscription in seconds: the death rate, mu; 0: never."""

    publication_rate: Rate
    """Publications per second: omega."""

    initial_subscriptions: int = 0
    """Subscriptions at time 0."""

    publications_from: float = 0.0
    """Seconds before the first publication, in which subscriptions may settle."""

    publishers: int | None = None
    """Number of publishers, each at a broker drawn evenly; None: one at each broker."""

    publisher_lifetime: float = math.inf
    """Mean seconds until a publisher leaves and a new one comes, at a broker drawn evenly."""

    advertise: bool = False
    """Whether publishers advertise what they publish, and take it back when they leave."""

    def __post_init__(self) -> None:
        schedule_of("arrival_rate", self.arrival_rate)
        schedule_of("publication_rate", self.publication_rate)
        check_at_least("departure_rate", self.departure_rate, 0)
        check_at_least("initial_subscriptions", self.initial_subscriptions, 0)
        check_at_least("publications_from", self.publications_from, 0)
        if self.publishers is not None:
            check_at_least("publishers", self.publishers, 1)
        if not self.publisher_lifetime > 0:
            raise ParameterError(
                f"is {self.publisher_lifetime}; wanted seconds above 0", "publisher_lifetime"
            )


class Offer(NamedTuple):
    """What one publisher publishes."""

    advertisements: tuple[Filter, ...]
    """Filters that together match all of it."""
    draw: Callable[[Random], Mapping[str, Value]]
    """The attributes of the next notification."""


class Audience(NamedTuple):
    """What the clients of a workload want and offer, and where they may be."""

    subscriber_brokers: Sequence[str]
    publisher_brokers: Sequence[str]
    draw_filter: Callable[[Random], Filter]
    draw_offer: Callable[[Random], Offer]


def population_actions(
    parameters: PopulationParameters, audience: Audience, random: Random, until: float
) -> Iterator[Action]:
    """Subscribers and publishers together; each draws random numbers of its own."""
    subscribers, publishers = split(random), split(random)
    return merged(
        [
            publisher_actions(parameters, audience, publishers, until),
            subscriber_actions(parameters, audience, subscribers, until),
        ]
    )


def subscriber_actions(
    parameters: PopulationParameters, audience: Audience, random: Random, until: float
) -> Iterator[Action]:
    """Clients ``S1``, ``S2``, … that come, subscribe once, and go."""
    arrivals = schedule_of("arrival_rate", parameters.arrival_rate)
    departures: list[tuple[float, int, Action]] = []
    number = 0

    def arrive(at: float) -> Iterator[Action]:
        nonlocal number
        number += 1
        client, broker = f"S{number}", random.choice(audience.subscriber_brokers)
        subscribed = Action(at, client, broker, ActionKind.SUBSCRIBE, audience.draw_filter(random))
        yield Action(at, client, broker, ActionKind.CONNECT)
        yield subscribed
        leaves_at = at + _lifetime(parameters.departure_rate, random)
        if leaves_at < until:
            heappush(departures, (leaves_at, number, subscribed))

    for _ in range(parameters.initial_subscriptions if until > 0 else 0):
        yield from arrive(0.0)
    next_at = arrivals.next_after(0.0, random)
    while next_at < until or departures:
        if departures and departures[0][0] <= next_at:
            leaves_at, _, subscribed = heappop(departures)
            yield from _leave(leaves_at, subscribed)
        else:
            yield from arrive(next_at)
            next_at = arrivals.next_after(next_at, random)


def _leave(at: float, subscribed: Action) -> Iterator[Action]:
    client, broker = subscribed.client, subscribed.broker
    yield Action(at, client, broker, ActionKind.UNSUBSCRIBE, subscribed.filter)
    yield Action(at, client, broker, ActionKind.DISCONNECT)


def _lifetime(departure_rate: float, random: Random) -> float:
    return random.expovariate(departure_rate) if departure_rate else math.inf


class _Publisher(NamedTuple):
    client: str
    broker: str
    offer: Offer

    def comes(self, at: float, advertise: bool) -> Iterator[Action]:
        yield Action(at, self.client, self.broker, ActionKind.CONNECT)
        for filter in self.offer.advertisements if advertise else ():
            yield Action(at, self.client, self.broker, ActionKind.ADVERTISE, filter)

    def goes(self, at: float, advertise: bool) -> Iterator[Action]:
        for filter in self.offer.advertisements if advertise else ():
            yield Action(at, self.client, self.broker, ActionKind.UNADVERTISE, filter)
        yield Action(at, self.client, self.broker, ActionKind.DISCONNECT)

    def publishes(self, at: float, random: Random) -> Action:
        attributes = self.offer.draw(random)
        return Action(at, self.client, self.broker, ActionKind.PUBLISH, None, attributes)


def publisher_actions(
    parameters: PopulationParameters, audience: Audience, random: Random, until: float
) -> Iterator[Action]:
    """Clients ``P1``, ``P2``, … that publish, and are replaced where their lifetime is finite.

    One stream for both, since who publishes next depends on who has been replaced.
    """
    if until <= 0:
        return
    publications = schedule_of("publication_rate", parameters.publication_rate)
    publishers = _first_publishers(parameters, audience, random)
    for publisher in publishers:
        yield from publisher.comes(0.0, parameters.advertise)
    turnover = len(publishers) / parameters.publisher_lifetime
    came = len(publishers)
    publish_at = publications.next_after(parameters.publications_from, random)
    replace_at = _lifetime(turnover, random)
    while min(publish_at, replace_at) < until:
        index = random.randrange(len(publishers))
        if publish_at <= replace_at:
            yield publishers[index].publishes(publish_at, random)
            publish_at = publications.next_after(publish_at, random)
        else:
            came += 1
            yield from publishers[index].goes(replace_at, parameters.advertise)
            broker = random.choice(audience.publisher_brokers)
            publishers[index] = _Publisher(f"P{came}", broker, audience.draw_offer(random))
            yield from publishers[index].comes(replace_at, parameters.advertise)
            replace_at += _lifetime(turnover, random)


def _first_publishers(
    parameters: PopulationParameters, audience: Audience, random: Random
) -> list[_Publisher]:
    brokers = audience.publisher_brokers
    if parameters.publishers is not None:
        brokers = [random.choice(brokers) for _ in range(parameters.publishers)]
    return [
        _Publisher(f"P{number}", broker, audience.draw_offer(random))
        for number, broker in enumerate(brokers, start=1)
    ]
