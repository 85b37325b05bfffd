"""The tree of real processes is changed again and again under load, and nobody notices."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from random import Random

import pytest

import sapwood
from live.streaming import Reader, Writer
from runtime.living import until
from sapwood.protocol.tree import Topology
from sapwood.runtime.client import Bus
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.sim.topology import random_tree
from sapwood.trace import check, read

BROKERS = 6


def draw_exchange(random: Random, tree: Topology) -> tuple[tuple[str, str], tuple[str, str]]:
    """A link that goes and one that comes, at random."""
    while True:
        left, right = random.sample(tree.brokers, 2)
        path = tree.path(left, right)
        if len(path) > 2:
            place = random.randrange(len(path) - 1)
            return (path[place], path[place + 1]), (left, right)


async def tree_of(bus: Bus) -> Topology:
    """The tree as it is."""
    reports = (await bus.survey()).brokers
    links = {tuple(sorted((one.id, other))) for one in reports for other in one.neighbours}
    return Topology(
        tuple(sorted(one.id for one in reports)), tuple((a, b) for a, b in sorted(links))
    )


async def change(trace: Path, changes: int) -> tuple[list[Reader], list[Writer], list[str]]:
    """What readers get while links are exchanged; what did not work."""
    random = Random(changes)
    tree = random_tree(BROKERS, Random(7))
    failures: list[str] = []
    async with AsyncExitStack() as stack:
        network = await stack.enter_async_context(
            LocalNetwork(tree, [f"--trace={trace}"], advertises=True)
        )
        buses = [
            await stack.enter_async_context(sapwood.connect(network[name].url, id=f"at-{name}"))
            for name in tree.brokers
        ]
        readers = []
        for bus in buses:
            subscription = bus.subscribe("n >= 0", buffer=1_000_000)
            readers.append(Reader(await subscription.__aenter__()))
        writers = [Writer(f"w{number}", bus) for number, bus in enumerate(buses)]
        for _ in range(changes):
            bus = random.choice(buses)
            tree = await tree_of(bus)
            old, new = draw_exchange(random, tree)
            answer = await bus.change_tree("exchange", [old, new])
            if answer.outcome != "completed":
                failures.append(f"{old} → {new}: {answer.outcome}: {answer.reason}")
        star = [("B1", name) for name in tree.brokers if name != "B1"]
        answer = await buses[0].change_tree("plan", star)
        failures += [] if answer.outcome == "completed" else [f"the plan: {answer.reason}"]
        for writer in writers:
            await writer.stop()
        ends = {writer.name: writer.published - 1 for writer in writers}
        await until(
            lambda: all({who: got[-1] for who, got in one.got.items()} == ends for one in readers),
            "the last ones",
            seconds=60,
        )
        assert set((await tree_of(buses[1])).links) == set(star)
        for reader in readers:
            reader.task.cancel()
            with suppress(asyncio.CancelledError):
                await reader.task
    return readers, writers, failures


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [20, pytest.param(1000, marks=[pytest.mark.long, pytest.mark.timeout(1800)])]
)
def test_links_are_exchanged_under_load_and_nobody_notices(changes: int, tmp_path: Path) -> None:
    readers, writers, failures = asyncio.run(change(tmp_path / "trace", changes))
    assert failures == []
    everything = {writer.name: list(range(writer.published)) for writer in writers}
    for reader in readers:
        assert reader.gaps == []
        assert reader.got == everything
    verdict = check(read(tmp_path / "trace"))
    assert verdict.violations == []
    assert verdict.published == sum(writer.published for writer in writers)
