"""Scenarios over faithful links: the same actions, played by whole nodes and client sessions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final, cast

from sapwood.errors import ScenarioError
from sapwood.protocol.stabilize.settings import TreeSettings
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.network import Network
from sapwood.sim.run import Result, Simulation
from sapwood.sim.scenario import Scenario
from sapwood.trace.recorder import Sink
from sapwood.trace.schema import CLOCK

PERFECT, FAITHFUL = "perfect", "faithful"

ROOT_PRIORITY: Final = 0
"""That of the broker that is to be the root."""

FORM_SECONDS: Final = 600.0
"""Within so long all brokers are linked, and at the end everything is delivered."""


class FaithfulSimulation(Simulation):
    """One run of a scenario with one seed, over connections."""

    def _build(self) -> Network:
        scenario, topology = self.scenario, self.topology
        routing = scenario.routing
        if routing.edges:
            raise ScenarioError(
                "is 'faithful': nodes route peer to peer or along the tree, without exceptions; "
                "leave out routing.edges, or set links = 'perfect'",
                "links",
            )
        routing.build(topology)  # refuses a root that is none
        random = Random(self._random.getrandbits(64))
        network = FaithfulNetwork(
            random,
            config={
                "routing": routing.algorithm,
                "routing_variant": routing.variant,
                "advertisements_required": self.settings.advertisements_required,
                "advertisement_routing": routing.advertisement_algorithm,
            },
            record=None if self._recorder is None else self._record,
            delay=(0.0, 0.0),
        )
        if self._recorder is not None:
            self._recorder.now = lambda: network.kernel.now
        delays = scenario.delays(topology, self._random)
        scenario.check_settle(topology, delays)
        root = routing.root or topology.brokers[0]
        for name in topology.brokers:
            joins = [left for left, right in topology.links if right == name]
            priority = ROOT_PRIORITY if name == root else TreeSettings().priority
            network.add_broker(name, tuple(joins), tree=TreeSettings(priority=priority))
        for left, right in topology.links:
            for route in network.driver.both_routes(left, right):
                route.sample = delays.link(left, right).sample
        links = topology.links
        network.driver.run_until(
            lambda: all(network.is_joined(*one) for one in links), FORM_SECONDS
        )
        # It has the verbs and the counts of the other one, which is all a run asks for.
        return cast("Network", network)

    def _record(self, broker: str, session: int, at: float, kind: str, **fields: Any) -> None:
        assert self._recorder is not None
        self._recorder(broker, kind, **fields)

    @property
    def faithful(self) -> FaithfulNetwork:
        """The network."""
        return cast("FaithfulNetwork", self.network)

    def _finish(self) -> None:
        """Run until everything was delivered, and long enough for the checkers to judge it."""
        network = self.faithful
        network.driver.run(self.scenario.duration + 1.0)
        network.driver.run_until(network.is_idle, FORM_SECONDS)
        network.driver.run(2 * self.scenario.settle)
        if self._recorder is not None:
            for broker in network.nodes:
                self._recorder(broker, CLOCK)

    def _result(self) -> Result:
        clients = self.faithful.clients.values()
        self._delivered = sum(client.received.total() for client in clients)
        return super()._result()


def simulation(
    scenario: Scenario,
    seed: int | None = None,
    *,
    links: str | None = None,
    check: bool = True,
    digest: bool = True,
    sinks: Sequence[Sink] = (),
) -> Simulation:
    """A run of a scenario over the links it wants, or over others."""
    kind = FaithfulSimulation if (links or scenario.links) == FAITHFUL else Simulation
    return kind(scenario, seed, check=check, digest=digest, sinks=sinks)
