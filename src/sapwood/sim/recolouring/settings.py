"""One simulated run of a coloured tree: what it is made of, and what it came to.

Both are plain values, so that a sweep can spread runs over processes or machines.
"""

from __future__ import annotations

import msgspec

from sapwood.analysis.stabilization.published import (
    recolor_period_least,
    recolor_time,
    recolor_time_printed,
)
from sapwood.errors import ParameterError
from sapwood.sim.parameters import check_at_least, check_order, check_positive

VARIANTS = ("corrected", "printed", "as fault", "fifo", "causal")
FAULTS = ("none", "perturbed", "forgotten", "lost", "root lost", "cut", "messages")
CYCLIC_FAULTS = ("perturbed", "messages")
"""Those after which the pointers may close cycles."""


class RecolouringSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run is made of; a seed gives one run."""

    seed: int = 0
    variant: str = "corrected"
    """The tree with three colours, `corrected` or `printed`, corrected and with `fifo` or `causal`
    order over changes; or `as fault`, the baseline."""
    fault: str = "perturbed"
    share: float = 1.0
    """Of the brokers: how many a fault perturbs."""
    brokers: int = 0
    """0: from 3 to 12, by the seed."""
    root_group: int = 1
    degree_max: int = 3
    recolor_period: float = 30.0
    """ξ; the lease period π where a change is a fault."""
    refresh_period: float = 10.0
    delay_min: float = 0.02
    delay_max: float = 0.4
    is_hierarchical: bool = True
    first_color: str = "new"
    publish_period: float = 1.0
    """Seconds between two publications, anywhere; 0: none."""
    warm_up: float = 2.0
    """Recolour periods with publications before the fault, after two without."""
    watched: float = 2.0
    """Bounds after the fault for which the run goes on."""

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise ParameterError(
                f"is {self.variant!r}; wanted one of {', '.join(VARIANTS)}", "variant"
            )
        if self.fault not in FAULTS:
            raise ParameterError(f"is {self.fault!r}; wanted one of {', '.join(FAULTS)}", "fault")
        has_cycles = self.variant == "printed" or self.fault in CYCLIC_FAULTS
        if not self.is_hierarchical and self.fault != "none" and has_cycles:
            raise ParameterError(
                f"is {self.fault!r}, which may close cycles: peer-to-peer, subscriptions "
                "multiply in them without end; let routing be hierarchical",
                "fault",
            )
        for name in ("brokers", "publish_period", "warm_up", "watched", "share", "delay_min"):
            check_at_least(name, getattr(self, name), 0)
        for name in ("recolor_period", "refresh_period"):
            check_positive(name, getattr(self, name))
        check_order("delay_min", self.delay_min, "delay_max", self.delay_max)
        check_at_least("degree_max", self.degree_max, 1)
        check_at_least("root_group", self.root_group, 1)

    def height(self, brokers: int) -> int:
        """No tree is higher than it has brokers; a chain has one link less."""
        return brokers

    def check_periods(self, brokers: int) -> None:
        """Refuse a recolour period in which the tables cannot be filled (Eq. 4.2, N3)."""
        least = recolor_period_least(
            self.refresh_period,
            self.height(brokers),
            self.delay_max,
            self.delay_min,
            "hierarchical" if self.is_hierarchical else "peer-to-peer",
        )
        if not self.recolor_period > least:
            raise ParameterError(
                f"is {self.recolor_period}; wanted more than {least:g}, so that the tables of "
                f"{brokers} brokers are filled in time",
                "recolor_period",
            )

    def bound(self, brokers: int) -> float:
        """Within so long after a fault the tree is right: 6ξ + 3hδmax."""
        return recolor_time(self.recolor_period, self.height(brokers), self.delay_max)

    def bound_printed(self, brokers: int) -> float:
        """What the print states (Eq. 4.3)."""
        height = self.height(brokers)
        return recolor_time_printed(self.recolor_period, height, self.delay_max, self.delay_min)


class RecolouringResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to."""

    seed: int
    variant: str
    fault: str
    brokers: int
    bound: float
    bound_printed: float
    recovered_after: float | None
    """Seconds after the fault from which on the tree was right; none if it was not at the end."""
    served_after: float
    """Seconds after the fault from which on every notification was delivered as it should be."""
    problems: tuple[str, ...]
    """What was wrong at the end."""
    disturbed_before: tuple[str, ...]
    """What was wrong before the fault."""
    messages: dict[str, int]
    """By type, of the whole run."""
    published: int
    expected: int
    lost: int
    duplicated: int
    unexpected: int
    disordered: int
    joins: int
    """Questions for a place to a root after the fault."""
