"""Broker processes with any links between them, over proxies where links are to fail.

And clients at them, which say what came.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import sapwood
from runtime.living import until
from runtime.proxy import Proxy
from sapwood.cli.topology import as_object
from sapwood.protocol.tree import Groups
from sapwood.runtime.admin.inspection import inspect
from sapwood.runtime.client import Bus
from sapwood.runtime.local.broker_process import BrokerProcess

NOWHERE = "sapwood://127.0.0.1:9"
"""An address under which nobody answers: for brokers that others cannot dial by hearsay."""


class Brokers(dict[str, BrokerProcess]):
    """Processes by their ids, and the proxies of the links that have one."""

    def __init__(self) -> None:
        super().__init__()
        self.proxies: dict[tuple[str, str], Proxy] = {}
        """By who dials, and who is dialled."""

    def part(self, *links: tuple[str, str]) -> None:
        """Cut links, and let nobody through."""
        for link in links:
            self.proxies[link].is_down = True
            self.proxies[link].cut()

    def heal(self, *links: tuple[str, str]) -> None:
        """Let everybody through again."""
        for link in links:
            self.proxies[link].is_down = False


def reserve(stack: AsyncExitStack) -> int:
    """A free port that nobody else is given until the end; whoever asks for reuse may listen."""
    reservation = stack.enter_context(socket.socket())
    reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reservation.bind(("127.0.0.1", 0))
    return int(reservation.getsockname()[1])


@asynccontextmanager
async def brokers(
    joins: Mapping[str, Sequence[str]],
    *,
    data: Path | None = None,
    config: Path | None = None,
    advertised: Sequence[str] = (),
    with_proxies: bool = False,
    delays: Callable[[], float] = lambda: 0.0,
    spread: Callable[[], float] = lambda: 0.0,
) -> AsyncIterator[Brokers]:
    """Processes that are started together, each with those it dials.

    Or one after the other, with so many seconds between two of them (`spread`); over proxies that
    hold everything for a time, drawn for each (`delays`).
    """
    async with AsyncExitStack() as stack:
        made = Brokers()
        ports = {name: reserve(stack) for name in joins}
        for name, others in joins.items():
            arguments = ["--join-seconds=0"]
            if with_proxies:
                arguments.append(f"--advertise={NOWHERE}")
            if name in advertised:
                arguments.append(f"--advertise=sapwood://127.0.0.1:{ports[name]}")
            if config is not None:
                arguments.append(f"--config={config}")
            if data is not None:
                arguments.append(f"--data={data / name}")
            for other in others:
                url = f"sapwood://127.0.0.1:{ports[other]}"
                if with_proxies:
                    proxy = await stack.enter_async_context(Proxy(ports[other]))
                    proxy.delay_seconds = delays()
                    made.proxies[name, other] = proxy
                    url = proxy.url
                arguments.append(f"--join={url}")
            made[name] = BrokerProcess(name, ports[name], reserve(stack), arguments)
        try:
            for one in made.values():
                one.launch()
                await pause(spread())
            for one in made.values():
                await asyncio.to_thread(one.wait_until_listening)
            yield made
        finally:
            for one in made.values():
                if one.is_running:
                    await asyncio.to_thread(one.kill)


class Reader:
    """A client at a broker: publishes, and keeps what it gets, by publisher and number."""

    def __init__(self, name: str, bus: Bus, subscription: sapwood.Subscription) -> None:
        self.name = name
        self.bus = bus
        self.sent = 0
        self.got: Counter[tuple[str, int]] = Counter()
        self.gaps: list[sapwood.Gap] = []
        self._task = asyncio.create_task(self._collect(subscription))

    async def _collect(self, subscription: sapwood.Subscription) -> None:
        async for item in subscription:
            if isinstance(item, sapwood.Gap):
                self.gaps.append(item)
            else:
                self.got[str(item["from"]), int(item["n"])] += 1

    async def publish(self) -> int:
        """Publish the next number, and return it."""
        self.sent += 1
        number = self.sent
        await self.bus.publish({"from": self.name, "n": number})
        return number

    async def stop(self) -> None:
        """Collect no more."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


@asynccontextmanager
async def readers(processes: Sequence[BrokerProcess]) -> AsyncIterator[dict[str, Reader]]:
    """A client at each of some brokers, which wants everything."""
    async with AsyncExitStack() as stack:
        made = {}
        for process in processes:
            bus = await stack.enter_async_context(sapwood.connect(process.url))
            subscription = await stack.enter_async_context(
                bus.subscribe("n >= 0", buffer=1_000_000)
            )
            made[process.id] = Reader(process.id, bus, subscription)
            stack.push_async_callback(made[process.id].stop)
        yield made


async def pause(seconds: float) -> None:
    """Let time pass between two looks, or two publications."""
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, passed.set)
    await passed.wait()


async def hear_each_other(clients: Sequence[Reader], seconds: float) -> float:
    """Publish until something of each came to each; how long that took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    first = {client.name: client.sent + 1 for client in clients}

    def deaf() -> list[str]:
        return [
            f"{reader.name} hears nothing of {name}"
            for reader in clients
            for name, since in first.items()
            if not any(one == name and number >= since for one, number in reader.got)
        ]

    while problems := deaf():
        assert loop.time() - began < seconds, f"after {seconds} s: {problems}"
        for client in clients:
            await client.publish()
        await pause(0.05)
    return loop.time() - began


async def exactly_once(clients: Sequence[Reader]) -> None:
    """What each publishes now comes once to each."""
    wanted = [(client.name, await client.publish()) for client in clients]
    for reader in clients:
        await until(lambda r=reader: all(r.got[one] for one in wanted), f"all at {reader.name}")  # type: ignore[misc]
    for client in clients:
        await client.bus.survey()  # what goes round would be ahead of the answer
    for reader in clients:
        assert {one: reader.got[one] for one in wanted} == dict.fromkeys(wanted, 1), reader.name


async def wait_for_tree(process: BrokerProcess, *names: str, seconds: float = 30.0) -> float:
    """Wait until these are one tree, with the first of them as its root; how long that took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        async with sapwood.connect(process.url) as bus:
            found = as_object(await inspect(bus, with_status=False))
        if is_tree(found, names):
            return loop.time() - began
        assert loop.time() - began < seconds, f"not within {seconds} s: {found}"


def is_tree(found: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Whether what `sapwood topology show --json` prints is one tree of these and nobody else."""
    groups = Groups(names)
    links = [link for link in found["links"] if set(link) <= set(names)]
    join: Callable[..., bool] = groups.join
    return (
        {one["id"] for one in found["brokers"]} == set(names)
        and {one["root"] for one in found["brokers"]} == {names[0]}
        and len(links) == len(names) - 1
        and all(join(*link) for link in links)
    )
