"""Broker processes with more links than a tree: one copy for everybody, and hubs that are lost."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest

import sapwood
from runtime.living import until
from sapwood.cli.topology import as_object
from sapwood.protocol.tree import Groups
from sapwood.runtime.admin.inspection import inspect
from sapwood.runtime.client import Bus
from sapwood.runtime.local.broker_process import BrokerProcess

HEAL_SECONDS = 15.0
"""In which sites deliver to each other again when a hub is lost, with default settings."""


class Reader:
    """A client at a broker: keeps what it gets, and publishes."""

    def __init__(self, bus: Bus, subscription: sapwood.Subscription) -> None:
        self.bus = bus
        self.got: list[int] = []
        self.gaps = 0
        self._task = asyncio.create_task(self._collect(subscription))

    async def _collect(self, subscription: sapwood.Subscription) -> None:
        async for item in subscription:
            if isinstance(item, sapwood.Gap):
                self.gaps += 1
            else:
                self.got.append(int(item["n"]))

    async def stop(self) -> None:
        """Collect no more."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


def free_ports(count: int) -> list[int]:
    """Ports that are free, and that nobody is given by chance while all are looked for."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


@asynccontextmanager
async def brokers(joins: Mapping[str, Sequence[str]]) -> AsyncIterator[dict[str, BrokerProcess]]:
    """Processes that are started together, each with those it dials."""
    ports = dict(zip(joins, free_ports(len(joins)), strict=True))
    admin = dict(zip(joins, free_ports(len(joins)), strict=True))
    made = {
        name: BrokerProcess(
            name,
            ports[name],
            admin[name],
            ["--join-seconds=0", *(f"--join=sapwood://127.0.0.1:{ports[one]}" for one in others)],
        )
        for name, others in joins.items()
    }
    try:
        for one in made.values():
            one.launch()
        for one in made.values():
            await asyncio.to_thread(one.wait_until_listening)
        yield made
    finally:
        for one in made.values():
            if one.is_running:
                await asyncio.to_thread(one.kill)


@asynccontextmanager
async def readers(processes: Sequence[BrokerProcess]) -> AsyncIterator[dict[str, Reader]]:
    """A client at each of some brokers."""
    async with AsyncExitStack() as stack:
        made = {}
        for process in processes:
            bus = await stack.enter_async_context(sapwood.connect(process.url))
            subscription = await stack.enter_async_context(bus.subscribe("n >= 0"))
            made[process.id] = Reader(bus, subscription)
            stack.push_async_callback(made[process.id].stop)
        yield made


async def topology(process: BrokerProcess) -> dict[str, Any]:
    """What `sapwood topology show --json` prints."""
    async with sapwood.connect(process.url) as bus:
        return as_object(await inspect(bus, with_status=False))


async def wait_for_tree(
    process: BrokerProcess, is_right: Callable[[dict[str, Any]], bool], seconds: float = 20.0
) -> dict[str, Any]:
    """The network as it is shown, when it is as wanted."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        found = await topology(process)
        if is_right(found):
            return found
        assert loop.time() < deadline, f"not within {seconds} s: {found}"


def is_one_tree(*names: str) -> Callable[[dict[str, Any]], bool]:
    """Whether these are one tree with the first of them as its root, and nobody else is in it."""

    def check(found: dict[str, Any]) -> bool:
        groups = Groups(names)
        links = [link for link in found["links"] if set(link) <= set(names)]
        return (
            {one["id"] for one in found["brokers"]} == set(names)
            and {one["root"] for one in found["brokers"]} == {min(names)}
            and len(links) == len(names) - 1
            and all(groups.join(*link) for link in links)
        )

    return check


def is_ring_with_one_link_standing_by(*names: str) -> Callable[[dict[str, Any]], bool]:
    """Whether these are one tree, and both ends hold the link that closes the ring ready.

    That link may be dialled anew after the tree is right: a crossing dial takes its place.
    """
    is_tree = is_one_tree(*names)

    def check(found: dict[str, Any]) -> bool:
        candidates = sum(len(one["candidates"]) for one in found["brokers"])
        return (
            is_tree(found) and candidates == 2 and not any(one["away"] for one in found["brokers"])
        )

    return check


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 5])
def test_a_ring_delivers_everything_once(count: int) -> None:
    async def run() -> None:
        names = [f"B{number}" for number in range(1, count + 1)]
        joins = {name: [names[(number + 1) % count]] for number, name in enumerate(names)}
        async with brokers(joins) as processes:
            found = await wait_for_tree(processes["B1"], is_ring_with_one_link_standing_by(*names))
            parents = {one["id"]: one["parent"] for one in found["brokers"]}
            assert parents["B1"] == ""
            assert all(parents[name] in names for name in names[1:])
            async with readers(list(processes.values())) as clients:
                for number, client in enumerate(clients.values()):
                    await client.bus.publish({"n": number})
                wanted = list(range(count))
                for name, client in clients.items():
                    await until(
                        lambda client=client: len(client.got) >= count,  # type: ignore[misc]
                        f"all of them at {name}",
                    )
                for client in clients.values():
                    await client.bus.survey()  # what goes round would be ahead of the answer
                assert {name: sorted(one.got) for name, one in clients.items()} == dict.fromkeys(
                    names, wanted
                )

    asyncio.run(run())


@pytest.mark.slow
def test_sites_find_each_other_again_when_their_hub_is_lost_for_good() -> None:
    async def run() -> None:
        joins: dict[str, Sequence[str]] = {"H1": [], "H2": ["H1"]}
        sites = ["S1", "S2", "S3"]
        joins |= {name: ["H1", "H2"] for name in sites}
        loop = asyncio.get_running_loop()
        async with brokers(joins) as processes:
            await wait_for_tree(processes["S1"], is_one_tree(*joins))
            async with readers([processes[name] for name in sites]) as clients:
                await asyncio.to_thread(processes["H1"].kill)
                lost_at = loop.time()
                sent = 0
                while not all(
                    any(n % 3 == other for n in one.got)
                    for number, one in enumerate(clients.values())
                    for other in range(3)
                    if other != number
                ):
                    assert loop.time() - lost_at < HEAL_SECONDS, "sites do not hear each other"
                    for number, client in enumerate(clients.values()):
                        await client.bus.publish({"n": sent * 3 + number})
                    sent += 1
                    pause = asyncio.Event()
                    loop.call_later(0.05, pause.set)
                    await pause.wait()
                await until(
                    lambda: all(client.gaps for client in clients.values()), "a gap for everybody"
                )
                found = await wait_for_tree(processes["S1"], is_one_tree("H2", *sites))
                away = {other for one in found["brokers"] for other in one["away"]}
                assert away == {"H1"}

    asyncio.run(run())
