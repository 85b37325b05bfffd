"""Classes of filters: frequencies, overlap, advertisements, and the settings of the papers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter
from sapwood.sim.topology import Topology, complete_tree
from sapwood.sim.workloads.action import Action, ActionKind
from sapwood.sim.workloads.classes import (
    HYBRID_ROUTING_CLASSES,
    ClassParameters,
    ClassWorkload,
    class_filter,
    equilibrium_classes,
)
from sapwood.sim.workloads.rates import schedule_of
from sim.workloads.streams import expect_lawful, of_kind

BROKERS = ("B1", "B2", "B3")


def made(parameters: ClassParameters, until: float, seed: int = 1) -> list[Action]:
    actions = list(ClassWorkload(parameters, BROKERS).actions(Random(seed), until))
    expect_lawful(actions, until, advertised=parameters.advertise)
    return actions


def even(numbers: Counter[object], classes: int) -> bool:
    """Chi-square: within four standard deviations of even."""
    expected = numbers.total() / classes
    statistic = sum((n - expected) ** 2 / expected for n in numbers.values())
    statistic += (classes - len(numbers)) * expected
    return statistic < classes - 1 + 4 * math.sqrt(2 * (classes - 1))


def test_all_classes_are_equally_likely() -> None:
    parameters = ClassParameters(
        arrival_rate=50, departure_rate=0.1, publication_rate=50, classes=20
    )
    actions = made(parameters, 100)
    subscribed = Counter[object](str(a.filter) for a in of_kind(actions, ActionKind.SUBSCRIBE))
    published = Counter[object](str(a.attributes) for a in of_kind(actions, ActionKind.PUBLISH))
    assert set(subscribed) == {f"class = {k}" for k in range(20)}
    assert set(published) == {f"{{'class': {k}}}" for k in range(20)}
    assert even(subscribed, 20)
    assert even(published, 20)
    assert not even(Counter[object]({0: 900, 1: 100}), 2)


@given(st.integers(1, 30), st.data())
def test_overlap_is_how_many_neighbours_match(classes: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, classes - 1))
    published = data.draw(st.integers(0, classes - 1))
    matching = [
        k for k in range(classes) if class_filter(k, classes, overlap).matches({"class": published})
    ]
    assert matching == [k for k in range(classes) if abs(k - published) <= overlap]


def test_a_publisher_keeps_to_its_classes() -> None:
    parameters = ClassParameters(
        arrival_rate=1,
        departure_rate=1,
        publication_rate=50,
        classes=10,
        classes_per_publisher=2,
        advertise=True,
    )
    actions = made(parameters, 50)
    advertised = {(a.client, a.filter) for a in of_kind(actions, ActionKind.ADVERTISE)}
    published = {
        (a.client, Filter(f"class = {(a.attributes or {})['class']}"))
        for a in of_kind(actions, ActionKind.PUBLISH)
    }
    assert published == advertised
    assert len(advertised) == 6


def test_a_publisher_of_everything_advertises_one_range() -> None:
    parameters = ClassParameters(
        arrival_rate=0, departure_rate=0, publication_rate=0, classes=10, advertise=True
    )
    advertised = of_kind(made(parameters, 1), ActionKind.ADVERTISE)
    assert [(a.client, str(a.filter)) for a in advertised] == [
        (f"P{number}", "class between 0 and 9") for number in (1, 2, 3)
    ]


def test_subscribers_and_publishers_may_be_at_different_brokers() -> None:
    parameters = ClassParameters(arrival_rate=5, departure_rate=1, publication_rate=5)
    actions = list(ClassWorkload(parameters, ("B2", "B3"), ("B1",)).actions(Random(1), 20))
    assert {a.broker for a in actions if a.client.startswith("S")} == {"B2", "B3"}
    assert {a.broker for a in actions if a.client.startswith("P")} == {"B1"}


def test_the_equilibrium_of_the_thesis() -> None:
    parameters = equilibrium_classes(60_000, lifetime_seconds=60, publication_rate=100)
    assert parameters == ClassParameters(
        arrival_rate=1000.0,
        departure_rate=1 / 60,
        publication_rate=100,
        initial_subscriptions=60_000,
        classes=1000,
    )


def flooded_edges(tree: Topology, parameters: ClassParameters, at: float) -> int:
    """Directed links on which flooding costs less than simple routing (004, section 5.1).

    Flooding sends every publication from behind the link; filtering sends those of classes that
    somebody ahead wants, and one message for each subscription that comes or goes ahead.
    """
    arrivals = schedule_of("arrival_rate", parameters.arrival_rate).rate(at)
    publications = schedule_of("publication_rate", parameters.publication_rate).rate(at)
    brokers = len(tree.brokers)
    below = dict.fromkeys(tree.brokers, 1)
    for broker, parent in reversed(tree.parents("B1").items()):
        below[parent] += below[broker]
    found = 0
    for broker in tree.brokers[1:]:
        for ahead in (below[broker], brokers - below[broker]):
            share = ahead / brokers
            active = arrivals * share / parameters.departure_rate
            unwanted = math.exp(-active / parameters.classes)
            saved = publications * (1 - share) * unwanted
            found += saved < 2 * arrivals * share
    return found


def test_hybrid_routing_switches_as_many_links_as_in_the_paper() -> None:
    """140 of 252 at the peak; none of it would come out with rates per second."""
    tree = complete_tree(2, levels=7)
    assert flooded_edges(tree, HYBRID_ROUTING_CLASSES, 1000) == 140
    assert flooded_edges(tree, HYBRID_ROUTING_CLASSES, 100) == 0
    per_second = ClassParameters(arrival_rate=20_000, departure_rate=1 / 60, publication_rate=500)
    assert flooded_edges(tree, per_second, 0) == 252


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: classes(classes=0), "classes: is 0; wanted a finite number, 1 or more"),
        (lambda: classes(classes=5, overlap=5), "overlap: is 5; wanted a number from 0 to 4"),
        (
            lambda: classes(classes=5, classes_per_publisher=6),
            "classes_per_publisher: is 6; wanted a number from 1 to 5",
        ),
        (
            lambda: classes(departure_rate=-1),
            "departure_rate: is -1; wanted a finite number, 0 or more",
        ),
        (
            lambda: equilibrium_classes(10, lifetime_seconds=0),
            "lifetime_seconds: is 0; wanted seconds above 0",
        ),
        (
            lambda: ClassWorkload(classes(), ()),
            "subscriber_brokers: has 0 brokers; at least 1 wanted",
        ),
        (
            lambda: ClassWorkload(classes(), ("B1",), ("B1", "B1")),
            "publisher_brokers: names 'B1' twice",
        ),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == problem


def classes(**changes: Any) -> ClassParameters:
    fine = {"arrival_rate": 1, "departure_rate": 1, "publication_rate": 1}
    return ClassParameters(**{**fine, **changes})
