"""The published schemes by name, with what each needs and promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from sapwood.protocol.core import Core
from sapwood.protocol.settling import Settling
from sapwood.protocol.stabilize.published import bounds
from sapwood.protocol.stabilize.published.bounds import Delays
from sapwood.protocol.stabilize.published.covering import (
    LeasedCovering1,
    LeasedCovering2,
    PrintedCovering1,
    PrintedCovering2,
)
from sapwood.protocol.stabilize.published.flooding import LeasedFlooding
from sapwood.protocol.stabilize.published.identity import LeasedIdentity, PrintedIdentity
from sapwood.protocol.stabilize.published.leasing import Leasing
from sapwood.protocol.stabilize.published.merging import (
    LeasedMerging1,
    LeasedMerging2,
    PrintedMerging1,
    PrintedMerging2,
)
from sapwood.protocol.stabilize.published.rebuild import Rebuild
from sapwood.protocol.stabilize.published.settings import SchemeSettings
from sapwood.protocol.stabilize.published.simple import LeasedSimple

Published: TypeAlias = Leasing | Rebuild
"""A machine that keeps the tables of a broker by a published scheme."""

Bound: TypeAlias = Callable[[float, float, Delays], float]
LeastLease: TypeAlias = Callable[[float, Delays], float]


class Scheme(NamedTuple):
    """A published scheme."""

    machine: Callable[[Core, Settling, SchemeSettings], Published]
    algorithm: str
    """The routing algorithm it belongs to; empty: any."""
    bound: Bound
    """Time after which everything is right again, from refresh period, lease period and delays."""
    least_lease: LeastLease = bounds.least_lease
    """What the lease period must exceed, from refresh period and delays."""
    lease_may_be_least: bool = False


_leased = bounds.leased
_late = bounds.leased_late

SCHEMES: dict[str, Scheme] = {
    "lease-flooding": Scheme(
        LeasedFlooding, "flooding", bounds.flooding, bounds.least_flooding_lease, True
    ),
    "lease-simple": Scheme(LeasedSimple, "simple", _leased),
    "lease-identity": Scheme(LeasedIdentity, "identity", _leased),
    "lease-identity-printed": Scheme(PrintedIdentity, "identity", _leased),
    "lease-covering-1": Scheme(LeasedCovering1, "covering", _leased),
    "lease-covering-1-printed": Scheme(PrintedCovering1, "covering", _leased),
    "lease-covering-2": Scheme(LeasedCovering2, "covering", _late),
    "lease-covering-2-printed": Scheme(PrintedCovering2, "covering", _late),
    "lease-merging-1": Scheme(LeasedMerging1, "merging", _leased),
    "lease-merging-1-printed": Scheme(PrintedMerging1, "merging", _leased),
    "lease-merging-2": Scheme(LeasedMerging2, "merging", _late),
    "lease-merging-2-printed": Scheme(PrintedMerging2, "merging", _late),
    "rebuild": Scheme(Rebuild, "", bounds.rebuilt, bounds.least_rebuild_period),
}
