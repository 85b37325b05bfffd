"""A broker at the edge is removed under load: its clients go on at its neighbour, without a gap."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

import sapwood
from live.streaming import RATE, Reader, Writer
from runtime.living import until
from sapwood.protocol.tree import Topology
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.trace import check, read

TREE = Topology(("B1", "B2", "B3"), (("B1", "B2"), ("B2", "B3")))


async def leave(trace: Path) -> tuple[list[Reader], list[Writer], list[str]]:
    """What readers get while B3 leaves, starts again and leaves once more; where clients end."""
    async with (
        LocalNetwork(TREE, [f"--trace={trace}"], data=trace.with_name("data")) as network,
        sapwood.connect(network["B1"].url, id="first") as first,
        sapwood.connect(network["B2"].url, id="middle") as middle,
        sapwood.connect(network["B3"].url, id="last") as last,
        sapwood.connect(network["B3"].url, id="another") as another,
    ):
        buses = [first, middle, last, another]
        readers = []
        for bus in buses:
            subscription = bus.subscribe("n >= 0", buffer=1_000_000)
            readers.append(Reader(await subscription.__aenter__()))
        writers = [Writer(name, bus) for name, bus in zip("abcd", buses, strict=True)]
        leaf = network["B3"]
        for _ in range(2):
            await writers[0].reaches(RATE)
            assert await asyncio.to_thread(leaf.stop) == 0
            await asyncio.to_thread(leaf.launch)
            await asyncio.to_thread(leaf.wait_until_joined)
        await writers[0].reaches(RATE)
        for writer in writers:
            await writer.stop()
        ends = {writer.name: writer.published - 1 for writer in writers}
        await until(
            lambda: all({who: got[-1] for who, got in one.got.items()} == ends for one in readers),
            "the last ones",
            seconds=60,
        )
        where = [bus.broker for bus in buses]
        for reader in readers:
            reader.task.cancel()
            with suppress(asyncio.CancelledError):
                await reader.task
        return readers, writers, where


@pytest.mark.slow
def test_a_broker_leaves_under_load_and_nobody_notices(tmp_path: Path) -> None:
    readers, writers, where = asyncio.run(leave(tmp_path / "trace"))
    assert where == ["B1", "B2", "B2", "B2"]
    everything = {writer.name: list(range(writer.published)) for writer in writers}
    for reader in readers:
        assert reader.gaps == []
        assert reader.got == everything
    verdict = check(read(tmp_path / "trace"))
    assert verdict.violations == []
    assert verdict.expected > 0
    assert verdict.published == sum(writer.published for writer in writers)
