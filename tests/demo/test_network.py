"""The network of the demonstration: links are cut and offered, tables spoilt, a broker killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.living import run
from sapwood.demo.network import DemoNetwork, record_end, second_ways, tree
from sapwood.demo.settings import RUN
from sapwood.demo.watching import View, look
from sapwood.trace import Row, TraceWriter, read


def test_the_tree_is_that_of_the_contract() -> None:
    assert tree(5).links == (("B1", "B2"), ("B1", "B3"), ("B2", "B4"), ("B2", "B5"))


@pytest.mark.parametrize("brokers", [3, 4, 8, 21])
def test_whoever_is_lost_the_others_are_connected(brokers: int) -> None:
    links = {*tree(brokers).links, *second_ways(brokers)}
    assert len(links) == len(tree(brokers).links) + len(second_ways(brokers))
    for lost in tree(brokers).brokers:
        reached = {next(name for name in tree(brokers).brokers if name != lost)}
        for _ in range(brokers):
            for link in links:
                if lost not in link and reached & set(link):
                    reached |= set(link)
        assert reached == set(tree(brokers).brokers) - {lost}


def test_two_brokers_have_no_second_way() -> None:
    assert second_ways(2) == ()


def test_the_end_of_a_killed_broker_is_a_gap_in_its_trace(tmp_path: Path) -> None:
    killed = TraceWriter(tmp_path, RUN, "B1", 7)
    killed.write(Row(run=RUN, broker="B1", session=7, step=1, at=1.0, kind="clock"))
    killed.flush()
    record_end(tmp_path, "B1", 7, 5.0)
    assert [(row.session, row.kind, row.at) for row in read(tmp_path)] == [
        (7, "clock", 1.0),
        (8, "trace_gap", 5.0),
    ]
    assert not list(tmp_path.rglob("*.open"))


async def rough_treatment(directory: Path) -> None:
    async with DemoNetwork(3, directory) as network:
        first = await look(network.processes)
        assert first.standing_by == []
        assert network.cut(("B1", "B2")) == 1
        await until(network, lambda view: "B2" in view.brokers["B1"].kept)
        network.restore(("B1", "B2"))
        await until(network, lambda view: view.is_tree and not view.brokers["B1"].kept)
        for link in network.second_ways:
            network.restore(link)
        await until(network, lambda view: view.standing_by == [("B2", "B3")])
        assert await network.spoil("B2", {"fields": "RoutingTable", "share": "1"})
        await until(network, lambda view: sum(view.brokers["B2"].faults.values()) > 0)
        await network.kill("B1")
        view = await until(network, lambda view: view.is_tree)
        assert view.parents == {"B2": "", "B3": "B2"}
    assert not any(broker.is_running for broker in network.processes.values())


async def until(network: DemoNetwork, is_so: Callable[[View], bool]) -> View:
    while True:
        view = await look(network.processes)
        if is_so(view):
            return view


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_network_survives_rough_treatment(tmp_path: Path) -> None:
    run(rough_treatment(tmp_path), seconds=240.0)
    assert {row.broker for row in read(tmp_path / "trace") if row.kind == "trace_gap"} == {"B1"}
    assert not list(tmp_path.rglob("*.open"))
