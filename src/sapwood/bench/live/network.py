"""Broker processes for changes under load: any two can be linked, over links as long as wanted.

Every broker advertises where it can be dialled. With long links that is a proxy of its own, which
every connection of another broker to it passes, and each byte takes its time there, in both
directions. Clients dial the broker itself, so their own way is short; only one that had to move
goes on over the advertised address.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Final, Self

from sapwood.runtime.local.broker_process import BrokerProcess
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.runtime.local.proxy import Proxy
from sapwood.sim.topology import random_tree

RUN: Final = "live"
"""The name of the run in the trace."""


class LiveNetwork:
    """Brokers in a random tree, with traces. Use it with ``async with``."""

    def __init__(self, brokers: int, folder: Path, seed: int, delay_seconds: float = 0.0) -> None:
        self.topology = random_tree(brokers, Random(seed))
        self.trace = folder / "trace"
        self._folder = folder
        self._delay_seconds = delay_seconds
        self._proxies: dict[str, Proxy] = {}
        self._processes: LocalNetwork | None = None

    @property
    def processes(self) -> LocalNetwork:
        """The processes, by the ids of the brokers."""
        assert self._processes is not None
        return self._processes

    def __getitem__(self, broker: str) -> BrokerProcess:
        return self.processes[broker]

    @property
    def urls(self) -> dict[str, str]:
        """Where clients dial each broker."""
        return {name: one.url for name, one in self.processes.items()}

    @property
    def pids(self) -> list[int]:
        """The processes of all brokers."""
        return [one.pid for one in self.processes.values()]

    async def __aenter__(self) -> Self:
        """Start everything; return when the brokers are one network."""
        if self._delay_seconds:
            for name in self.topology.brokers:
                self._proxies[name] = Proxy(self._delay_seconds)
                await self._proxies[name].start()
        addresses = {name: proxy.url for name, proxy in self._proxies.items()}
        first, *_ = self.topology.brokers
        dialled = {first: self.topology.neighbours(first)[0], **self.topology.parents(first)}
        self._processes = LocalNetwork(
            self.topology,
            [f"--trace={self.trace}"],
            dials={name: addresses[up] for name, up in dialled.items() if up in addresses},
            first_dials=True,
            data=self._folder / "data",
            advertises=True,
            advertised=addresses,
        )
        for name, proxy in self._proxies.items():
            proxy.target_port = self._processes[name].port
        try:
            await asyncio.to_thread(self._processes.start)
        except BaseException:
            await self._stop_proxies()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.processes.stop)
        await self._stop_proxies()

    async def _stop_proxies(self) -> None:
        for proxy in self._proxies.values():
            await proxy.stop()

    async def ended(self, broker: str) -> int:
        """Wait until a process has ended by itself; its exit status."""
        return await asyncio.to_thread(self[broker].wait)

    async def restart(self, broker: str) -> None:
        """Start a process that has ended; return when it is part of the network again."""
        await asyncio.to_thread(self[broker].start)
