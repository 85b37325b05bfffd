"""The network of the demonstration: broker processes in a tree, with second ways beside it.

Every link goes through a proxy of its own, so it can be cut. Second ways are closed at first: the
brokers that dial them try again and again, and form the tree without them. So it is known what
the tree is before a circle is offered.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from sapwood.demo.settings import RUN, settings_text
from sapwood.demo.watching import look
from sapwood.errors import DemoError
from sapwood.protocol.reconfigure.asking import TreeChangeEnded, Wish
from sapwood.protocol.tree import Link, Topology
from sapwood.runtime.client import connect
from sapwood.runtime.client.options import DEFAULT_NETWORK
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.runtime.local.proxy import Proxy
from sapwood.sim.topology import make_topology
from sapwood.trace import Row, TraceWriter
from sapwood.trace.schema import TRACE_GAP

_START_SECONDS = 180.0
_ANSWER_SECONDS = 10.0


def tree(brokers: int) -> Topology:
    """The tree that the brokers form: the parent of Bi is B⌊i/2⌋."""
    return make_topology("tree", brokers, Random(0))


def second_ways(brokers: int) -> tuple[Link, ...]:
    """Links beside the tree: from each broker to the sibling of its parent, B3 to B2.

    Whoever is lost, those below it have another way.

    >>> second_ways(5)
    (('B2', 'B3'), ('B3', 'B4'), ('B3', 'B5'))
    """
    above = {number: (number // 2) ^ 1 for number in range(4, brokers + 1)}
    if brokers >= 3:
        above[3] = 2
    return tuple((f"B{above[number]}", f"B{number}") for number in sorted(above))


class DemoNetwork:
    """Brokers ``B1`` to ``BN``, each in a process of its own. Use it with ``async with``."""

    def __init__(self, brokers: int, directory: Path) -> None:
        self.topology = tree(brokers)
        self.second_ways = second_ways(brokers)
        self.trace_directory = directory / "trace"
        self._settings = directory / "broker.toml"
        self._proxies: dict[Link, Proxy] = {}
        self._processes: LocalNetwork | None = None
        self._killed: dict[str, tuple[int, float]] = {}
        """Brokers that are gone for good: their sessions, and when they ended."""

    @property
    def processes(self) -> LocalNetwork:
        """The processes, by the ids of the brokers."""
        assert self._processes is not None
        return self._processes

    async def __aenter__(self) -> Self:
        """Start everything; return when the brokers form the tree."""
        self._settings.write_text(settings_text(self.trace_directory), "utf-8")
        try:
            for link in (*self.topology.links, *self.second_ways):
                proxy = self._proxies[link] = Proxy()
                proxy.is_open = link not in self.second_ways
                await proxy.start()
            self._processes = LocalNetwork(
                self.topology,
                [f"--config={self._settings}"],
                dials={child: self._proxies[parent, child].url for parent, child in self._tree},
                dials_too={
                    child: [self._proxies[above, child].url] for above, child in self.second_ways
                },
            )
            for (parent, _), proxy in self._proxies.items():
                proxy.target_port = self._processes[parent].port
            await asyncio.to_thread(self._launch)
            await self._until_tree()
        except BaseException:
            await self._close()
            raise
        return self

    @property
    def _tree(self) -> tuple[Link, ...]:
        return self.topology.links

    def _launch(self) -> None:
        """Start the processes; the first one goes ahead, if something has to be compiled."""
        first, *others = self.processes.values()
        first.launch()
        first.wait_until_listening()
        for broker in others:
            broker.launch()
        for broker in others:
            broker.wait_until_listening()

    async def _until_tree(self) -> None:
        wanted = {(parent, child) for parent, child in self._tree}
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            view = await look(self.processes)
            if view.is_tree and set(view.links) == wanted:
                return
            if self.processes.died:
                broker = self.processes.died[0]
                raise DemoError(f"broker {broker.id} has ended; it said: {broker.last_words}")
            await asyncio.sleep(0.1)
        raise DemoError(f"the brokers form no tree within {_START_SECONDS:.0f} s; is it too busy?")

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        if self._processes is not None:
            await asyncio.to_thread(self._processes.stop)
        for proxy in self._proxies.values():
            await proxy.stop()
        for broker, (session, at) in self._killed.items():
            record_end(self.trace_directory, broker, session, at)

    def servers(self, broker: str) -> tuple[str, str]:
        """Where the clients of a broker connect: to itself, or to a neighbour if it is gone."""
        (other, *_) = self.topology.neighbours(broker)
        return self.processes[broker].url, self.processes[other].url

    async def change_tree(self, wish: Wish, links: Sequence[Link]) -> TreeChangeEnded:
        """Let the tree be changed, as `sapwood topology` does."""
        async with connect(self.processes["B1"].url, id="operator", network=DEFAULT_NETWORK) as bus:
            return await bus.change_tree(wish, links)

    # Faults

    def cut(self, link: Link) -> int:
        """Break the connection of a link and let no other through; how many there were."""
        return self._proxies[link].close()

    def restore(self, link: Link) -> None:
        """Let connections of a link through."""
        self._proxies[link].open()

    async def kill(self, broker: str) -> None:
        """End a broker as a crash would; it does not come back."""
        process = self.processes[broker]
        session = (await asyncio.to_thread(process.status))["session"]
        await asyncio.to_thread(process.kill)
        self._killed[broker] = (session, time.time())

    async def spoil(self, broker: str, asked: Mapping[str, str]) -> list[str]:
        """Corrupt the state of a broker by its admin endpoint; what was done."""
        url = f"{self.processes[broker].admin_url}/faults?{urlencode(asked)}"
        return await asyncio.to_thread(_post, url)


def _post(url: str) -> list[str]:
    request = Request(url, method="POST")  # noqa: S310 - http, to our own process
    with urlopen(request, timeout=_ANSWER_SECONDS) as answer:  # noqa: S310 - the same
        found: dict[str, Any] = json.load(answer)
    return list(found["done"])


def record_end(directory: Path, broker: str, session: int, at: float) -> None:
    """Record in the trace that a broker is gone for good, as its next session would have.

    What it did in its last moments was not written any more.
    """
    later = session + 1
    with TraceWriter(directory, RUN, broker, later) as writer:
        if writer.interrupted:
            writer.write(Row(run=RUN, broker=broker, session=later, step=1, at=at, kind=TRACE_GAP))
