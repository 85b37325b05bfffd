"""Whether the settings of all brokers of a network go together."""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.errors import ParameterError
from sapwood.protocol.optimize.settings import OptimizationSettings, check_limits
from sapwood.runtime.config.settings import Settings


def check_together(brokers: Sequence[Settings]) -> None:
    """Refuse settings that no tree of these brokers satisfies, or that name nobody.

    A link is made only if no broker forbids it. Who is pinned keeps the links that it has, which
    nobody knows from settings: so only its name is looked at.
    """
    zones = {one.id: one.optimization.zone for one in brokers}
    if len(zones) < len(brokers):
        names = [one.id for one in brokers]
        twice = next(name for name in names if names.count(name) > 1)
        raise ParameterError(f"several brokers are {twice!r}; wanted another one for each", "id")
    for one in brokers:
        for name in one.optimization.pinned:
            if name not in zones:
                problem = f"{one.id} pins {name!r}, and there is no such broker"
                raise ParameterError(problem, "optimization.pinned")
    known = {name: cost for one in brokers for name, cost in one.optimization.zones}
    forbidden = dict.fromkeys(pair for one in brokers for pair in one.optimization.forbidden)
    limits = OptimizationSettings(
        mode="off", zones=tuple(known.items()), forbidden=tuple(forbidden)
    )
    check_limits(limits, zones)
