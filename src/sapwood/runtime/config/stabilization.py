"""Periods that go together: contradictions are found, what follows from a stated time is filled in.

How many brokers there are, and how their tree looks, is not known when a broker starts. Taken is
the worst that its settings allow: a tree as deep as `tree.depth_max`. What is refused here cannot
work in any network of that depth; a smaller `depth_max` allows more.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sapwood.analysis.stabilization.periods import Periods
from sapwood.analysis.stabilization.refusals import refusals
from sapwood.analysis.stabilization.solving import periods_within
from sapwood.errors import ConfigurationError, StabilizationError
from sapwood.protocol.stabilize.periods import network_allowed, periods_of
from sapwood.protocol.stabilize.timing import DELAY_SECONDS_MIN
from sapwood.runtime.config.settings import Settings

KEYS = {
    "audit_period": "stabilization.audit_seconds",
    "beacon_period": "tree.beacon_seconds",
    "client_refresh_period": "client.refresh_seconds",
    "delay_max": "stabilization.delay_max",
    "depth_max": "tree.depth_max",
    "refresh": "stabilization.refresh",
    "refresh_period": "stabilization.refresh_seconds",
    "ring_max": "tree.ring_max",
    "seconds": "stabilization.seconds",
    "seek_period": "tree.seek_seconds",
    "tree": "tree.protocol",
}
"""Names in formulas, and the settings they come from."""


def periods_set(settings: Settings) -> Periods:
    """The periods in the settings."""
    return periods_of(
        settings.stabilization,
        settings.tree,
        settings.client.refresh_seconds,
        has_advertisements=settings.advertisements == "required",
    )


def wrong_periods(settings: Settings) -> Iterator[tuple[str, str]]:
    """Keys of periods that do not go together, and what is wrong with them."""
    if settings.stabilization.seconds:
        try:
            with_periods(settings)
        except ConfigurationError as problem:
            yield problem.key, problem.problem
        return
    network = network_allowed(settings.stabilization, settings.tree)
    for refusal in refusals(network, periods_set(settings)):
        yield KEYS[refusal.parameter], refusal.problem


def with_periods(settings: Settings) -> Settings:
    """The settings, with the periods that follow if `stabilization.seconds` states a time.

    Where delays are measured, nothing is known of them yet: links are taken to be as quick as any
    link is ever taken to be. A broker that measures more looks more often (`Standing`).
    """
    stabilization = settings.stabilization
    if not stabilization.seconds:
        return settings
    assumed = msgspec.structs.replace(
        stabilization, delay_max=stabilization.delay_max or DELAY_SECONDS_MIN
    )
    network = network_allowed(assumed, settings.tree)
    try:
        periods = periods_within(stabilization.seconds, network, periods_set(settings))
    except StabilizationError as problem:
        raise ConfigurationError(problem.problem, KEYS[problem.parameter]) from None
    replace = msgspec.structs.replace
    return replace(
        settings,
        stabilization=replace(
            stabilization,
            refresh_seconds=periods.refresh_period,
            audit_seconds=periods.audit_period,
        ),
        tree=replace(settings.tree, beacon_seconds=periods.beacon_period),
        client=replace(settings.client, refresh_seconds=periods.client_refresh_period),
    )
