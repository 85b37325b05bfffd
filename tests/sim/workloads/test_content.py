"""The content-based workload: the matching benchmark's filters and events, coming and going."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter
from sapwood.matching.workload import Workload
from sapwood.sim.workloads.action import Action, ActionKind, split
from sapwood.sim.workloads.content import ContentParameters, ContentWorkload
from sim.workloads.streams import expect_lawful, of_kind

BROKERS = ("B1", "B2", "B3")
PARAMETERS = ContentParameters(
    arrival_rate=20, departure_rate=0.5, publication_rate=20, filters=100, events=100
)


def made(parameters: ContentParameters, until: float) -> list[Action]:
    actions = list(ContentWorkload(parameters, BROKERS).actions(Random(1), until))
    expect_lawful(actions, until, advertised=parameters.advertise)
    return actions


def test_filters_and_events_are_those_of_the_matching_benchmark() -> None:
    pools = Workload("plain", split(Random(1)).getrandbits(32))
    actions = made(PARAMETERS, 30)
    subscribed = {a.filter for a in of_kind(actions, ActionKind.SUBSCRIBE)}
    published = [a.attributes for a in of_kind(actions, ActionKind.PUBLISH)]
    pool = set(pools.filters(100))
    assert subscribed <= pool
    assert len(subscribed) > 0.9 * len(pool)
    events = pools.events(100)
    assert all(attributes in events for attributes in published)
    assert len(published) == pytest.approx(600, abs=4 * math.sqrt(600))


def test_popularity_is_skewed_on_request() -> None:
    parameters = ContentParameters(
        arrival_rate=50,
        departure_rate=1,
        publication_rate=50,
        filters=50,
        events=50,
        filter_skew=1.2,
        event_skew=1.2,
        workload="mixed",
    )
    actions = made(parameters, 40)
    weights = [rank**-1.2 for rank in range(1, 51)]
    expected = weights[0] / sum(weights)
    for popularity in (
        Counter(str(a.filter) for a in of_kind(actions, ActionKind.SUBSCRIBE)),
        Counter(str(a.attributes) for a in of_kind(actions, ActionKind.PUBLISH)),
    ):
        share = popularity.most_common(1)[0][1] / popularity.total()
        tolerance = 4 * math.sqrt(expected * (1 - expected) / popularity.total())
        assert share == pytest.approx(expected, abs=tolerance)


def test_publishers_advertise_everything() -> None:
    parameters = ContentParameters(
        arrival_rate=0, departure_rate=0, publication_rate=5, advertise=True, filters=1, events=9
    )
    advertised = of_kind(made(parameters, 10), ActionKind.ADVERTISE)
    assert [a.filter for a in advertised] == [Filter("true")] * 3


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (
            lambda: content(workload="odd"),
            "workload: is 'odd'; choose from plain, mixed",
        ),
        (lambda: content(filters=0), "filters: is 0; wanted a finite number, 1 or more"),
        (lambda: content(events=0), "events: is 0; wanted a finite number, 1 or more"),
        (lambda: content(filter_skew=-1), "filter_skew: is -1; wanted a finite number, 0 or more"),
        (
            lambda: ContentWorkload(PARAMETERS, ("B1", "B1")),
            "subscriber_brokers: names 'B1' twice",
        ),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == problem


def content(**changes: Any) -> ContentParameters:
    fine = {"arrival_rate": 1, "departure_rate": 1, "publication_rate": 1}
    return ContentParameters(**{**fine, **changes})
