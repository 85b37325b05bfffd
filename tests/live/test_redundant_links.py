"""More links than a tree has, cut and restored at any time: never a lasting circle, nothing twice.

Real processes with default settings on loopback, over proxies. They take minutes.
"""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from live.redundant import (
    brokers,
    exactly_once,
    hear_each_other,
    pause,
    readers,
    wait_for_tree,
)
from runtime.living import until
from sapwood.analysis.stabilization import Periods, bounds, network_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

COPIES_MAX = 10
START_SECONDS = 30.0
"""A process takes so long to start on a busy machine, before it can do anything."""


def bound(count: int) -> float:
    """Seconds after which a network of processes is right, over links of up to 0.1 s."""
    return bounds(network_of(count, delay_max=0.4), Periods()).total_changes + START_SECONDS


@pytest.mark.parametrize("is_spread", [False, True], ids=["together", "within a second"])
@pytest.mark.parametrize("count", range(3, 9))
def test_a_ring_with_slow_links_is_a_tree(count: int, is_spread: bool) -> None:
    random = Random(f"{count} {is_spread}")
    names = [f"B{number}" for number in range(1, count + 1)]
    joins = {name: [names[(number + 1) % count]] for number, name in enumerate(names)}

    async def run() -> None:
        async with (
            brokers(
                joins,
                with_proxies=True,
                delays=lambda: random.uniform(0.0, 0.1),
                spread=lambda: random.uniform(0.0, 1.0 / count) if is_spread else 0.0,
            ) as net,
            readers(list(net.values())) as clients,
        ):
            everybody = list(clients.values())
            await hear_each_other(everybody, bound(count))
            await wait_for_tree(net["B1"], *names, seconds=bound(count))
            await exactly_once(everybody)
            assert max(max(one.got.values()) for one in everybody) <= COPIES_MAX

    asyncio.run(run())


@pytest.mark.parametrize("seed", range(3))
def test_two_hubs_whose_links_are_cut_and_restored_at_any_time(seed: int) -> None:
    """For a minute links fail one upon the other, while everybody publishes."""
    random = Random(seed)
    joins: dict[str, list[str]] = {"H1": [], "H2": ["H1"]}
    joins |= {name: ["H1", "H2"] for name in ("S1", "S2", "S3")}

    async def run() -> None:
        async with brokers(joins, with_proxies=True) as net:
            await wait_for_tree(net["H1"], *joins, seconds=bound(5))
            async with readers(list(net.values())) as clients:
                everybody = list(clients.values())
                await exactly_once(everybody)
                links = list(net.proxies)
                for _ in range(60):
                    link = random.choice(links)
                    if net.proxies[link].is_down:
                        net.heal(link)
                    else:
                        net.part(link)
                    for client in everybody:
                        await client.publish()
                    await pause(random.uniform(0.0, 2.0))
                net.heal(*links)
                await hear_each_other(everybody, bound(5))
                await wait_for_tree(net["H1"], *joins, seconds=bound(5))
                await exactly_once(everybody)
                assert max(max(one.got.values()) for one in everybody) <= COPIES_MAX

    asyncio.run(run())


def test_a_site_cut_off_for_minutes_keeps_its_place_and_loses_nothing() -> None:
    """Two minutes, longer than any time after which something is given up that is not kept."""
    joins = {"H": [], "S1": ["H"], "S2": ["H"]}

    async def run() -> None:
        async with brokers(joins, with_proxies=True) as net:
            await wait_for_tree(net["H"], *joins, seconds=bound(3))
            async with readers(list(net.values())) as clients:
                everybody = list(clients.values())
                await exactly_once(everybody)
                first = {one.name: one.sent + 1 for one in everybody}
                net.part(("S1", "H"))
                for _ in range(240):
                    for client in everybody:
                        await client.publish()
                    await pause(0.5)
                status = net["H"].status()
                assert "S1" in status["tree"]["kept"], "it keeps its place"
                net.heal(("S1", "H"))
                wanted = [
                    (one.name, number)
                    for one in everybody
                    for number in range(first[one.name], one.sent + 1)
                ]
                for reader in everybody:
                    await until(
                        lambda r=reader: all(r.got[one] for one in wanted),  # type: ignore[misc]
                        f"all of the two minutes at {reader.name}",
                        seconds=60,
                    )
                    assert [one for one in wanted if reader.got[one] != 1] == []
                    assert reader.gaps == []
                await exactly_once(everybody)
                await wait_for_tree(net["H"], *joins, seconds=bound(3))

    asyncio.run(run())
