"""Classes of filters: every subscription is for one class, every publication is of one class.

This is the workload of the self-stabilization and hybrid routing papers (thesis 3.3.3 and 3.5.1;
001, section 4.1; 004, section 6). Classes exclude each other by default; with `overlap`, the filter
of a class takes in its neighbours too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from sapwood.errors import ParameterError
from sapwood.filters import kinds
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.sim.parameters import check_at_least, check_between, check_brokers
from sapwood.sim.workloads.action import Action
from sapwood.sim.workloads.populations import (
    Audience,
    Offer,
    PopulationParameters,
    population_actions,
)
from sapwood.sim.workloads.rates import RateSchedule

ATTRIBUTE = "class"


class ClassParameters(PopulationParameters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Classes, and the clients that subscribe to and publish them."""

    classes: int = 1000
    """How many classes there are; each is equally likely to be subscribed to or published."""

    overlap: int = 0
    """How many classes on either side the filter of a class matches too. With 0, filters are
    equalities and exclude each other; with k, a publication matches the filters of 2k + 1 classes
    (fewer near the first and the last)."""

    classes_per_publisher: int | None = None
    """How many classes one publisher publishes, drawn evenly when it comes; None: all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("classes", self.classes, 1)
        check_between("overlap", self.overlap, 0, self.classes - 1)
        if self.classes_per_publisher is not None:
            check_between("classes_per_publisher", self.classes_per_publisher, 1, self.classes)


def equilibrium_classes(
    subscriptions: int, *, lifetime_seconds: float = 600.0, publication_rate: float = 1000.0
) -> ClassParameters:
    """A thousand classes with that many subscriptions from the start on (thesis 3.3.3).

    The thesis pairs lifetimes of 600 s and 60 s with publication rates of 1000/s and 100/s, on the
    leaves of a complete ternary tree of five levels. In equilibrium as many subscriptions come as
    go, so the arrival rate is `subscriptions` / `lifetime_seconds`.
    """
    if not lifetime_seconds > 0:
        raise ParameterError(f"is {lifetime_seconds}; wanted seconds above 0", "lifetime_seconds")
    return ClassParameters(
        arrival_rate=subscriptions / lifetime_seconds,
        departure_rate=1 / lifetime_seconds,
        publication_rate=publication_rate,
        initial_subscriptions=subscriptions,
    )


HYBRID_ROUTING_CLASSES = ClassParameters(
    arrival_rate=RateSchedule(
        (
            (0.0, 10 / 60),
            (400.0, 10 / 60),
            (850.0, 20_000 / 60),
            (1200.0, 20_000 / 60),
            (1800.0, 2_000 / 60),
        )
    ),
    departure_rate=1 / 60,
    publication_rate=500.0,
)
"""The workload of 004, section 6, on a complete binary tree of 127 brokers: subscriptions come in
slowly, then in a flood, then less. The paper prints these arrival rates as per second; only per
minute do they give its result, that at the peak 140 of 252 directed links are better flooded (a
test computes it). When the peak ends is read from its remark that the reverse phase begins after
1200 s."""


class ClassWorkload:
    """Clients of a class workload at given brokers.

    Subscribers and publishers attach to the brokers named for them: the leaves in thesis 3.3.3, all
    in 004.
    """

    def __init__(
        self,
        parameters: ClassParameters,
        subscriber_brokers: Sequence[str],
        publisher_brokers: Sequence[str] | None = None,
    ) -> None:
        publisher_brokers = subscriber_brokers if publisher_brokers is None else publisher_brokers
        check_brokers("subscriber_brokers", subscriber_brokers)
        check_brokers("publisher_brokers", publisher_brokers)
        self.parameters = parameters
        classes, overlap = parameters.classes, parameters.overlap
        self._filters = [class_filter(k, classes, overlap) for k in range(classes)]
        self._attributes: list[Mapping[str, Value]] = [{ATTRIBUTE: k} for k in range(classes)]
        self._audience = Audience(
            tuple(subscriber_brokers), tuple(publisher_brokers), self._draw_filter, self._draw_offer
        )

    def actions(self, random: Random, until: float) -> Iterator[Action]:
        """Everything the clients do before `until`, in the order of time."""
        return population_actions(self.parameters, self._audience, random, until)

    def _draw_filter(self, random: Random) -> Filter:
        return random.choice(self._filters)

    def _draw_offer(self, random: Random) -> Offer:
        count = self.parameters.classes_per_publisher
        if count is None:
            everything = Filter.all_of({ATTRIBUTE: kinds.between(0, self.parameters.classes - 1)})
            return Offer((everything,), lambda random: random.choice(self._attributes))
        chosen = sorted(random.sample(range(self.parameters.classes), count))
        attributes = [self._attributes[k] for k in chosen]
        advertisements = tuple(Filter.all_of({ATTRIBUTE: kinds.equal(k)}) for k in chosen)
        return Offer(advertisements, lambda random: random.choice(attributes))


def class_filter(number: int, classes: int, overlap: int = 0) -> Filter:
    """The filter of a class, counted from 0.

    >>> print(class_filter(7, classes=1000), "|", class_filter(7, classes=1000, overlap=2))
    class = 7 | class between 5 and 9
    """
    if not overlap:
        return Filter.all_of({ATTRIBUTE: kinds.equal(number)})
    first, last = max(0, number - overlap), min(classes - 1, number + overlap)
    return Filter.all_of({ATTRIBUTE: kinds.between(first, last)})
