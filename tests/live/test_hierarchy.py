"""Broker processes with hierarchical routing: the edges follow the tree, whoever is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import sapwood
from live.redundant import brokers, exactly_once, hear_each_other, readers, wait_for_tree
from sapwood.runtime.admin.inspection import inspect
from sapwood.runtime.local.broker_process import BrokerProcess

HIERARCHICAL = 'routing_variant = "hierarchical"\n'


async def edges(process: BrokerProcess) -> dict[str, str]:
    """By neighbour in the tree: how a broker learns what to ask it for."""
    async with sapwood.connect(process.url) as bus:
        survey = await inspect(bus)
    (status,) = (one.status for one in survey.brokers if one.report.id == process.id)
    assert status is not None
    return {one.id: one.sends for one in status.neighbours if one.in_tree}


@pytest.mark.slow
def test_edges_follow_the_tree_when_its_root_is_lost(tmp_path: Path) -> None:
    async def run() -> None:
        file = tmp_path / "broker.toml"
        file.write_text(HIERARCHICAL)
        joins = {"H1": [], "H2": ["H1"], "S1": ["H1", "H2"], "S2": ["H1", "H2"]}
        async with brokers(joins, config=file) as processes:
            await wait_for_tree(processes["S1"], *joins)
            everybody = list(processes.values())
            async with readers(everybody) as clients:
                await exactly_once(list(clients.values()))

                assert set((await edges(processes["H1"])).values()) == {"flooding"}
                own = list((await edges(processes["S1"])).values())
                assert sorted(set(own) - {"flooding"}) == ["covering"], "its parent, and no other"
                assert own.count("covering") == 1
                await asyncio.to_thread(processes["H1"].kill)
                left = [clients[name] for name in ("H2", "S1", "S2")]
                await hear_each_other(left, 30.0)
                await wait_for_tree(processes["S1"], "H2", "S1", "S2")
                await exactly_once(left)
                assert set((await edges(processes["H2"])).values()) == {"flooding"}
                processes["H1"].launch()
                await asyncio.to_thread(processes["H1"].wait_until_listening)
                await wait_for_tree(processes["S1"], *joins, seconds=60.0)
                await exactly_once(left)

    asyncio.run(run())
