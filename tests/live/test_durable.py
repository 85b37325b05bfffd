"""Brokers are killed under load: what was confirmed durable is read once, and in order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

import sapwood
from sapwood.protocol.tree import Topology
from sapwood.runtime.client import Bus, DurableSubscription
from sapwood.runtime.local.local_network import LocalNetwork

pytestmark = pytest.mark.slow

ALONE = Topology(("B1",), ())
PAIR = Topology(("B1", "B2"), (("B1", "B2"),))
CHAIN = Topology(("B1", "B2", "B3"), (("B1", "B2"), ("B2", "B3")))


class Load:
    """Publishes and confirms one after the other at each end, and reads at the last broker."""

    def __init__(self) -> None:
        self.confirmed: list[str] = []
        self.got: list[str] = []
        self.is_over = False
        """Whether to publish no more."""
        self.is_complete = False
        """Whether all that was published is confirmed."""

    async def publish(self, bus: Bus) -> None:
        """Publish in small groups until it is over."""
        number = 0
        while not self.is_over:
            group = range(number, number + 20)
            number += len(group)
            wanted = (bus.publish({"n": one}, b"p" * 100, confirm="durable") for one in group)
            self.confirmed += map(str, await asyncio.gather(*wanted))

    async def read(self, subscription: DurableSubscription) -> None:
        """Read until everything that was confirmed has come."""
        while not self.is_complete or len(self.got) < len(self.confirmed):
            item = await subscription.get(120)
            assert not isinstance(item, sapwood.Gap), item
            if "last" not in item:
                self.got.append(str(item.id))

    def judge(self) -> None:
        """Each once, in order per publisher."""
        assert sorted(self.got) == sorted(self.confirmed)
        for publisher in {one.rpartition(":")[0] for one in self.got}:
            own = [int(one.rpartition(":")[2]) for one in self.got if one.startswith(publisher)]
            assert own == sorted(own)


async def play(topology: Topology, folder: Path, kills: int, seed: int) -> Load:
    """Kill brokers, one after the other, while notifications are confirmed and read."""
    random, load = Random(seed), Load()
    first, last = topology.brokers[0], topology.brokers[-1]
    network = LocalNetwork(topology, ["--spool=disk"], data=folder)
    async with (
        network,
        sapwood.connect(network[first].url, connect_seconds=120.0) as bus,
        sapwood.connect(network[last].url, connect_seconds=120.0) as other,
        other.subscribe("n >= 0 or exists last", durable="orders") as orders,
    ):
        reading = asyncio.create_task(load.read(orders))
        tasks = [asyncio.create_task(load.publish(one)) for one in (bus, other)]
        for _ in range(kills):
            known = len(load.confirmed)
            while len(load.confirmed) < known + random.randrange(1, 200):
                await bus.publish({"other": 1}, confirm="durable")
            broker = network[random.choice(topology.brokers)]
            await asyncio.to_thread(broker.kill)
            await asyncio.to_thread(broker.start)
        load.is_over = True
        await asyncio.gather(*tasks)
        load.is_complete = True
        await bus.publish({"n": -1, "last": True}, confirm="durable")
        await reading
    return load


@pytest.mark.parametrize(("topology", "kills"), [(ALONE, 2), (PAIR, 2)], ids=["alone", "pair"])
def test_what_was_confirmed_survives_kills(topology: Topology, kills: int, tmp_path: Path) -> None:
    load = asyncio.run(play(topology, tmp_path, kills, seed=1))
    load.judge()
    assert len(load.confirmed) > 100


@pytest.mark.long
def test_two_hundred_kills(tmp_path: Path) -> None:
    load = asyncio.run(play(CHAIN, tmp_path, 200, seed=2))
    load.judge()
