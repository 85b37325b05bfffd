"""What the bounds of the published schemes depend on, so that each has the same form.

The formulas are in ``sapwood.analysis.stabilization.published``.
"""

from __future__ import annotations

from typing import NamedTuple

from sapwood.analysis.stabilization import published


class Delays(NamedTuple):
    """How far control messages go, and how fast.

    In hierarchical routing they go towards the root only, so the longest path is its height.
    """

    diameter: int
    """The longest path, in links, that control messages take."""
    delay_min: float
    delay_max: float


def flooding(refresh: float, lease: float, delays: Delays) -> float:
    """Eq. 3.2."""
    return published.flooding_time(lease, delays.diameter, delays.delay_max)


def leased(refresh: float, lease: float, delays: Delays) -> float:
    """Eq. 3.4, 3.5, 3.6 and 3.8."""
    return published.simple_time(lease, delays.diameter, delays.delay_max)


def leased_late(refresh: float, lease: float, delays: Delays) -> float:
    """Eq. 3.7 and 3.9: the second variants."""
    return published.idempotent_time(lease, refresh, delays.diameter, delays.delay_max)


def rebuilt(refresh: float, lease: float, delays: Delays) -> float:
    """Eq. 3.10; twice of it with advertisements, Eq. 3.11."""
    return published.wrapper_time(lease, delays.diameter, delays.delay_max)


def least_lease(refresh: float, delays: Delays) -> float:
    """Eq. 3.3: a lease must be longer than this."""
    return published.lease_least(refresh, delays.diameter, delays.delay_max, delays.delay_min)


def least_flooding_lease(refresh: float, delays: Delays) -> float:
    """With flooding a lease may be as long as a refresh period."""
    return refresh


def least_rebuild_period(refresh: float, delays: Delays) -> float:
    """Theorem 1: the time between two switches must be longer than this."""
    return published.wrapper_lease_least(refresh, delays.diameter, delays.delay_max)
