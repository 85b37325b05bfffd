"""Clients that come and go: rates, lifetimes, turnover of publishers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest

from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter
from sapwood.sim.workloads.action import Action, ActionKind
from sapwood.sim.workloads.populations import (
    Audience,
    Offer,
    PopulationParameters,
    population_actions,
)
from sapwood.sim.workloads.rates import RateSchedule
from sim.workloads.streams import expect_lawful, mean, of_kind

FILTER = Filter("x = 1")
BROKERS = ("B1", "B2", "B3", "B4")
AUDIENCE = Audience(
    BROKERS, BROKERS, lambda random: FILTER, lambda random: Offer((FILTER,), lambda _: {"x": 1})
)


def made(parameters: PopulationParameters, until: float, seed: int = 1) -> list[Action]:
    actions = list(population_actions(parameters, AUDIENCE, Random(seed), until))
    expect_lawful(actions, until, advertised=parameters.advertise)
    return actions


@pytest.mark.slow
def test_subscriptions_come_and_go_at_their_rates() -> None:
    actions = made(
        PopulationParameters(arrival_rate=20, departure_rate=0.5, publication_rate=0), 500
    )
    came = {a.client: a.at for a in of_kind(actions, ActionKind.SUBSCRIBE)}
    went = {a.client: a.at for a in of_kind(actions, ActionKind.UNSUBSCRIBE)}
    assert len(came) == pytest.approx(20 * 500, abs=4 * math.sqrt(20 * 500))
    lifetimes = [went[client] - at for client, at in came.items() if client in went]
    assert mean(lifetimes) == pytest.approx(2, rel=4 / math.sqrt(len(lifetimes)))
    still = [sum(came[c] <= t < went.get(c, math.inf) for c in came) for t in range(20, 500, 20)]
    assert mean(still) == pytest.approx(40, rel=0.1)
    brokers = Counter(a.broker for a in of_kind(actions, ActionKind.SUBSCRIBE))
    assert all(brokers[b] == pytest.approx(2500, abs=4 * math.sqrt(2500)) for b in BROKERS)


def test_a_run_can_start_in_equilibrium() -> None:
    parameters = PopulationParameters(
        arrival_rate=100, departure_rate=0.1, publication_rate=0, initial_subscriptions=1000
    )
    actions = made(parameters, 5)
    changes = Counter(action.kind for action in actions)
    at_start = [a for a in of_kind(actions, ActionKind.SUBSCRIBE) if a.at == 0]
    assert len(at_start) == 1000
    came = changes[ActionKind.SUBSCRIBE] - 1000
    assert came == pytest.approx(500, abs=4 * math.sqrt(500))
    assert changes[ActionKind.UNSUBSCRIBE] == pytest.approx(500, abs=4 * math.sqrt(500))


def test_publications_come_at_their_rate_from_all_publishers() -> None:
    parameters = PopulationParameters(
        arrival_rate=0, departure_rate=0, publication_rate=50, publications_from=10
    )
    published = of_kind(made(parameters, 110), ActionKind.PUBLISH)
    assert published[0].at > 10
    assert len(published) == pytest.approx(5000, abs=4 * math.sqrt(5000))
    by_client = Counter((a.client, a.broker) for a in published)
    assert sorted(by_client) == [("P1", "B1"), ("P2", "B2"), ("P3", "B3"), ("P4", "B4")]
    assert all(n == pytest.approx(1250, abs=4 * math.sqrt(1250)) for n in by_client.values())


def test_publishers_are_replaced_and_take_back_what_they_advertised() -> None:
    parameters = PopulationParameters(
        arrival_rate=0,
        departure_rate=0,
        publication_rate=20,
        publishers=10,
        publisher_lifetime=5,
        advertise=True,
    )
    kinds = Counter(action.kind for action in made(parameters, 500))
    replaced = kinds[ActionKind.DISCONNECT]
    assert replaced == pytest.approx(1000, abs=4 * math.sqrt(1000))
    assert kinds[ActionKind.UNADVERTISE] == replaced
    assert kinds[ActionKind.ADVERTISE] == kinds[ActionKind.CONNECT] == replaced + 10


def test_a_stream_is_endless_where_time_is() -> None:
    parameters = PopulationParameters(arrival_rate=1, departure_rate=1, publication_rate=1)
    stream = population_actions(parameters, AUDIENCE, Random(1), math.inf)
    assert len(list(itertools.islice(stream, 1000))) == 1000


def test_a_longer_run_begins_with_the_shorter() -> None:
    parameters = PopulationParameters(
        arrival_rate=5, departure_rate=0.2, publication_rate=5, publisher_lifetime=3, advertise=True
    )
    shorter, longer = made(parameters, 20), made(parameters, 40)
    assert longer[: len(shorter)] == shorter
    assert made(parameters, 0) == []


def test_more_publications_leave_the_subscriptions_alone() -> None:
    def subscriptions(publication_rate: float) -> list[Action]:
        parameters = PopulationParameters(
            arrival_rate=5, departure_rate=0.2, publication_rate=publication_rate
        )
        return [a for a in made(parameters, 20) if a.client.startswith("S")]

    assert subscriptions(1) == subscriptions(100)


def test_parameters_can_be_read_from_plain_data() -> None:
    data = {
        "arrival_rate": {"points": [[0, 1], [60, 5]]},
        "departure_rate": 0.1,
        "publication_rate": 2,
    }
    assert msgspec.convert(data, PopulationParameters) == PopulationParameters(
        arrival_rate=RateSchedule(((0, 1), (60, 5))), departure_rate=0.1, publication_rate=2
    )
    with pytest.raises(msgspec.ValidationError, match=r"departure_rate: is -1\.0; wanted"):
        msgspec.convert({**data, "departure_rate": -1}, PopulationParameters)
    with pytest.raises(msgspec.ValidationError, match="unknown field `rate`"):
        msgspec.convert({**data, "rate": 1}, PopulationParameters)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"arrival_rate": -1},
            "arrival_rate: is -1; wanted a finite rate per second, 0 or more",
        ),
        (
            {"publication_rate": math.inf},
            "publication_rate: is inf; wanted a finite rate per second, 0 or more",
        ),
        ({"departure_rate": -1}, "departure_rate: is -1; wanted a finite number, 0 or more"),
        (
            {"initial_subscriptions": -1},
            "initial_subscriptions: is -1; wanted a finite number, 0 or more",
        ),
        ({"publishers": 0}, "publishers: is 0; wanted a finite number, 1 or more"),
        ({"publisher_lifetime": 0}, "publisher_lifetime: is 0; wanted seconds above 0"),
        (
            {"publications_from": -1},
            "publications_from: is -1; wanted a finite number, 0 or more",
        ),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], problem: str) -> None:
    fine: dict[str, Any] = {"arrival_rate": 1, "departure_rate": 1, "publication_rate": 1}
    with pytest.raises(ParameterError) as caught:
        PopulationParameters(**{**fine, **changes})
    assert str(caught.value) == problem
