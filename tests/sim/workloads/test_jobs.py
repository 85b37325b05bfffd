"""Jobs: where their clients are, how often they publish and move."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.sim.topology import broker_names
from sapwood.sim.topology.costs import UnderlayCosts
from sapwood.sim.topology.underlay import SMALL_UNDERLAY, draw_underlay, place_brokers
from sapwood.sim.workloads.action import Action, ActionKind
from sapwood.sim.workloads.jobs import UNEVEN_JOBS, JobParameters, JobWorkload
from sim.workloads.streams import expect_lawful, of_kind

BROKERS = broker_names(20)


class Costs:
    """By how far the numbers of the brokers are apart."""

    def cost(self, left: str, right: str) -> float:
        return abs(int(left[1:]) - int(right[1:]))


def made(workload: JobWorkload, until: float, seed: int = 1) -> list[Action]:
    actions = list(workload.actions(Random(seed), until))
    expect_lawful(actions, until, advertised=workload.parameters.advertise)
    return actions


def test_the_jobs_of_the_thesis() -> None:
    """50 publishers at 100 brokers, each with 9 subscribers at brokers of their own."""
    actions = made(JobWorkload(JobParameters(), broker_names(100)), 1)
    places: dict[str, set[str]] = {}
    for action in of_kind(actions, ActionKind.CONNECT):
        places.setdefault(action.client.partition(".")[0], set()).add(action.broker)
    assert [len(brokers) for brokers in places.values()] == [10] * 50
    subscribed = of_kind(actions, ActionKind.SUBSCRIBE)
    assert Counter(str(a.filter) for a in subscribed) == {f"job = {k}": 9 for k in range(50)}
    assert all(
        str(a.filter) == f"job = {a.client.partition('.')[0].removeprefix('J')}" for a in subscribed
    )


def test_jobs_publish_and_move_at_their_rates() -> None:
    workload = JobWorkload(JobParameters(jobs=10, reassignment_interval=100), BROKERS)
    actions = made(workload, 2000)
    published = of_kind(actions, ActionKind.PUBLISH)
    assert len(published) == pytest.approx(4000, abs=4 * math.sqrt(4000))
    assert Counter(a.client for a in published).keys() == {f"J{k}.P" for k in range(10)}
    moved = [a for a in of_kind(actions, ActionKind.DISCONNECT) if a.client.endswith(".P")]
    assert len(moved) == pytest.approx(200, abs=4 * math.sqrt(200))
    assert len(of_kind(actions, ActionKind.UNSUBSCRIBE)) == 9 * len(moved)


def test_jobs_stay_where_they_never_move() -> None:
    workload = JobWorkload(JobParameters(reassignment_interval=math.inf), BROKERS)
    assert of_kind(made(workload, 1000), ActionKind.DISCONNECT) == []


def test_publishers_advertise_on_request() -> None:
    parameters = JobParameters(
        jobs=3, reassignment_interval=20, advertise=True, publications_from=5
    )
    kinds = Counter(a.kind for a in made(JobWorkload(parameters, BROKERS), 100))
    assert kinds[ActionKind.ADVERTISE] == kinds[ActionKind.UNADVERTISE] + 3
    assert kinds[ActionKind.UNADVERTISE] > 0


def test_nothing_happens_before_the_start() -> None:
    assert made(JobWorkload(JobParameters(), BROKERS), 0) == []


def test_more_publications_leave_the_places_alone() -> None:
    def moves(interval: float) -> list[Action]:
        parameters = JobParameters(publication_interval=interval, reassignment_interval=50)
        actions = made(JobWorkload(parameters, BROKERS), 50)
        return [a for a in actions if a.kind is not ActionKind.PUBLISH]

    assert moves(1) == moves(10)


@pytest.mark.slow
def test_brokers_attract_publishers_by_their_load() -> None:
    workload = JobWorkload(UNEVEN_JOBS, BROKERS)
    random = Random(1)
    loads = workload.draw_loads(random)
    assert all(0.1 <= load <= 1 for load in loads.values())
    drawn = Counter(workload.place(loads, random)[0] for _ in range(4000))
    for broker, load in loads.items():
        expected = load / sum(loads.values())
        tolerance = 4 * math.sqrt(expected * (1 - expected) / 4000)
        assert drawn[broker] / 4000 == pytest.approx(expected, abs=tolerance)


def test_locality_draws_subscribers_close() -> None:
    """Eq. 5.15 and 5.16, corrected: the chance falls with the square of the cost."""
    loads = {"B1": 5.0, "B2": 1.0, "B3": 1.0, "B5": 2.0}
    del loads["B1"]
    half = JobWorkload(JobParameters(subscribers=1, locality=0.5), BROKERS, Costs())
    weights = {"B2": 1, "B3": 1 / 4, "B5": 1 / 16}
    expected = {b: loads[b] / 8 + weights[b] / sum(weights.values()) / 2 for b in loads}
    assert half.chances("B1", loads) == pytest.approx(expected)
    by_load = JobWorkload(JobParameters(locality=0.0), BROKERS, Costs())
    assert by_load.chances("B1", loads) == {"B2": 0.25, "B3": 0.25, "B5": 0.5}


def mean_cost(locality: float) -> float:
    workload = JobWorkload(JobParameters(locality=locality, subscribers=3), BROKERS, Costs())
    random, costs = Random(2), Costs()
    loads = workload.draw_loads(random)
    places = [workload.place(loads, random) for _ in range(300)]
    return sum(costs.cost(p[0], other) for p in places for other in p[1:]) / 900


def test_the_more_locality_the_closer() -> None:
    far, half, close = mean_cost(0), mean_cost(0.5), mean_cost(1)
    assert far > half > close
    assert far == pytest.approx(7, abs=0.7)
    assert close < 3


@given(
    st.lists(st.sampled_from([0.0, 1e-300, 1.0, 1e300]), min_size=1, max_size=6),
    st.floats(0, 1),
)
def test_chances_add_up_whatever_the_costs(costs: list[float], locality: float) -> None:
    """Brokers at cost 0 share what locality gives; nothing overflows."""

    class Given:
        def cost(self, left: str, right: str) -> float:
            return costs[int(right)]

    names = [str(index) for index in range(len(costs))]
    workload = JobWorkload(JobParameters(subscribers=0, locality=locality), names, Given())
    chances = workload.chances("P", dict.fromkeys(names, 1.0))
    assert math.fsum(chances.values()) == pytest.approx(1)
    assert all(chance >= 0 for chance in chances.values())


def test_costs_may_come_from_an_underlay() -> None:
    overlay = place_brokers(draw_underlay(SMALL_UNDERLAY, Random(1)), BROKERS, Random(1))
    workload = JobWorkload(JobParameters(locality=1, jobs=5), BROKERS, UnderlayCosts(overlay))
    assert len(of_kind(made(workload, 10), ActionKind.SUBSCRIBE)) == 45


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: JobParameters(jobs=0), "jobs: is 0; wanted a finite number, 1 or more"),
        (
            lambda: JobParameters(publication_interval=0),
            "publication_interval: is 0; wanted a finite number above 0",
        ),
        (
            lambda: JobParameters(reassignment_interval=-1),
            "reassignment_interval: is -1; wanted seconds above 0",
        ),
        (lambda: JobParameters(load_min=2), "load_min: is 2, above load_max, 1.0"),
        (lambda: JobParameters(locality=2), "locality: is 2; wanted a number from 0 to 1"),
        (
            lambda: JobWorkload(JobParameters(), broker_names(9)),
            "brokers: has 9 brokers; at least 10 wanted",
        ),
        (
            lambda: JobWorkload(JobParameters(locality=0.5), BROKERS),
            "locality: is 0.5, but there are no costs of links to tell what is close",
        ),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == problem
