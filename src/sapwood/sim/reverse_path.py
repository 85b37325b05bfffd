"""Reverse path forwarding: an overlay with cycles, under the generic wrapper (Jaeger 2007, 3.4.4).

Every broker knows, for each other one, the next broker on the shortest path to it. What is
published at a broker goes along the shortest paths to it, the other way round: a broker takes it
from that next broker only, and hands it on to those whose next broker it is itself. So the overlay
is one tree for each broker at which something is published, and on each of these trees the routing
algorithms are those of trees without cycles: subscriptions travel towards its root. Hence the
wrapper can be used as it is, on each tree by itself; its root is the one that says *switch*.

Here a broker is the sum of its parts in all trees; what is sent over a link belongs to one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from sapwood.errors import TopologyError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.clients import SUBSCRIBED
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.stabilize.published.broker import PublishedBroker
from sapwood.protocol.stabilize.published.settings import SchemeSettings
from sapwood.protocol.tree import Topology
from sapwood.routing.algorithms import hierarchical
from sapwood.sim.kernel import Kernel
from sapwood.sim.network import Delay, Network
from sapwood.sim.recovery import Declared, RecoveryWatch

Links = Sequence[tuple[str, str]]


def next_brokers(links: Links, root: str) -> dict[str, str]:
    """By broker: the next one on its shortest path to a root; of several the first by name.

    >>> next_brokers([("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")], "A")
    {'B': 'A', 'D': 'A', 'C': 'B'}
    """
    around: dict[str, set[str]] = {}
    for a, b in links:
        around.setdefault(a, set()).add(b)
        around.setdefault(b, set()).add(a)
    if root not in around:
        raise TopologyError(f"{root!r} has no link; give it one, or leave it out")
    found: dict[str, str] = {}
    ahead = [root]
    while ahead:
        following = [
            (other, name)
            for name in sorted(ahead)
            for other in sorted(around[name])
            if other != root and other not in found
        ]
        ahead = []
        for other, name in following:
            if other not in found:
                found[other] = name
                ahead.append(other)
    return found


class ReversePaths:
    """An overlay of brokers whose tables are built anew every so often, and their clients."""

    def __init__(
        self, links: Links, *, period: float, refresh: float, delay: Delay, algorithm: str
    ) -> None:
        self.kernel = Kernel()
        self.trees: dict[str, Network] = {}
        """By the broker at which something is published."""
        self.watches: dict[str, RecoveryWatch] = {}
        self.received: list[tuple[str, bytes]] = []
        """Client and frame, as they came."""
        self.distance = 0
        """Links on the longest of the shortest paths."""
        self._refresh = refresh
        for root in sorted({name for link in links for name in link}):
            self._add_tree(root, links, period, delay, algorithm)

    def _add_tree(
        self, root: str, links: Links, period: float, delay: Delay, algorithm: str
    ) -> None:
        def make(config: BrokerConfig, **shared: object) -> PublishedBroker:
            settings = SchemeSettings(scheme="rebuild", lease_period=period, phase=1.0, root=root)
            return PublishedBroker(config, settings, **shared)

        edges = [(above, below) for below, above in next_brokers(links, root).items()]
        network = self.trees[root] = Network(Random(root), make_broker=make)
        network.kernel = self.kernel
        network.build_tree(edges, delay, hierarchical(edges, algorithm, root))
        network.deliveries = lambda session, data: self.received.append((session, data))
        topology = Topology(tuple(network.brokers), tuple(edges))
        self.distance = max(self.distance, topology.height(root))
        self.watches[root] = RecoveryWatch(network.brokers, topology, lambda: self.kernel.now)

    # Clients

    def connect(self, client: str, broker: str) -> None:
        """A client comes to a broker: to its part in every tree."""
        for network in self.trees.values():
            network.connect(client, broker)

    def subscribe(self, client: str, text: str, first: float) -> None:
        """A client subscribes, and renews that every refresh period, the first time as said."""
        for root, network in self.trees.items():
            broker = network.clients[client].broker
            declared = Declared(client, broker, SUBSCRIBED, Filter(text))
            self.watches[root].expectation.change(declared, required=1, allowed=1)
        self._say(client, text)
        self.kernel.at(self.kernel.now + first, self._renew, client, text)

    def _say(self, client: str, text: str) -> None:
        for network in self.trees.values():
            network.subscribe(client, text, text, False)

    def _renew(self, client: str, text: str) -> None:
        self._say(client, text)
        self.kernel.at(self.kernel.now + self._refresh, self._renew, client, text)

    def publish(self, client: str, attributes: Mapping[str, Value]) -> None:
        """A client publishes: in the tree of its broker, and in no other."""
        home = next(iter(self.trees.values())).clients[client].broker
        self.trees[home].publish(client, attributes)

    # Looking

    def problems(self) -> list[str]:
        """What is wrong with the tables of any tree."""
        return [
            f"tree of {root}: {one}"
            for root, watch in self.watches.items()
            for one in watch.problems()
        ]
