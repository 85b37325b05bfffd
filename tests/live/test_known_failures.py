"""Failures of widely used systems, as they were reported there: none of them happens here.

Real processes on loopback, default settings. What was reported is in the docstrings, with the
numbers of the reports.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

import sapwood
from live.redundant import (
    Reader,
    brokers,
    exactly_once,
    hear_each_other,
    pause,
    readers,
    wait_for_tree,
)
from runtime.living import until
from sapwood.analysis.stabilization import Periods, bounds, network_of
from sapwood.runtime.client import Delivered

pytestmark = pytest.mark.slow

CHAIN = {"B1": (), "B2": ("B1",), "B3": ("B2",)}
START_SECONDS = 10.0
"""A process takes so long to start on a busy machine, before it can do anything."""


def bound(brokers: int) -> float:
    """Seconds after which a network of processes on this machine is right, whatever was lost."""
    return bounds(network_of(brokers, delay_max=0.05), Periods()).total + START_SECONDS


def live(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


async def following(subscription: sapwood.Subscription) -> Delivered:
    """The next notification; what is said to be missing from before is not looked at."""
    async with asyncio.timeout(30):
        while isinstance(item := await subscription.get(), sapwood.Gap):
            pass
    return item


@pytest.mark.timeout(240)
@pytest.mark.parametrize("keeps_data", [False, True], ids=["anew", "with its data"])
@pytest.mark.parametrize("restarted", ["B1", "B2", "B3"])
def test_interest_is_restored_after_a_broker_of_a_chain_restarts(
    restarted: str, keeps_data: bool, tmp_path: Path
) -> None:
    """NATS server 2448, 8339: interest is not restored when a server of a chain restarts.

    There, with three servers chained as leaf nodes, a client at one end subscribes and the server
    at the other end restarts: what is published there never arrives, until the server between them
    restarts, too. Here whichever broker restarts, everybody hears everybody again, what was ended
    meanwhile stays ended, and what was asked for meanwhile is in effect.
    """

    async def scenario() -> None:
        async with brokers(CHAIN, data=tmp_path if keeps_data else None) as net:
            await wait_for_tree(net["B1"], *CHAIN)
            async with readers(list(net.values())) as clients:
                everybody = list(clients.values())
                await hear_each_other(everybody, bound(3))
                other = clients["B3" if restarted == "B1" else "B1"].bus
                ended = other.subscribe("from = 'nobody' and n = 1")
                await ended.__aenter__()
                await asyncio.to_thread(net[restarted].kill)
                await ended.close(settle=False)
                asked = other.subscribe("late = true")
                asking = asyncio.create_task(asked.__aenter__())
                await asyncio.to_thread(net[restarted].launch)
                await hear_each_other(everybody, bound(3))
                await asking
                await wait_for_tree(net["B1"], *CHAIN)
                await exactly_once(everybody)
                for client in everybody:
                    await client.bus.publish({"late": True, "by": client.name})
                assert {(await following(asked))["by"] for _ in everybody} == set(clients)

    live(scenario())


@pytest.mark.timeout(240)
def test_subscriptions_are_restored_after_connections_are_reset() -> None:
    """NATS server 3515: leaf nodes lose subscriptions when a connection is reset.

    There some subscriptions work no longer after a leaf node has connected again, until it is
    restarted. Here a link is reset many times at any byte while a client subscribes and
    unsubscribes: in the end exactly what it wants is delivered.
    """

    async def scenario() -> None:
        chance = random.Random(3515)
        async with brokers(CHAIN, with_proxies=True) as net:
            await wait_for_tree(net["B1"], *CHAIN)
            proxy = net.proxies["B3", "B2"]
            async with (
                sapwood.connect(net["B3"].url) as reader,
                sapwood.connect(net["B1"].url) as writer,
            ):
                held: dict[int, sapwood.Subscription] = {}
                for number in range(40):
                    held[number] = reader.subscribe(f"n = {number}")
                    opening = asyncio.create_task(held[number].__aenter__())
                    if number % 2:
                        proxy.cut()
                        before = proxy.connections
                        await until(lambda b=before: proxy.connections > b, "dialled again")  # type: ignore[misc]
                    await opening
                    if chance.random() < 0.3:
                        await held.pop(chance.choice(list(held))).close(settle=True)
                while (await reader.survey()).unreachable:
                    pass  # a survey is behind what was asked for: now that is everywhere
                for number in range(40):
                    await writer.publish({"n": number})
                await writer.flush()
                for number, subscription in held.items():
                    try:
                        assert (await following(subscription))["n"] == number
                    except TimeoutError:
                        pytest.fail(f"{number} does not come: {subscription.reason or 'settled'}")

    live(scenario())


MESH = {"B1": (), "B2": ("B1",), "B3": ("B1", "B2"), "B4": ("B1", "B2", "B3")}


@pytest.mark.timeout(240)
def test_redundant_links_make_no_duplicates_and_no_loops() -> None:
    """Bridges between MQTT brokers, and routes of others, loop where links are redundant.

    There a message that two bridges pass on goes round for ever, and topics or hop counts have to
    be configured against it. Here four brokers that are all linked with each other are started
    together, under load: never more than ten copies of anything, exactly one once there is a tree,
    also after a link of it was lost and restored.
    """

    async def scenario() -> None:
        async with brokers(MESH, with_proxies=True) as net, readers(list(net.values())) as clients:
            everybody = list(clients.values())
            await hear_each_other(everybody, bound(4))
            await wait_for_tree(net["B1"], *MESH)
            await exactly_once(everybody)
            for link in net.proxies:
                net.part(link)
                await hear_each_other(everybody, bound(4))
                net.heal(link)
                await hear_each_other(everybody, bound(4))
            await wait_for_tree(net["B1"], *MESH)
            await exactly_once(everybody)
            for reader in everybody:
                assert max(reader.got.values()) <= 10

    live(scenario())


@pytest.mark.timeout(240)
@pytest.mark.parametrize("how", ["cut", "frozen"])
def test_nothing_is_missing_after_a_link_was_down(how: str) -> None:
    """Mosquitto 3011, 3400: data is missing after a bridge has connected again.

    There the first seconds of what was published while a bridge was down do not arrive, though what
    came later is kept and does. Half-open connections are the worst: the bridge takes them for
    alive. Here everything within the buffer arrives, once and in order, and no gap is reported.
    """

    async def scenario() -> None:
        async with brokers({"B1": (), "B2": ("B1",)}, with_proxies=True) as net:
            await wait_for_tree(net["B1"], "B1", "B2")
            proxy = net.proxies["B2", "B1"]
            async with readers(list(net.values())) as clients:
                writer, reader = clients["B2"], clients["B1"]
                await hear_each_other([writer, reader], bound(2))
                first = writer.sent + 1
                for number in range(4000):
                    if number == 1000:
                        if how == "cut":
                            net.part(("B2", "B1"))
                        else:
                            proxy.freeze()
                    await writer.publish()
                    if number % 10 == 0:
                        await pause(0.02)  # the outage lasts for some seconds
                    if number == 3500:
                        proxy.cut()
                        proxy.thaw()
                        net.heal(("B2", "B1"))
                wanted = [("B2", number) for number in range(first, first + 4000)]
                await until(lambda: reader.got[wanted[-1]] > 0, "the last one", seconds=60)
                assert [one for one in wanted if reader.got[one] != 1] == []
                came = [one for one in reader.got if one[0] == "B2" and one[1] >= first]
                assert came == wanted, "in order"
                assert reader.gaps == []

    live(scenario())


HUBS = {"B1": (), "B2": ("B1",), "B3": ("B1", "B2"), "B4": ("B1", "B2"), "B5": ("B1", "B2")}


async def load(clients: list[Reader], stopped: asyncio.Event) -> None:
    """Everybody publishes some 20 times a second."""
    while not stopped.is_set():
        for client in clients:
            if client.bus.is_connected:
                await client.publish()
        await pause(0.05)


async def kill_at_random(seed: int, seconds: float, data: Path) -> None:
    """Kill and restart a random broker again and again under load; look after each."""
    chance = random.Random(seed)
    loop = asyncio.get_running_loop()
    async with brokers(HUBS, data=data) as net:
        await wait_for_tree(net["B1"], *HUBS)
        async with readers(list(net.values())) as clients:
            everybody = list(clients.values())
            await hear_each_other(everybody, bound(5))
            stopped = asyncio.Event()
            loading = asyncio.create_task(load(everybody, stopped))
            began, killed, lost = loop.time(), ["B1"], 0
            while loop.time() < began + seconds:
                victim = killed[-1]
                outage = Outage(everybody, victim)
                await asyncio.to_thread(net[victim].kill)
                await pause(chance.uniform(0.0, 3.0))
                await asyncio.to_thread(net[victim].launch)
                await hear_each_other(everybody, bound(5))
                await outage.check()
                lost += outage.lost
                killed.append(chance.choice(list(HUBS)))
            stopped.set()
            await loading
            await wait_for_tree(net["B1"], *HUBS)
            await exactly_once(everybody)
            assert len(killed) > 3, killed
            assert lost, "crashes under load lose something: else nothing was looked at"
            for reader in everybody:
                assert max(reader.got.values()) <= 10


class Outage:
    """What clients had published and been told before somebody was killed."""

    def __init__(self, clients: list[Reader], victim: str) -> None:
        self.clients = clients
        self.victim = victim
        self.lost = 0
        """How much did not come, at all clients together."""
        self._sent = {client.name: client.sent for client in clients}
        self._unconfirmed = {client.name: client.bus.unconfirmed for client in clients}
        self._gaps = {client.name: len(client.gaps) for client in clients}

    async def check(self) -> None:
        """Whoever misses something of the outage was told so; or the publisher was."""
        last = {client.name: client.sent for client in self.clients}
        marks = [(client.name, await client.publish()) for client in self.clients]
        for reader in self.clients:
            await until(
                lambda r=reader: all(r.got[mark] for mark in marks),  # type: ignore[misc]
                f"what was published after the outage of {self.victim} at {reader.name}",
                seconds=60,
            )
            for publisher in self.clients:
                await self._check_pair(reader, publisher, last[publisher.name])

    async def _check_pair(self, reader: Reader, publisher: Reader, last: int) -> None:
        name = publisher.name
        numbers = range(self._sent[name] + 1, last + 1)
        missing = [number for number in numbers if not reader.got[name, number]]
        self.lost += len(missing)
        if len(missing) > publisher.bus.unconfirmed - self._unconfirmed[name]:
            await until(
                lambda: len(reader.gaps) > self._gaps[reader.name],
                f"{reader.name} is told that it misses {missing[:5]} of {name} "
                f"after the outage of {self.victim}",
            )


@pytest.mark.timeout(300)
def test_a_random_broker_is_killed_again_and_again(tmp_path: Path) -> None:
    """Every few seconds somebody crashes, the root too: right within the bound, losses reported."""
    live(kill_at_random(1, 30.0, tmp_path))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_random_broker_is_killed_for_five_minutes(tmp_path: Path) -> None:
    """The same for five minutes."""
    live(kill_at_random(2, 300.0, tmp_path))


@pytest.mark.timeout(300)
def test_a_partition_that_outlasts_the_age_of_beacons_heals_to_one_tree() -> None:
    """Two halves of a network go on by themselves, and become one again: exactly once afterwards.

    The cut lasts until both halves have a root of their own, longer than beacons of the old one
    count; each half delivers within itself meanwhile.
    """
    halves = ["B1", "B2"], ["B3", "B4"]
    joins = {"B1": (), "B2": ("B1",), "B3": ("B1", "B2"), "B4": ("B3",)}
    across = [("B3", "B1"), ("B3", "B2")]

    async def scenario() -> None:
        async with brokers(joins, with_proxies=True) as net:
            await wait_for_tree(net["B1"], *joins)
            async with readers(list(net.values())) as clients:
                everybody = list(clients.values())
                await exactly_once(everybody)
                net.part(*across)
                for half in halves:
                    await wait_for_tree(net[half[0]], *half, seconds=60)
                    await hear_each_other([clients[name] for name in half], bound(4))
                net.heal(*across)
                await hear_each_other(everybody, bound(4))
                await wait_for_tree(net["B1"], *joins, seconds=60)
                await exactly_once(everybody)
                for reader in everybody:
                    assert max(reader.got.values()) <= 10

    live(scenario())


@pytest.mark.timeout(240)
def test_a_broker_that_hangs_is_no_end_of_the_network() -> None:
    """A process that stands still keeps its connections: others notice, and it comes back."""

    async def scenario() -> None:
        async with brokers(HUBS) as net:
            await wait_for_tree(net["B1"], *HUBS)
            sites = [net[name] for name in ("B3", "B4", "B5")]
            async with readers(sites) as clients:
                everybody = list(clients.values())
                await hear_each_other(everybody, bound(5))
                net["B1"].pause()
                try:
                    await hear_each_other(everybody, bound(5))
                finally:
                    net["B1"].resume()
                await wait_for_tree(net["B1"], *HUBS, seconds=60)
                await exactly_once(everybody)

    live(scenario())
