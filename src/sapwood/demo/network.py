"""The network of the demonstration: broker processes in a tree, with links that can be cut."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from sapwood.demo.proxy import Proxy
from sapwood.protocol.tree import Link, Topology
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.sim.topology import make_topology

RUN = "demo"
"""The name of the run in the trace."""


def tree(brokers: int) -> Topology:
    """The tree that the brokers form: the parent of Bi is B⌊i/2⌋."""
    return make_topology("tree", brokers, Random(0))


class DemoNetwork:
    """Brokers ``B1`` to ``BN``, each in a process of its own. Use it with ``async with``."""

    def __init__(self, brokers: int, directory: Path) -> None:
        self.topology = tree(brokers)
        self.trace_directory = directory / "trace"
        self._settings = directory / "broker.toml"
        self._proxies: dict[Link, Proxy] = {}
        self._processes: LocalNetwork | None = None

    @property
    def processes(self) -> LocalNetwork:
        """The processes, by the ids of the brokers."""
        assert self._processes is not None
        return self._processes

    async def __aenter__(self) -> Self:
        """Start everything; return when the brokers form one network."""
        where = json.dumps(str(self.trace_directory))  # TOML quotes texts in the same way
        self._settings.write_text(f'[trace]\nrun = "{RUN}"\ndirectory = {where}\n', "utf-8")
        try:
            for link in self.topology.links:
                proxy = self._proxies[link] = Proxy()
                await proxy.start()
            dials = {child: proxy.url for (_, child), proxy in self._proxies.items()}
            arguments = [f"--config={self._settings}"]
            self._processes = LocalNetwork(self.topology, arguments, dials=dials)
            for (parent, _), proxy in self._proxies.items():
                proxy.target_port = self._processes[parent].port
            await asyncio.to_thread(self._processes.start)
        except BaseException:
            await self._close()
            raise
        return self

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

    @property
    def leaf(self) -> str:
        """A broker at the edge of the tree: the last one."""
        return self.topology.brokers[-1]

    def cut(self, link: Link) -> int:
        """Break the connection of a link (parent, child); how many there were."""
        return self._proxies[link].cut()

    async def kill(self, broker: str) -> None:
        """End a broker as a crash would."""
        await asyncio.to_thread(self.processes[broker].kill)

    async def restart(self, broker: str) -> None:
        """Start a broker again; return when it is part of the network."""
        await asyncio.to_thread(self.processes[broker].start)
