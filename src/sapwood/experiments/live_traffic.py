"""Clients that come, go and publish on a live network: every broker a process, every client a bus.

What they do is drawn beforehand, so that the same can be simulated, and done again by a network
that routes in another way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

from sapwood.protocol.tree import Topology
from sapwood.runtime.client import Bus, connect
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import Scenario
from sapwood.sim.workloads.action import Action, ActionKind
from sapwood.trace import read
from sapwood.trace.schema import FORWARDED, PUBLISHED


class Script(NamedTuple):
    """What clients do on a tree, in the order of time."""

    topology: Topology
    actions: list[Action]
    seconds: float


class Carried(NamedTuple):
    """What a trace shows."""

    published: int
    notifications: int
    """Links that notifications passed."""


def script_of(scenario: Scenario, seed: int) -> Script:
    """What clients do under a seed: just what they do in a simulation of it."""
    simulation = Simulation(scenario, seed, check=False, digest=False)
    return Script(simulation.topology, list(simulation.actions()), scenario.duration)


def play(script: Script, routing: str, trace: Path) -> Carried:
    """Have a network of processes do it, and say what it carried."""
    asyncio.run(_Play(script).run(routing, trace))
    return carried(trace, script.topology)


def carried(trace: Path, topology: Topology) -> Carried:
    """What the brokers of a trace sent each other."""
    brokers = set(topology.brokers)
    published = notifications = 0
    for row in read(trace):
        published += row.kind == PUBLISHED
        notifications += row.kind == FORWARDED and row.target in brokers
    return Carried(published, notifications)


class _Play:
    """One performance: actions one after the other, none before its time."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.buses: dict[str, Bus] = {}
        self.subscriptions: dict[str, Any] = {}
        self.stack = AsyncExitStack()

    async def run(self, routing: str, trace: Path) -> None:
        """Everything, and leave the trace."""
        arguments = [f"--routing={routing}", f"--trace={trace}"]
        async with LocalNetwork(self.script.topology, arguments) as network, self.stack:
            urls = {name: broker.url for name, broker in network.items()}
            loop = asyncio.get_running_loop()
            began = loop.time()
            for action in self.script.actions:
                due = asyncio.Event()
                loop.call_at(began + action.at, due.set)
                await due.wait()
                await self._perform(action, urls)
            for bus in self.buses.values():
                await bus.flush()

    async def _perform(self, action: Action, urls: Mapping[str, str]) -> None:
        client = action.client
        if action.kind is ActionKind.CONNECT:
            bus = connect(urls[action.broker], id=client)
            self.buses[client] = await self.stack.enter_async_context(bus)
        elif action.kind is ActionKind.PUBLISH:
            await self.buses[client].publish(action.attributes or {}, action.payload)
        elif action.kind is ActionKind.SUBSCRIBE:
            assert action.filter is not None
            wanted = self.buses[client].subscribe(action.filter, buffer=1_000_000)
            self.subscriptions[client] = await wanted.__aenter__()
        elif action.kind is ActionKind.UNSUBSCRIBE:
            await self.subscriptions.pop(client).close(settle=True)
        elif action.kind is ActionKind.DISCONNECT:
            await self.buses.pop(client).close()
