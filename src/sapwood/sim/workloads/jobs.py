"""Jobs: each has one publisher and its own subscribers, at brokers drawn by load and locality.

The workload of the thesis' evaluation of heuristics for the tree (5.6.1, Table 5.1, Experiment 10),
and of its link exchange (4.4.3). Brokers attract clients in proportion to a load drawn for each; at
times a whole job moves to other brokers. Subscribers may be drawn towards their publisher: the
closer a broker, by the costs of links, the likelier.

Two slips of the print are corrected. In Eq. 5.15 the sum runs over all brokers but the publisher's,
and a broker at cost 0 would get an infinite weight: here such brokers share all of it. In Eq. 5.16
the factors are exchanged, against the text below it, and the load is no probability: here
p = (1 − locality) · load / sum of loads + locality · pl.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from random import Random

import msgspec

from sapwood.errors import ParameterError
from sapwood.filters import kinds
from sapwood.filters.filter import Filter
from sapwood.sim.parameters import (
    check_at_least,
    check_between,
    check_brokers,
    check_order,
    check_positive,
)
from sapwood.sim.topology.costs import LinkCosts
from sapwood.sim.workloads.action import Action, ActionKind, split

ATTRIBUTE = "job"


class JobParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many jobs there are, how often they publish and move, and where their clients are.

    The defaults are those of Table 5.1 with clients placed evenly; one tick of the thesis is a
    second here. In 4.4.3 a publisher publishes every 50 ms instead, and jobs stay where they are.
    """

    jobs: int = 50
    """How many jobs, each with one publisher (numberOfJobs)."""

    subscribers: int = 9
    """Subscribers of each job, all at different brokers, none of them the publisher's."""

    publication_interval: float = 5.0
    """Mean seconds between two publications of one job, exponentially distributed."""

    reassignment_interval: float = 2500.0
    """Mean seconds until a job moves, exponentially distributed; infinite: jobs never move."""

    load_min: float = 1.0
    """Least load of a broker."""

    load_max: float = 1.0
    """Largest load of a broker; the thesis has 0.1 to 1 for an uneven placement."""

    locality: float = 0.0
    """How much subscribers are drawn towards their publisher: 0 by load only, 1 by costs only."""

    publications_from: float = 0.0
    """Seconds before the first publication, in which subscriptions may settle."""

    advertise: bool = False
    """Whether publishers advertise their job, and take it back when they move."""

    def __post_init__(self) -> None:
        check_at_least("jobs", self.jobs, 1)
        check_at_least("subscribers", self.subscribers, 0)
        check_positive("publication_interval", self.publication_interval)
        if not self.reassignment_interval > 0:
            raise ParameterError(
                f"is {self.reassignment_interval}; wanted seconds above 0", "reassignment_interval"
            )
        check_positive("load_min", self.load_min)
        check_positive("load_max", self.load_max)
        check_order("load_min", self.load_min, "load_max", self.load_max)
        check_between("locality", self.locality, 0, 1)
        check_at_least("publications_from", self.publications_from, 0)


UNEVEN_JOBS = JobParameters(load_min=0.1, load_max=1.0)
"""Table 5.1 with clients placed unevenly, as in Experiments 4 to 10."""


class Job:
    """A publisher ``J<k>.P`` and subscribers ``J<k>.S1``, … at the brokers they are at now."""

    def __init__(self, number: int, places: Sequence[str]) -> None:
        self.number = number
        self.filter = Filter.all_of({ATTRIBUTE: kinds.equal(number)})
        self.attributes = {ATTRIBUTE: number}
        self.places = places
        """The publisher's broker, then those of the subscribers."""

    def publish(self, at: float) -> Action:
        """The publisher publishes."""
        return Action(
            at, f"J{self.number}.P", self.places[0], ActionKind.PUBLISH, None, self.attributes
        )

    def come(self, at: float, advertise: bool) -> Iterator[Action]:
        """All clients connect; subscribers subscribe."""
        publisher_does = ActionKind.ADVERTISE if advertise else None
        for client, broker, kind in self._clients(publisher_does, ActionKind.SUBSCRIBE):
            yield Action(at, client, broker, ActionKind.CONNECT)
            if kind is not None:
                yield Action(at, client, broker, kind, self.filter)

    def go(self, at: float, advertise: bool) -> Iterator[Action]:
        """All clients take back what they did, and disconnect."""
        publisher_does = ActionKind.UNADVERTISE if advertise else None
        for client, broker, kind in self._clients(publisher_does, ActionKind.UNSUBSCRIBE):
            if kind is not None:
                yield Action(at, client, broker, kind, self.filter)
            yield Action(at, client, broker, ActionKind.DISCONNECT)

    def _clients(
        self, publisher_does: ActionKind | None, subscriber_does: ActionKind
    ) -> Iterator[tuple[str, str, ActionKind | None]]:
        """Each client, its broker, and what it does with the filter of the job."""
        yield f"J{self.number}.P", self.places[0], publisher_does
        for index, broker in enumerate(self.places[1:], start=1):
            yield f"J{self.number}.S{index}", broker, subscriber_does


class JobWorkload:
    """Jobs on given brokers. `costs` are needed only where there is locality."""

    def __init__(
        self, parameters: JobParameters, brokers: Sequence[str], costs: LinkCosts | None = None
    ) -> None:
        check_brokers("brokers", brokers, parameters.subscribers + 1)
        if parameters.locality and costs is None:
            raise ParameterError(
                f"is {parameters.locality}, but there are no costs of links to tell what is close",
                "locality",
            )
        self.parameters = parameters
        self.brokers = tuple(brokers)
        self.costs = costs

    def actions(self, random: Random, until: float) -> Iterator[Action]:
        """Everything the clients do before `until`, in the order of time.

        Jobs come at time 0 and are the same whatever happens afterwards.
        """
        if until <= 0:
            return
        parameters = self.parameters
        placing, publishing = split(random), split(random)
        loads = self.draw_loads(placing)
        jobs = [Job(number, self.place(loads, placing)) for number in range(parameters.jobs)]
        for job in jobs:
            yield from job.come(0.0, parameters.advertise)
        publication_mean = parameters.publication_interval / parameters.jobs
        move_mean = parameters.reassignment_interval / parameters.jobs
        publish_at = parameters.publications_from + _exponential(publication_mean, publishing)
        move_at = _exponential(move_mean, placing)
        while min(publish_at, move_at) < until:
            if publish_at <= move_at:
                yield publishing.choice(jobs).publish(publish_at)
                publish_at += _exponential(publication_mean, publishing)
            else:
                job = placing.choice(jobs)
                yield from job.go(move_at, parameters.advertise)
                job.places = self.place(loads, placing)
                yield from job.come(move_at, parameters.advertise)
                move_at += _exponential(move_mean, placing)

    def draw_loads(self, random: Random) -> dict[str, float]:
        """How attractive each broker is to clients."""
        parameters = self.parameters
        return {
            broker: random.uniform(parameters.load_min, parameters.load_max)
            for broker in self.brokers
        }

    def place(self, loads: Mapping[str, float], random: Random) -> tuple[str, ...]:
        """Brokers for the publisher of a job and then for its subscribers, all different."""
        publisher = _draw(loads, random)
        free = {broker: load for broker, load in loads.items() if broker != publisher}
        places = [publisher]
        for _ in range(self.parameters.subscribers):
            places.append(_draw(self.chances(publisher, free), random))
            del free[places[-1]]
        return tuple(places)

    def chances(self, publisher: str, loads: Mapping[str, float]) -> dict[str, float]:
        """The probability of each broker to get the next subscriber of a publisher there."""
        locality = self.parameters.locality
        load_sum = math.fsum(loads.values())
        if not locality or self.costs is None:
            return {broker: load / load_sum for broker, load in loads.items()}
        close = _closeness({b: self.costs.cost(publisher, b) for b in loads})
        return {
            broker: (1 - locality) * load / load_sum + locality * close[broker]
            for broker, load in loads.items()
        }


def _closeness(costs: Mapping[str, float]) -> dict[str, float]:
    """Eq. 5.15: probabilities that fall with the square of the costs.

    Relative to the least cost, so that no square leaves the range of floats.
    """
    least = min(costs.values())
    if least == 0:
        weights = {broker: float(cost == 0) for broker, cost in costs.items()}
    else:
        weights = {broker: (least / cost) ** 2 for broker, cost in costs.items()}
    total = math.fsum(weights.values())
    return {broker: weight / total for broker, weight in weights.items()}


def _draw(weights: Mapping[str, float], random: Random) -> str:
    (broker,) = random.choices(list(weights), cum_weights=list(accumulate(weights.values())))
    return broker


def _exponential(mean: float, random: Random) -> float:
    return random.expovariate(1 / mean) if mean < math.inf else math.inf
