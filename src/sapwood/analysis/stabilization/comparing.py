"""What the papers' protocols would take in a given network, beside what Sapwood's take."""

from __future__ import annotations

from typing import NamedTuple

from sapwood.analysis.stabilization import published
from sapwood.analysis.stabilization.bounds import LEASE_MARGIN
from sapwood.analysis.stabilization.network import Network


class PublishedBound(NamedTuple):
    """One bound of the papers; periods and times in seconds."""

    equation: str
    name: str
    period: float
    """Of the leases (π), the wrapper (π) or the colours (ξ): 1 % above the least allowed."""
    printed: float
    corrected: float
    """The same where the printed form holds."""


def published_bounds(network: Network, refresh_period: float) -> tuple[PublishedBound, ...]:
    """All of them, with the shortest periods that a refresh period allows."""
    return (*_leases(network, refresh_period), *_wrapper(network, refresh_period),
            *_colours(network, refresh_period))  # fmt: skip


def _leases(network: Network, refresh_period: float) -> list[PublishedBound]:
    links, delay, fastest = network.diameter, network.delay_max, network.delay_min
    lease = LEASE_MARGIN * published.lease_least(refresh_period, links, delay, fastest)
    short = published.simple_time(lease, links, delay)
    long = published.idempotent_time(lease, refresh_period, links, delay)
    flooding = published.flooding_time(refresh_period, links, delay)
    return [
        PublishedBound("3.1", "leases, any idempotent algorithm", lease, long, long),
        PublishedBound("3.2", "leases, flooding", refresh_period, flooding, flooding),
        PublishedBound("3.4", "leases, simple", lease, short, short),
        PublishedBound("3.5", "leases, identity with handover", lease, short, short),
        PublishedBound("3.6", "leases, covering, first variant", lease, short, short),
        PublishedBound("3.7", "leases, covering, second variant", lease, long, long),
        PublishedBound("3.8", "leases, merging, first variant", lease, short, short),
        PublishedBound("3.9", "leases, merging, second variant", lease, long, long),
    ]


def _wrapper(network: Network, refresh_period: float) -> list[PublishedBound]:
    links, delay = network.diameter, network.delay_max
    lease = LEASE_MARGIN * published.wrapper_lease_least(refresh_period, links, delay)
    once = published.wrapper_time(lease, links, delay)
    twice = published.wrapper_time_with_advertisements(lease, links, delay)
    return [
        PublishedBound("3.10", "periodic rebuild", lease, once, once),
        PublishedBound("3.11", "periodic rebuild with advertisements", lease, twice, twice),
    ]


def _colours(network: Network, refresh_period: float) -> list[PublishedBound]:
    height, delay, fastest = network.height, network.delay_max, network.delay_min
    period = LEASE_MARGIN * published.recolor_period_least(refresh_period, height, delay, fastest)
    printed = published.recolor_time_printed(period, height, delay, fastest)
    corrected = published.recolor_time(period, height, delay)
    return [PublishedBound("4.3", "tree with three colours", period, printed, corrected)]
