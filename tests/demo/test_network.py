"""The network on stage: real processes, links that can be cut, a broker that dies and returns."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.living import run
from sapwood.demo.network import Stage, tree
from sapwood.demo.watching import LINKED, look


def test_the_tree_is_that_of_the_contract() -> None:
    assert tree(5).links == (("B1", "B2"), ("B1", "B3"), ("B2", "B4"), ("B2", "B5"))


async def rough_treatment(directory: Path) -> None:
    async with Stage(2, directory) as stage:
        (link,) = stage.topology.links
        before = (await look(stage.topology, stage.network)).brokers["B1"].resumed
        assert stage.cut(link) == 1
        await until_resumed(stage, before)
        session = stage.network["B2"].status()["session"]
        await stage.kill("B2")
        assert not (await look(stage.topology, stage.network)).brokers["B2"].is_up
        await stage.restart(stage.leaf)
        assert stage.network["B2"].status()["session"] > session
    assert [broker.is_running for broker in stage.network.values()] == [False, False]


async def until_resumed(stage: Stage, before: int) -> None:
    (link,) = stage.topology.links
    while True:
        view = await look(stage.topology, stage.network)
        if view.brokers["B1"].resumed > before and view.links[link].state == LINKED:
            return


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_links_are_cut_and_brokers_killed_and_all_come_back(tmp_path: Path) -> None:
    run(rough_treatment(tmp_path), seconds=240.0)
    assert list(tmp_path.rglob("*.parquet"))
    assert not list(tmp_path.rglob("*.open"))
