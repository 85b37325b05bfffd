"""Brokers and clients as processes: cut off from each other, and killed."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import sapwood
import sapwood.testing
from runtime.living import Tally, run, until
from runtime.proxy import Proxy
from runtime.serving import free_port
from runtime.test_link_faults import Publisher, break_often
from sapwood.runtime.local.broker_process import BrokerProcess

pytestmark = pytest.mark.slow

QUICK = """
[link]
silence_seconds = 1.0
retry_first_seconds = 0.01
retry_max_seconds = 0.05
"""


async def process(stack: AsyncExitStack, name: str, *arguments: str) -> BrokerProcess:
    """A broker process that has joined, until the test is over."""
    made = BrokerProcess(name, free_port(), free_port(), arguments)
    stack.callback(made.stop)
    await asyncio.to_thread(made.start)
    return made


async def cuts_between_processes(seed: int, times: int, folder: Path) -> None:
    print(f"replay: cuts_between_processes({seed}, {times}, folder)")
    config = folder / "broker.toml"
    config.write_text(QUICK)
    async with AsyncExitStack() as stack:
        one = await process(stack, "B1", f"--config={config}")
        proxy = await stack.enter_async_context(Proxy(one.port))
        two = await process(stack, "B2", f"--config={config}", f"--join={proxy.url}")
        left = await stack.enter_async_context(sapwood.connect(one.url))
        right = await stack.enter_async_context(sapwood.connect(two.url))
        tallies = [
            Tally(await stack.enter_async_context(left.subscribe("side = 'right'"))),
            Tally(await stack.enter_async_context(right.subscribe("side = 'left'"))),
        ]
        publishers = [
            Publisher(right, ahead_of=tallies[0], side="right"),
            Publisher(left, ahead_of=tallies[1], side="left"),
        ]
        await break_often(proxy, random.Random(seed), times)
        for publisher in publishers:
            await publisher.stop()
        for publisher, tally in zip(publishers, tallies, strict=True):
            await tally.reaches(publisher.count, 60)
            assert tally.gaps == []
            assert [*tally.got.values()] == [list(range(1, publisher.count + 1))]
            await tally.close()


def test_processes_cut_off_from_each_other_lose_and_repeat_nothing(tmp_path: Path) -> None:
    run(cuts_between_processes(5, 100, tmp_path), seconds=110)


async def killed_client(url: str) -> None:
    """A subscriber in a process of its own that is killed when it has got something."""
    client = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "sapwood", "subscribe", "n >= 0", "-s", url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert client.stdout is not None
    assert await client.stdout.readline()
    client.send_signal(signal.SIGKILL)
    await client.wait()


def test_a_client_and_a_leaf_broker_that_are_killed_disturb_nobody() -> None:
    async def scenario() -> None:
        async with (
            sapwood.testing.network("tree", 3) as net,
            sapwood.connect(net["B1"].url) as bus,
            sapwood.connect(net["B2"].url) as other,
            other.subscribe("n >= 0") as subscription,
        ):
            tally = Tally(subscription)
            load = Publisher(bus, ahead_of=tally)
            await killed_client(net["B1"].url)
            before = tally.count
            await until(lambda: tally.count > before + 1000, "the rest goes on")
            await asyncio.to_thread(net["B3"].kill)
            before = tally.count
            await until(lambda: tally.count > before + 1000, "the rest goes on")
            await asyncio.to_thread(net["B3"].start)
            async with (
                sapwood.connect(net["B3"].url) as back,
                back.subscribe("n >= 0") as again,
            ):
                assert again.settled
                first = Tally(again)
                await first.reaches(100)
                first.check_order()
                await first.close()
            await load.stop()
            await tally.reaches(load.count)
            assert tally.got == {bus.name: list(range(1, load.count + 1))}
            assert sum(gap.count for gap in tally.gaps) == 0
            await tally.close()

    run(scenario(), seconds=100)
