"""A broker process that is restarted while its only hub is gone for good finds the others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from live.redundant import brokers, exactly_once, hear_each_other, readers, wait_for_tree
from runtime.living import until


@pytest.mark.slow
def test_a_site_finds_the_others_by_what_it_had_heard(tmp_path: Path) -> None:
    async def run() -> None:
        joins = {"H": [], "S1": ["H"], "S2": ["H"]}
        async with brokers(joins, data=tmp_path, advertised=["S2"]) as processes:
            await wait_for_tree(processes["S1"], *joins)

            def has_heard() -> bool:
                return any("S2" in one.read_text() for one in tmp_path.glob("S1/addresses-in-*"))

            await until(has_heard, "what S1 has heard of S2, on disk")
            await asyncio.to_thread(processes["S1"].kill)
            await asyncio.to_thread(processes["H"].kill)
            processes["S1"].launch()
            await asyncio.to_thread(processes["S1"].wait_until_listening)
            async with readers([processes["S1"], processes["S2"]]) as clients:
                await hear_each_other(list(clients.values()), 60.0)
                await wait_for_tree(processes["S1"], "S1", "S2")
                await exactly_once(list(clients.values()))

    asyncio.run(run())
