"""Sapwood's own way, `adaptive`, on S56: brokers as they run live, with costs that are given.

Times are those of the specification in ticks (OPTIMIZATION.md, A4). A change has to gain one unit
of cost a tick at the printed traffic, a thousandth of what the static tree costs, and as much less
as there is less traffic.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sapwood.protocol.broker import Broker
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.events import CostsGiven
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.sim.optimizing.network import CostedNetwork
from sapwood.sim.optimizing.setup import TICK_SECONDS

GAIN_MIN: Final = 1.0
"""What a change has to gain, by tick, at the printed traffic."""

NO_LIMIT: Final = 10**6


def adaptive_settings(traffic: float, **changes: Any) -> dict[str, Any]:
    """The defaults of the specification, for a part of the printed traffic; costs are missing."""
    settings: dict[str, Any] = {
        "period_seconds": 50 * TICK_SECONDS,
        "window_min_seconds": 50 * TICK_SECONDS,
        "window_max_seconds": 2000 * TICK_SECONDS,
        "probe_ttl_seconds": 2500 * TICK_SECONDS,
        "tell_seconds": 300 * TICK_SECONDS,
        "payback_seconds": float(NO_LIMIT),
        "gain_min": GAIN_MIN * traffic / TICK_SECONDS,
        "degree_max": 16,
        "changes_per_minute": float(NO_LIMIT),
        "changes_burst": NO_LIMIT,
        "costs": "given",
    }
    return {**settings, **changes}


def adaptive_broker(
    network: CostedNetwork,
    config: BrokerConfig,
    shared: dict[str, Any],
    settings: dict[str, Any],
    start_at: float,
) -> Broker:
    """A broker that only counts until it may change the tree, and then does."""
    name = config.id
    costs = given(network, name)
    assert costs.processing is not None
    observing = OptimizationSettings(
        mode="observe", link_costs=costs.links, processing_cost=costs.processing, **settings
    )
    broker = Broker(msgspec.structs.replace(config, optimization=observing), **shared)

    def start() -> None:
        changing = msgspec.structs.replace(observing, mode="on")
        broker.config = msgspec.structs.replace(broker.config, optimization=changing)

    network.kernel.at(start_at, start)
    network.told_of_prices.append(lambda: network.handle(name, given(network, name)))
    return broker


def given(network: CostedNetwork, name: str) -> CostsGiven:
    """What everything costs from now on, as a broker is told it."""
    links = tuple(
        (other, network.link_cost(name, other)) for other in network.prices.brokers if other != name
    )
    return CostsGiven(links, network.processing_cost(name))
