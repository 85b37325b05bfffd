"""The ways to choose the tree, by name: the static tree, the published heuristics, `adaptive`.

Times are those of Table 5.2, in ticks. CI-stable is CI with a hysteresis of 5 % whose brokers
remember what they handle, not only what concerns their clients (OPTIMIZATION.md, A7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from sapwood.errors import ParameterError
from sapwood.protocol.broker import Broker
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.optimize.published.broker import HeuristicBroker
from sapwood.protocol.optimize.published.settings import HeuristicSettings
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.sim.optimizing.adapting import adaptive_broker, adaptive_settings
from sapwood.sim.optimizing.network import CostedNetwork
from sapwood.sim.optimizing.setup import TICK_SECONDS, Course
from sapwood.sim.optimizing.world import Outcome, World

START_TICK: Final = 1000
"""Until then the tree stays as it is drawn, whatever the way (5.6.2)."""

CACHE_SIZE: Final = 4608
"""Notifications that a broker remembers (cacheSize)."""

BITS_PER_ID: Final = 12
"""Bits of a Bloom filter for each of them (filterSize)."""

MakeBroker: TypeAlias = Callable[[CostedNetwork, BrokerConfig, dict[str, Any]], Broker]


def heuristic(**changes: Any) -> MakeBroker:
    """Brokers that follow a published heuristic, with other settings than those of Table 5.2."""
    settings = HeuristicSettings(start_at=START_TICK * TICK_SECONDS, **changes)

    def make(network: CostedNetwork, config: BrokerConfig, shared: dict[str, Any]) -> Broker:
        return HeuristicBroker(config, settings, network, **shared)

    return make


def static(network: CostedNetwork, config: BrokerConfig, shared: dict[str, Any]) -> Broker:
    """Brokers that leave the tree as it is."""
    return Broker(config, **shared)


def adaptive(traffic: float, **changes: Any) -> MakeBroker:
    """Brokers that Sapwood runs live."""
    settings = adaptive_settings(traffic, **changes)

    def make(network: CostedNetwork, config: BrokerConfig, shared: dict[str, Any]) -> Broker:
        return adaptive_broker(network, config, shared, settings, START_TICK * TICK_SECONDS)

    return make


def measuring(**changes: Any) -> MakeBroker:
    """Brokers as they run live by default: what links cost they find out themselves."""
    settings = OptimizationSettings(mode="on", **changes)

    def make(network: CostedNetwork, config: BrokerConfig, shared: dict[str, Any]) -> Broker:
        dialled = msgspec.structs.replace(
            config, addresses=(f"sim://{config.id}",), optimization=settings
        )
        return Broker(dialled, **shared)

    return make


HEURISTICS: Final[dict[str, dict[str, Any]]] = {
    "lmst": {"heuristic": "lmst"},
    "lmit": {"heuristic": "lmit"},
    "ci": {},
    "ci-sketch": {"summary": "sketch"},
    "ci-triggered": {"broadcast_after": 250},
    "ci-hysteresis": {"hysteresis": 0.05},
    "ci-stable": {"hysteresis": 0.05, "handled": True},
}
"""The published ones and variants of them: what differs from Table 5.2."""

OWN: Final[tuple[str, ...]] = ("adaptive",)
"""Those that Sapwood runs itself."""

WAYS: Final[tuple[str, ...]] = ("static", *HEURISTICS, *OWN)


def way_named(name: str, traffic: float = 1.0) -> MakeBroker:
    """A way, for a network with a part of the printed traffic.

    With a fifth of the traffic a fifth is remembered, so that it reaches as far back as printed.
    """
    if name == "static":
        return static
    if name in OWN:
        return adaptive(traffic)
    if name not in HEURISTICS:
        raise ParameterError(f"is {name!r}; choose from {', '.join(WAYS)}", "way")
    changes = dict(HEURISTICS[name])
    if "broadcast_after" in changes:
        changes["broadcast_after"] = max(1, round(traffic * changes["broadcast_after"]))
    size = max(1, round(traffic * CACHE_SIZE))
    return heuristic(cache_size=size, filter_bits=BITS_PER_ID * size, **changes)


def run_way(
    name: str,
    course: Course,
    traffic: float = 1.0,
    watch: Callable[[float], None] | None = None,
) -> Outcome:
    """One course with one way."""
    return World(course, way_named(name, traffic)).run(watch)
