"""Play the actions of a scenario on a live network: every broker a process, every client a bus."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from sapwood.filters.filter import Filter
from sapwood.runtime.client import Bus, Subscription, connect
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import Scenario
from sapwood.sim.workloads.action import Action, ActionKind
from sapwood.trace.schema import Row


class Pair(NamedTuple):
    """A notification and a client, each by the name and number of its session in the scenario."""

    publisher: str
    sequence: int
    client: str


class Script:
    """A scenario's actions under one seed, and which deliveries have to follow from them."""

    def __init__(self, scenario: Scenario) -> None:
        simulation = Simulation(scenario, check=False, digest=False)
        self.topology = simulation.topology
        workload = scenario.clients(self.topology)
        self.actions = list(workload.actions(simulation._random, scenario.duration))
        self._settle = scenario.settle

    def settled_pairs(self) -> set[Pair]:
        """Pairs whose subscription began well before the publication and ended well after it."""
        return {
            Pair(publisher, sequence, client)
            for publisher, sequence, published in self._publications()
            for client, filter, began, ended in self._subscriptions()
            if began + self._settle <= published.at
            and published.at + self._settle < ended
            and filter.matches(published.attributes or {})
        }

    def _publications(self) -> Iterator[tuple[str, int, Action]]:
        counts: dict[str, int] = {}
        for session, action in sessions(self.actions):
            if action.kind is ActionKind.PUBLISH:
                counts[session] = counts.get(session, 0) + 1
                yield session, counts[session], action

    def _subscriptions(self) -> Iterator[tuple[str, Filter, float, float]]:
        begun: dict[tuple[str, Filter], float] = {}
        for session, action in sessions(self.actions):
            if action.kind is ActionKind.SUBSCRIBE and action.filter is not None:
                begun.setdefault((session, action.filter), action.at)
            elif action.kind is ActionKind.UNSUBSCRIBE and action.filter is not None:
                yield session, action.filter, begun.pop((session, action.filter)), action.at
            elif action.kind is ActionKind.DISCONNECT:
                for key in [key for key in begun if key[0] == session]:
                    yield *key, begun.pop(key), action.at
        for (session, filter), at in begun.items():
            yield session, filter, at, float("inf")


def sessions(actions: Iterable[Action]) -> Iterator[tuple[str, Action]]:
    """Actions with the session they belong to, as the simulator counts them."""
    counts: dict[str, int] = {}
    for action in actions:
        if action.kind is ActionKind.CONNECT:
            counts[action.client] = counts.get(action.client, 0) + 1
        yield f"{action.client}.{counts[action.client]}", action


def deliveries(rows: Iterable[Row], names: dict[str, str] | None = None) -> set[Pair]:
    """What was delivered, by a trace; `names` has the scenario's names of live sessions."""
    found = set()
    for row in rows:
        if row.kind == "delivered":
            assert row.publisher is not None
            assert row.sequence is not None
            assert row.client is not None
            publisher, client = row.publisher, row.client
            if names is not None:
                publisher, client = names[publisher], names[client]
            found.add(Pair(publisher, row.sequence, client))
    return found


class Play:
    """Plays actions in their order, at their times; a subscription settles before the next one."""

    def __init__(self, script: Script, scale: float) -> None:
        self.names: dict[str, str] = {}
        """By live session: the session of the scenario."""
        self._script = script
        self._scale = scale
        self._buses: dict[str, Bus] = {}
        self._subscriptions: dict[tuple[str, Filter], Subscription] = {}
        self._stack = AsyncExitStack()
        self._network: LocalNetwork | None = None

    async def run(self, routing: str, trace: Path) -> None:
        """Play everything, and leave the trace."""
        arguments = [f"--routing={routing}", f"--trace={trace}"]
        async with LocalNetwork(self._script.topology, arguments) as network, self._stack:
            self._network = network
            loop = asyncio.get_running_loop()
            began = loop.time()
            waiting = deque(sessions(self._script.actions))
            while waiting:
                session, action = waiting.popleft()
                due = asyncio.Event()
                loop.call_at(began + action.at * self._scale, due.set)
                await due.wait()
                await self._perform(session, action)
            for bus in self._buses.values():
                await bus.flush()

    async def _perform(self, session: str, action: Action) -> None:
        assert self._network is not None
        kind = action.kind
        if kind is ActionKind.CONNECT:
            bus = connect(self._network[action.broker].url, id=action.client)
            self._buses[session] = await self._stack.enter_async_context(bus)
            self.names[bus.name] = session
            return
        bus = self._buses[session]
        if kind is ActionKind.PUBLISH:
            await bus.publish(action.attributes or {}, action.payload)
        elif kind is ActionKind.DISCONNECT:
            await self._buses.pop(session).close()
        else:
            assert action.filter is not None
            key = (session, action.filter)
            if kind is ActionKind.SUBSCRIBE:
                subscription = await bus.subscribe(action.filter, buffer=1_000_000).__aenter__()
                assert subscription.settled, subscription.reason
                self._subscriptions[key] = subscription
            else:
                await self._subscriptions.pop(key).close(settle=True)
