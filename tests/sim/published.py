"""Networks of published schemes with clients that renew at times a test chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from sapwood.filters.filter import Filter
from sapwood.protocol.clients import SUBSCRIBED
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.stabilize.published.broker import PublishedBroker
from sapwood.protocol.stabilize.published.leases import Key, Lease
from sapwood.protocol.stabilize.published.memory import Memory, Remembered
from sapwood.protocol.stabilize.published.schemes import SCHEMES
from sapwood.protocol.stabilize.published.settings import SchemeSettings
from sapwood.protocol.tree import Topology
from sapwood.routing.algorithms import peer_to_peer
from sapwood.sim.network import Network
from sapwood.sim.recovery import Declared, RecoveryWatch
from sapwood.sim.topology import make_topology

Delay = Callable[[Random], float]


class Leased:
    """A network whose clients are added, renew and stop by hand."""

    def __init__(
        self,
        scheme: str,
        brokers: int,
        lease: float,
        *,
        shape: str = "chain",
        delay: Delay = lambda random: 0.0,
        phases: Sequence[float] | None = None,
        algorithm: str = "identity",
    ) -> None:
        self.topology: Topology = make_topology(shape, brokers, Random(1))
        names = self.topology.brokers
        share = dict(zip(names, phases or [1.0] * len(names), strict=True))

        def make(config: BrokerConfig, **shared: object) -> PublishedBroker:
            settings = SchemeSettings(
                scheme=scheme, lease_period=lease, phase=share[config.id], root=names[0]
            )
            return PublishedBroker(config, settings, **shared)

        self.network = Network(Random(2), make_broker=make)
        routing = peer_to_peer(self.topology.links, SCHEMES[scheme].algorithm or algorithm)
        self.network.build_tree(list(self.topology.links), delay, routing)
        self.kernel = self.network.kernel
        self.watch = RecoveryWatch(self.network.brokers, self.topology, lambda: self.kernel.now)
        self.received: list[tuple[str, bytes]] = []
        self.network.deliveries = lambda session, data: self.received.append((session, data))
        self._stopped: set[str] = set()

    def client(self, name: str, broker: str) -> None:
        """A client comes."""
        self.network.connect(name, broker)

    def subscribe(
        self, name: str, text: str, refresh: float, *, first: float = 0.0, lease: float = 0.0
    ) -> None:
        """A client subscribes, and renews that every refresh period, the first time as said."""
        broker = self.network.clients[name].broker
        declared = Declared(name, broker, SUBSCRIBED, Filter(text))
        self.watch.expectation.change(declared, required=1, allowed=1)
        self.network.subscribe(name, text, text, False, lease)
        self.kernel.at(
            self.kernel.now + (first or refresh), self._renew, name, text, refresh, lease
        )

    def _renew(self, name: str, text: str, refresh: float, lease: float) -> None:
        if name not in self._stopped:
            self.network.subscribe(name, text, text, False, lease)
            self.kernel.at(self.kernel.now + refresh, self._renew, name, text, refresh, lease)

    def crash(self, name: str, text: str) -> None:
        """A client says nothing any more; nobody notices."""
        self._stopped.add(name)
        declared = Declared(name, self.network.clients[name].broker, SUBSCRIBED, Filter(text))
        self.watch.expectation.change(declared, required=-1, allowed=-1)

    def run(self, until: float) -> None:
        """Go on."""
        self.kernel.run(until)

    def problems(self) -> list[str]:
        """What is wrong with the tables."""
        return self.watch.problems()

    def broker(self, name: str) -> PublishedBroker:
        """One of the brokers."""
        broker = self.network.brokers[name]
        assert isinstance(broker, PublishedBroker)
        return broker

    def expired(self) -> int:
        """Entries that were not renewed in time, everywhere."""
        return sum(self.broker(name).published.report()["expired"] for name in self.network.brokers)

    def put(self, name: str, entries: dict[str, str], *, flag: bool = True) -> None:
        """Let the table of a broker hold these filters, by destination, and nothing else."""
        broker = self.broker(name)
        before = broker.published.remember()
        lease = Lease(flag=flag, renewed_at=self.kernel.now)
        remembered = tuple(
            Remembered(Key(SUBSCRIBED, destination, Filter(text).id), text, lease)
            for destination, text in entries.items()
        )
        broker.published.recall(Memory(entries=remembered, clock=before.clock))
