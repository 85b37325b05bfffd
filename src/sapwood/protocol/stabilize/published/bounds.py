"""Within which time each published scheme is right again, and which periods it needs.

Symbols as in the papers: d the longest path in links that control messages take (in hierarchical
routing they go towards the root only, so that is the height), δmin and δmax the least and the
longest delay of a link; the refresh period is written rho, the lease period pi (Jaeger 2007, 3.3).
"""

from __future__ import annotations

from typing import NamedTuple


class Delays(NamedTuple):
    """What all bounds depend on beside the periods."""

    diameter: int
    """The longest path, in links, that control messages take."""
    delay_min: float
    delay_max: float

    @property
    def spread(self) -> float:
        """By how much the time along the longest path can vary."""
        return self.diameter * (self.delay_max - self.delay_min)

    @property
    def longest(self) -> float:
        """The time a message takes at most."""
        return self.diameter * self.delay_max


def any_idempotent(refresh: float, lease: float, delays: Delays) -> float:
    """Eq. 3.1, also 3.7 and 3.9: whatever the algorithm."""
    return 2 * lease + refresh + delays.longest


def flooding(refresh: float, lease: float, delays: Delays) -> float:
    """Eq. 3.2."""
    return max(2 * lease, delays.longest)


def leased(refresh: float, lease: float, delays: Delays) -> float:
    """Eq. 3.4, 3.5, 3.6 and 3.8. (Mühl et al. print d(δmax - δmin) for d δmax: too short.)"""
    return 2 * lease + delays.longest


def rebuilt(refresh: float, lease: float, delays: Delays) -> float:
    """Eq. 3.10; twice of it with advertisements, Eq. 3.11."""
    return 2 * lease + delays.longest


def least_lease(refresh: float, delays: Delays) -> float:
    """Eq. 3.3: a lease must be longer than this."""
    return refresh + delays.spread


def least_flooding_lease(refresh: float, delays: Delays) -> float:
    """With flooding a lease may be as long as a refresh period."""
    return refresh


def least_rebuild_period(refresh: float, delays: Delays) -> float:
    """Theorem 1: the time between two switches must be longer than this."""
    return refresh + 2 * delays.longest
