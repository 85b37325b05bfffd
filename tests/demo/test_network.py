"""The network of the demonstration: links can be cut, and a broker dies and returns."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.living import run
from sapwood.demo.network import DemoNetwork, tree
from sapwood.demo.watching import LINKED, look


def test_the_tree_is_that_of_the_contract() -> None:
    assert tree(5).links == (("B1", "B2"), ("B1", "B3"), ("B2", "B4"), ("B2", "B5"))


async def rough_treatment(directory: Path) -> None:
    async with DemoNetwork(2, directory) as network:
        (link,) = network.topology.links
        before = (await look(network.topology, network.processes)).brokers["B1"].resumed
        assert network.cut(link) == 1
        await until_resumed(network, before)
        session = network.processes["B2"].status()["session"]
        await network.kill("B2")
        assert not (await look(network.topology, network.processes)).brokers["B2"].is_up
        await network.restart(network.leaf)
        assert network.processes["B2"].status()["session"] > session
    assert [broker.is_running for broker in network.processes.values()] == [False, False]


async def until_resumed(network: DemoNetwork, before: int) -> None:
    (link,) = network.topology.links
    while True:
        view = await look(network.topology, network.processes)
        if view.brokers["B1"].resumed > before and view.links[link].state == LINKED:
            return


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_links_are_cut_and_brokers_killed_and_all_come_back(tmp_path: Path) -> None:
    run(rough_treatment(tmp_path), seconds=240.0)
    assert list(tmp_path.rglob("*.parquet"))
    assert not list(tmp_path.rglob("*.open"))
