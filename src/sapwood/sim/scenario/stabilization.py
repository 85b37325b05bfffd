"""The section of a scenario that says how tables are kept right, and by which periods."""

from __future__ import annotations

from typing import Literal

import msgspec

from sapwood.analysis.stabilization import network_of
from sapwood.analysis.stabilization.bounds import tables_time
from sapwood.errors import ScenarioError
from sapwood.protocol.stabilize.periods import periods_of
from sapwood.protocol.stabilize.published.bounds import Delays
from sapwood.protocol.stabilize.published.renewing import RenewalPlan
from sapwood.protocol.stabilize.published.schemes import SCHEMES, Scheme
from sapwood.protocol.stabilize.settings import NO_PROTOCOL, StabilizationSettings
from sapwood.sim.parameters import check_at_least, check_positive
from sapwood.sim.scenario.errors import choices

OFF = "off"

COMPARED = ("digest", "batch", "hop-lease")
"""The schemes of living brokers, which neighbours refresh between each other."""

MARGIN = 0.01
"""By how much of the refresh period a lease is longer than it has to be, unless it is given."""


class PeriodSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Periods of their own for subscriptions of clients at some brokers."""

    brokers: list[str]
    refresh_period: float
    lease_period: float

    def __post_init__(self) -> None:
        check_positive("refresh_period", self.refresh_period)
        check_positive("lease_period", self.lease_period)


class StabilizationSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How tables are kept right."""

    scheme: str = OFF
    refresh_period: float = 60.0
    """Seconds between two renewals of a subscription."""
    lease_period: float | None = None
    """Seconds in which an entry has to be renewed, or between two switches; None: as needed."""
    unsubscriptions: Literal["told", "expire"] = "told"
    """Whether brokers tell their neighbours that a client has unsubscribed."""
    renewal_rate: float = 0.0
    """Renewals per second one client sends at most; then it renews sooner, if it may. 0: once in a
    refresh period."""
    refresh_period_min: float = 1.0
    """With a renewal rate: never sooner than this."""
    periods: list[PeriodSection] = []

    def __post_init__(self) -> None:
        known = [OFF, *COMPARED, *SCHEMES]
        if self.scheme not in known:
            raise ScenarioError(
                f"is {self.scheme!r}; {choices(self.scheme, known)}", "stabilization.scheme"
            )
        check_positive("refresh_period", self.refresh_period)
        if self.lease_period is not None:
            check_positive("lease_period", self.lease_period)
        check_at_least("renewal_rate", self.renewal_rate, 0)
        check_positive("refresh_period_min", self.refresh_period_min)
        if self.periods and not self.scheme.startswith("lease"):
            raise ScenarioError("goes with leases only", "stabilization.periods")
        if self.is_compared:
            for key, is_given in (
                ("lease_period", self.lease_period is not None),
                ("unsubscriptions", self.unsubscriptions != "told"),
                ("renewal_rate", self.renewal_rate != 0),
            ):
                if is_given:
                    raise ScenarioError(
                        f"goes with the schemes of the papers only, not with {self.scheme!r}",
                        f"stabilization.{key}",
                    )

    @property
    def is_compared(self) -> bool:
        """Whether the scheme is one of living brokers."""
        return self.scheme in COMPARED

    @property
    def settings(self) -> StabilizationSettings:
        """What living brokers are told of such a scheme."""
        return msgspec.convert(
            {
                "refresh": self.scheme if self.is_compared else OFF,
                "refresh_seconds": self.refresh_period,
            },
            StabilizationSettings,
        )

    @property
    def published(self) -> Scheme | None:
        """The scheme, if it is one of the papers."""
        return SCHEMES.get(self.scheme)

    @property
    def algorithm(self) -> str:
        """The routing algorithm the scheme belongs to; empty: any."""
        return "" if self.published is None else self.published.algorithm

    @property
    def plan(self) -> RenewalPlan:
        """When clients renew."""
        return RenewalPlan(self.refresh_period, self.renewal_rate, self.refresh_period_min)

    def lease(self, delays: Delays) -> float:
        """The lease period; refuses one in which entries expire though nothing is wrong."""
        scheme = self.published
        if scheme is None:
            return 0.0
        for period in self.periods:
            _check_lease(
                scheme, period.refresh_period, period.lease_period, delays, "periods.lease_period"
            )
        least = scheme.least_lease(self.refresh_period, delays)
        if self.lease_period is None:
            return least + MARGIN * self.refresh_period
        _check_lease(scheme, self.refresh_period, self.lease_period, delays, "lease_period")
        return self.lease_period

    def bound(self, delays: Delays, layers: int) -> float | None:
        """Within which time everything is right again; with advertisements there are two layers.

        The slowest subscription decides.
        """
        if self.is_compared:
            return self._compared_bound(delays, layers)
        scheme = self.published
        if scheme is None:
            return None
        pairs = [(self.refresh_period, self.lease(delays))]
        pairs += [(one.refresh_period, one.lease_period) for one in self.periods]
        return layers * max(scheme.bound(refresh, lease, delays) for refresh, lease in pairs)

    def _compared_bound(self, delays: Delays, layers: int) -> float:
        """The time of tables (Δr): brokers are not struck in what they derive from them."""
        network = network_of(
            delays.diameter + 1,
            diameter=delays.diameter,
            delay_max=delays.delay_max,
            delay_min=delays.delay_min,
        )
        periods = periods_of(
            self.settings, NO_PROTOCOL, self.refresh_period, has_advertisements=layers > 1
        )
        return tables_time(network, periods)


def _check_lease(scheme: Scheme, refresh: float, lease: float, delays: Delays, key: str) -> None:
    least = scheme.least_lease(refresh, delays)
    if lease > least or (lease == least and scheme.lease_may_be_least):
        return
    raise ScenarioError(
        f"is {lease:g}; with a refresh period of {refresh:g}, {delays.diameter} links and delays "
        f"from {delays.delay_min:g} to {delays.delay_max:g} it must be more than {least:g}, or "
        "entries are removed though nothing is wrong",
        f"stabilization.{key}",
    )
