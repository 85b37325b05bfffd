"""Content-based subscriptions and events: many attributes, some popular and most rare.

The filters and events are those of the matching benchmark (`sapwood.matching.workload`), with the
arrivals and lifetimes of the other workloads. They are drawn from pools of a given size, so that
some clients want the same; in a pool, too, some may be more popular than others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.matching.workload import WORKLOADS, Workload, zipf
from sapwood.sim.parameters import check_at_least, check_brokers
from sapwood.sim.workloads.action import Action, split
from sapwood.sim.workloads.populations import (
    Audience,
    Offer,
    PopulationParameters,
    population_actions,
)


class ContentParameters(
    PopulationParameters, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """Pools of filters and events, and the clients that draw from them.

    With `advertise`, publishers advertise everything: any event may come from any of them.
    """

    workload: str = "plain"
    """Which of the matching benchmark's workloads: plain or mixed."""

    filters: int = 10_000
    """How many different filters there are to subscribe with (a few may be equal)."""

    filter_skew: float = 0.0
    """Zipf exponent of the popularity of filters; 0: all alike."""

    events: int = 10_000
    """How many different events there are to publish."""

    event_skew: float = 0.0
    """Zipf exponent of the popularity of events; 0: all alike."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.workload not in WORKLOADS:
            raise ParameterError(
                f"is {self.workload!r}; choose from {', '.join(WORKLOADS)}", "workload"
            )
        check_at_least("filters", self.filters, 1)
        check_at_least("filter_skew", self.filter_skew, 0)
        check_at_least("events", self.events, 1)
        check_at_least("event_skew", self.event_skew, 0)


_EVERYTHING = Filter("true")


class ContentWorkload:
    """Clients of a content-based workload at given brokers."""

    def __init__(
        self,
        parameters: ContentParameters,
        subscriber_brokers: Sequence[str],
        publisher_brokers: Sequence[str] | None = None,
    ) -> None:
        publisher_brokers = subscriber_brokers if publisher_brokers is None else publisher_brokers
        check_brokers("subscriber_brokers", subscriber_brokers)
        check_brokers("publisher_brokers", publisher_brokers)
        self.parameters = parameters
        self.subscriber_brokers = tuple(subscriber_brokers)
        self.publisher_brokers = tuple(publisher_brokers)

    def actions(self, random: Random, until: float) -> Iterator[Action]:
        """Everything the clients do before `until`, in the order of time.

        The pools are filled before the first action.
        """
        parameters = self.parameters
        pools = Workload(parameters.workload, split(random).getrandbits(32))
        filters = zipf(list(pools.filters(parameters.filters)), parameters.filter_skew)
        events: Sequence[Mapping[str, Value]] = pools.events(parameters.events)
        popular_events = zipf(events, parameters.event_skew)
        offer = Offer((_EVERYTHING,), popular_events.draw)
        audience = Audience(
            self.subscriber_brokers, self.publisher_brokers, filters.draw, lambda random: offer
        )
        return population_actions(parameters, audience, random, until)
