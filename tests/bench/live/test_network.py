"""Networks for changes under load: any two brokers can be linked, over links that take time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import sapwood
from sapwood.bench.live.network import LiveNetwork


@pytest.mark.slow
def test_links_take_their_time_and_who_has_left_finds_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            LiveNetwork(2, tmp_path, 1, delay_seconds=0.05) as network,
            sapwood.connect(network.urls["B1"]) as first,
            sapwood.connect(network.urls["B2"]) as second,
            second.subscribe("n >= 0") as subscription,
        ):
            await first.publish({"n": 1})
            item = await anext(aiter(subscription))
            assert isinstance(item, sapwood.Notification)
            reports = (await first.survey()).brokers
            assert all(one.addresses for one in reports)
            answer = await first.change_tree("remove", broker="B1")
            assert answer.outcome == "completed", answer.reason
            assert await network.ended("B1") == 0
            await network.restart("B1")
            async with asyncio.timeout(60):  # the other end hears of it a little later
                while {one.id for one in (await second.survey()).brokers} != {"B1", "B2"}:
                    pass

    asyncio.run(scenario())
