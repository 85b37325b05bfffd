"""The ways to choose the tree, by name: the static tree, the published heuristics, `adaptive`.

Times are those of Table 5.2, in ticks. CI-stable is CI with a hysteresis of 5 % whose brokers
remember what they handle, not only what concerns their clients (OPTIMIZATION.md, A7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from sapwood.protocol.broker import Broker
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.optimize.published.broker import HeuristicBroker
from sapwood.protocol.optimize.published.settings import HeuristicSettings
from sapwood.sim.optimizing.network import CostedNetwork
from sapwood.sim.optimizing.setup import TICK_SECONDS, Course
from sapwood.sim.optimizing.world import Outcome, World

START_TICK: Final = 1000
"""Until then the tree stays as it is drawn, whatever the way (5.6.2)."""

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


WAYS: Final[dict[str, MakeBroker]] = {
    "static": static,
    "lmst": heuristic(heuristic="lmst"),
    "lmit": heuristic(heuristic="lmit"),
    "ci": heuristic(),
    "ci-sketch": heuristic(summary="sketch"),
    "ci-triggered": heuristic(broadcast_after=250),
    "ci-hysteresis": heuristic(hysteresis=0.05),
    "ci-stable": heuristic(hysteresis=0.05, handled=True),
}


def run_way(name: str, course: Course, watch: Callable[[float], None] | None = None) -> Outcome:
    """One course with one way."""
    return World(course, WAYS[name]).run(watch)
