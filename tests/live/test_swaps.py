"""Real processes move a link of their tree to where it is cheaper, and nobody notices."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from random import Random

import pytest

import sapwood
from live.streaming import Reader, Writer
from runtime.living import until
from sapwood.runtime.admin.inspection import NetworkView, inspect
from sapwood.runtime.client import Bus
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.runtime.local.proxy import Proxy
from sapwood.sim.topology import make_topology
from sapwood.trace import check, read

DELAY = 0.03
SETTINGS = """
[optimization]
mode = "on"
period_seconds = 1.0
window_min_seconds = 1.0
window_max_seconds = 20.0
gain_min = 1.0
"""


async def is_linked(bus: Bus) -> bool:
    """Whether B1 and B3 are neighbours."""
    reports = (await bus.survey()).brokers
    return any(one.id == "B1" and "B3" in one.neighbours for one in reports)


async def optimize(directory: Path) -> tuple[Reader, Writer, NetworkView]:
    """A chain whose first link is slow: B1 and B3 get a quick one of their own."""
    settings, trace = directory / "broker.toml", directory / "trace"
    settings.write_text(SETTINGS)
    proxy = Proxy()
    proxy.delay_seconds = DELAY
    await proxy.start()
    chain = make_topology("chain", 3, Random(0))
    network = LocalNetwork(
        chain,
        [f"--config={settings}", f"--trace={trace}"],
        dials={"B2": proxy.url},
        advertises=True,
    )
    proxy.target_port = network["B1"].port
    async with AsyncExitStack() as stack:
        stack.push_async_callback(proxy.stop)
        await stack.enter_async_context(network)
        first, last = [
            await stack.enter_async_context(sapwood.connect(network[name].url, id=f"at-{name}"))
            for name in ("B1", "B3")
        ]
        subscription = last.subscribe("n >= 0", buffer=1_000_000)
        reader = Reader(await subscription.__aenter__())
        writer = Writer("w", first)
        while not await is_linked(first):
            await writer.reaches(50)
        await writer.reaches(500)
        await writer.stop()
        await until(
            lambda: reader.got.get("w", [-1])[-1] == writer.published - 1, "the last", seconds=60
        )
        view = await inspect(first)
        reader.task.cancel()
        with suppress(asyncio.CancelledError):
            await reader.task
    return reader, writer, view


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_slow_link_is_given_up_under_load_and_nobody_notices(tmp_path: Path) -> None:
    reader, writer, view = asyncio.run(optimize(tmp_path))
    assert reader.gaps == []
    assert reader.got == {"w": list(range(writer.published))}
    assert ("B1", "B3") in view.links
    known = {one.report.id: one.status for one in view.brokers}
    middle = known["B2"]
    assert middle is not None
    made = next(one for one in middle.optimization.decisions if one.outcome == "completed")
    assert {made.mover, made.onto} == {"B1", "B3"}
    assert max(made.cost_old, made.cost_kept) > 1000 * DELAY * 0.9 > made.cost_new
    assert made.gain > 0
    assert check(read(tmp_path / "trace")).violations == []
