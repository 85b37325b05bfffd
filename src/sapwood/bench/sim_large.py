"""A large simulated network, for its memory: part of `sapwood bench sim`.

A thousand brokers, a hundred thousand subscriptions in a thousand classes, each with a client of
its own. Run in a process of its own, so that the memory is that of this network.
"""

from __future__ import annotations

import time
from random import Random
from typing import Any

from sapwood.bench.measuring import most_resident_megabytes
from sapwood.routing.algorithms import peer_to_peer
from sapwood.sim.network import Network
from sapwood.sim.topology import random_tree

_BURST = 1000
"""Subscriptions issued at a time: what is under way would else be most of the memory."""


def measure(plan: dict[str, Any]) -> dict[str, Any]:
    """Let all subscriptions spread with an algorithm; what the network takes then."""
    random = Random(f"large {plan['seed']}")
    topology = random_tree(plan["brokers"], random)
    network = Network(Random(1))
    routing = peer_to_peer(topology.links, plan["algorithm"])
    for name in topology.brokers:
        network.add_broker(name)
    for left, right in topology.links:
        network.add_link(left, right, lambda random: 0.01, routing)
    begin = time.process_time()
    for number in range(plan["subscriptions"]):
        session = f"S{number}.1"
        network.connect(session, random.choice(topology.brokers))
        wanted = f"class = {random.randrange(plan['classes'])}"
        network.subscribe(session, wanted, wanted, settle=False)
        if number % _BURST == 0:
            network.kernel.run()
    network.kernel.run()
    return {
        "algorithm": plan["algorithm"],
        "entries": sum(len(broker.subscriptions) for broker in network.brokers.values()),
        "control_hops": sum(one.control.total() for one in network.directions.values()),
        "cpu_seconds": round(time.process_time() - begin, 1),
        "megabytes": round(most_resident_megabytes()),
    }
