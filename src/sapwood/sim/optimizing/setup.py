"""The set-up of the thesis' evaluation of heuristics (5.6.1, Tables 5.1 and 5.2): S56.

A hundred brokers on a physical network, fifty jobs of one publisher and nine subscribers each, all
at different brokers, drawn by load. Jobs move, each every 2,500 ticks in the mean, or stay. What
links and brokers cost stays, is drawn anew at given times (Experiment 5), or goes over into another
draw slowly (Experiment 6). A tick is 10 ms and a link takes as many ticks as it costs, as the
chapters on changing and on optimizing the tree share one scale (CLAIMS N8).

What is drawn depends on the seed only, so all heuristics are measured on the same course of events.
"""

from __future__ import annotations

import math
from functools import lru_cache
from random import Random
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from sapwood.analysis.delivery.cost import Prices
from sapwood.errors import ParameterError
from sapwood.protocol.tree import Topology
from sapwood.sim.parameters import check_at_least, check_between, check_order, check_positive
from sapwood.sim.topology.costs import UnderlayCosts, draw_processing_costs
from sapwood.sim.topology.shapes import broker_names, random_tree
from sapwood.sim.topology.underlay import UnderlayParameters, draw_underlay, place_brokers
from sapwood.sim.workloads.jobs import JobParameters, JobWorkload

TICK_SECONDS: Final = 0.01
"""Seconds that a tick of the thesis takes: links of up to 10 ticks take up to 100 ms (4.4.3)."""

SLOW_STEP_TICKS: Final = 1000
"""How often costs move on where they change slowly (5.6.3, Experiment 6)."""


class SetupParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is drawn; the defaults are those of Table 5.1 with clients placed unevenly."""

    brokers: int = 100
    jobs: int = 50
    subscribers: int = 9
    publication_interval: float = 5.0
    """Mean ticks between two publications of a job."""
    reassignment_interval: float = 2500.0
    """Mean ticks until a job moves; infinite: jobs stay."""
    processing_max: float = 10.0
    communication_max: float = 10.0
    load_min: float = 0.1
    load_max: float = 1.0
    locality: float = 0.0
    """How much subscribers are drawn towards their publisher by the costs of links (Eq. 5.16)."""
    ticks: int = 25_000
    changes: tuple[int, ...] = ()
    """When all costs, loads and jobs are drawn anew, in ticks."""
    slow: tuple[int, int] | None = None
    """From when to when costs and loads go over into others, in ticks."""
    batch_ticks: float = 25.0
    """What a job publishes within so many ticks is published together. How much that is follows the
    same distribution as if it were published one by one; there are fewer events to simulate."""
    underlay: UnderlayParameters = UnderlayParameters()

    def __post_init__(self) -> None:
        check_at_least("brokers", self.brokers, max(3, self.subscribers + 1))
        check_at_least("jobs", self.jobs, 1)
        check_at_least("subscribers", self.subscribers, 1)
        check_positive("publication_interval", self.publication_interval)
        if not self.reassignment_interval > 0:
            raise ParameterError(
                f"is {self.reassignment_interval}; wanted ticks above 0", "reassignment_interval"
            )
        check_at_least("processing_max", self.processing_max, 0)
        check_at_least("communication_max", self.communication_max, 0)
        check_positive("load_min", self.load_min)
        check_order("load_min", self.load_min, "load_max", self.load_max)
        check_between("locality", self.locality, 0, 1)
        check_at_least("ticks", self.ticks, 1)
        check_positive("batch_ticks", self.batch_ticks)
        for at in self.changes:
            check_between("changes", at, 1, self.ticks)
        if self.slow is not None:
            check_order("slow", self.slow[0], "its end", self.slow[1])
            if self.changes:
                raise ParameterError("goes with no abrupt changes", "slow")


class Stay(NamedTuple):
    """A job at certain brokers, from one tick to another."""

    job: int
    begin: float
    end: float
    places: tuple[str, ...]
    """The publisher's broker, then those of the subscribers."""


class Course(NamedTuple):
    """Everything that happens, drawn before anything does."""

    parameters: SetupParameters
    seed: int
    tree: Topology
    """At the beginning."""
    draws: tuple[Prices, ...]
    """What links and brokers cost, by phase; where it changes slowly: from, and to."""
    stays: tuple[Stay, ...]
    """In the order in which they begin."""
    published: NDArray[np.int64]
    """By job and batch: how many notifications."""

    @property
    def brokers(self) -> tuple[str, ...]:
        """Their names, in order."""
        return self.tree.brokers

    def price_times(self) -> list[int]:
        """The ticks at which costs change."""
        parameters = self.parameters
        if parameters.slow is None:
            return list(parameters.changes)
        first, last = parameters.slow
        return [*range(first + SLOW_STEP_TICKS, last, SLOW_STEP_TICKS), last]

    def prices_at(self, tick: float) -> Prices:
        """What everything costs at a time."""
        parameters = self.parameters
        if parameters.slow is None:
            return self.draws[sum(at <= tick for at in parameters.changes)]
        before, after = self.draws
        return _between(before, after, _share(parameters.slow, tick))

    def jobs_at(self, tick: float) -> list[Stay]:
        """Where the jobs are at a time."""
        return [stay for stay in self.stays if stay.begin <= tick < stay.end]

    def batch_at(self, job: int, batch: int) -> float:
        """When a job publishes a batch, in ticks; not all jobs at once."""
        parameters = self.parameters
        return (batch + (job + 0.5) / parameters.jobs) * parameters.batch_ticks


def draw_course(parameters: SetupParameters, seed: int) -> Course:
    """The course of events of a seed."""
    random = Random(f"S56 {seed}")
    names = broker_names(parameters.brokers)
    phases = 2 if parameters.slow is not None else 1 + len(parameters.changes)
    draws = tuple(_draw_prices(parameters, f"{seed} {phase}") for phase in range(phases))
    workloads = [JobWorkload(_jobs(parameters), names, _Costs(one)) for one in draws]
    loads = [one.draw_loads(random) for one in workloads]
    stays = []
    for job in range(parameters.jobs):
        moving = Random(f"S56 {seed} job {job}")
        begin = 0.0
        while begin < parameters.ticks:
            end = begin + _exponential(parameters.reassignment_interval, moving)
            end = min(end, *(at for at in (*parameters.changes, math.inf) if at > begin))
            workload = workloads[_phase_at(parameters, begin)]
            places = workload.place(_loads_at(parameters, loads, begin), moving)
            stays.append(Stay(job, begin, min(end, float(parameters.ticks)), places))
            begin = end
    batches = math.ceil(parameters.ticks / parameters.batch_ticks)
    mean = parameters.batch_ticks / parameters.publication_interval
    numbers = np.random.default_rng(random.getrandbits(64))
    return Course(
        parameters,
        seed,
        random_tree(parameters.brokers, random),
        draws,
        tuple(sorted(stays, key=lambda stay: (stay.begin, stay.job))),
        numbers.poisson(mean, (batches, parameters.jobs)).T,
    )


class _Costs:
    """What is close to what, for placing clients by locality."""

    def __init__(self, prices: Prices) -> None:
        self.place = {name: at for at, name in enumerate(prices.brokers)}
        self.links = prices.links

    def cost(self, left: str, right: str) -> float:
        """The cost between two brokers."""
        return float(self.links[self.place[left], self.place[right]])


def _jobs(parameters: SetupParameters) -> JobParameters:
    return JobParameters(
        jobs=parameters.jobs,
        subscribers=parameters.subscribers,
        load_min=parameters.load_min,
        load_max=parameters.load_max,
        locality=parameters.locality,
    )


def _draw_prices(parameters: SetupParameters, seed: str) -> Prices:
    """The same draw whatever the largest costs are: they only scale it."""
    drawn = _draw_shares(parameters.underlay, parameters.brokers, seed)
    return Prices(
        drawn.brokers,
        parameters.processing_max * drawn.processing,
        parameters.communication_max * drawn.links,
    )


@lru_cache(32)
def _draw_shares(underlay: UnderlayParameters, brokers: int, seed: str) -> Prices:
    """Costs of which the largest possible is 1."""
    random = Random(f"S56 costs {seed}")
    names = broker_names(brokers)
    overlay = place_brokers(draw_underlay(underlay, random), names, random)
    costs = UnderlayCosts(overlay, cost_max=1.0)
    links = np.array([[costs.cost(a, b) if a != b else 0.0 for b in names] for a in names])
    processing = draw_processing_costs(names, random, cost_max=1.0)
    return Prices(names, np.array(list(processing.values())), (links + links.T) / 2)


def _phase_at(parameters: SetupParameters, tick: float) -> int:
    """Which draw holds; where costs change slowly, closeness is that of the beginning."""
    return 0 if parameters.slow is not None else sum(at <= tick for at in parameters.changes)


def _loads_at(
    parameters: SetupParameters, loads: list[dict[str, float]], tick: float
) -> dict[str, float]:
    if parameters.slow is None:
        return loads[_phase_at(parameters, tick)]
    share = _share(parameters.slow, tick)
    return {name: (1 - share) * one + share * loads[1][name] for name, one in loads[0].items()}


def _share(slow: tuple[int, int], tick: float) -> float:
    """How far a slow change has come; it goes on in steps."""
    first, last = slow
    stepped = last if tick >= last else tick - (tick - first) % SLOW_STEP_TICKS
    return min(1.0, max(0.0, (stepped - first) / (last - first)))


def _between(before: Prices, after: Prices, share: float) -> Prices:
    return Prices(
        before.brokers,
        (1 - share) * before.processing + share * after.processing,
        (1 - share) * before.links + share * after.links,
    )


def _exponential(mean: float, random: Random) -> float:
    return random.expovariate(1 / mean) if mean < math.inf else math.inf
