"""Faults of running processes that no connection shows: wrong clocks, corrupted tables."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from live.redundant import (
    brokers,
    exactly_once,
    hear_each_other,
    pause,
    readers,
    wait_for_tree,
)
from sapwood.errors import NetworkError
from sapwood.runtime.local.broker_process import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

HUB = {"B1": (), "B2": ("B1",), "B3": ("B1",)}

WRONG_CLOCK = """
import os, time

offset = float(os.environ.get("WRONG_BY_SECONDS", "0"))
wall, wall_ns, steady = time.time, time.time_ns, time.monotonic
time.time = lambda: wall() + offset
time.time_ns = lambda: wall_ns() + int(offset * 1e9)
time.monotonic = lambda: steady() + abs(offset)
"""
"""Loaded by every process before anything else."""

YEAR = 365 * 86_400.0


def test_processes_whose_clocks_are_wrong_by_years_are_one_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each start has another clock; nobody compares clocks, and sessions grow all the same."""
    (tmp_path / "sitecustomize.py").write_text(WRONG_CLOCK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")

    async def run() -> None:
        monkeypatch.setenv("WRONG_BY_SECONDS", str(10 * YEAR))
        async with brokers(HUB, data=tmp_path) as net:
            await wait_for_tree(net["B1"], *HUB)
            sessions = {name: one.status()["session"] for name, one in net.items()}
            async with readers(list(net.values())) as clients:
                everybody = list(clients.values())
                await exactly_once(everybody)
                for offset, name in ((-20 * YEAR, "B2"), (0.0, "B1")):
                    monkeypatch.setenv("WRONG_BY_SECONDS", str(offset))
                    await asyncio.to_thread(net[name].kill)
                    net[name].launch()
                    await asyncio.to_thread(net[name].wait_until_listening)
                    await wait_for_tree(net["B3"], *HUB)
                    await hear_each_other(everybody, 60.0)
                    assert net[name].status()["session"] == sessions[name] + 1
                await exactly_once(everybody)

    asyncio.run(run())


def corrupt(admin_url: str, fields: str, seed: int) -> list[str]:
    """What a broker has done to its own state because it was asked to."""
    request = Request(f"{admin_url}/faults?fields={fields}&share=1&seed={seed}", method="POST")
    with urlopen(request, timeout=10) as answer:
        done: list[str] = json.load(answer)["done"]
    return done


async def found_out(process: BrokerProcess, seconds_max: float = 60.0) -> None:
    """Wait until a broker has found its tables corrupted, and finds nothing more."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    before = -1
    while loop.time() - began < seconds_max:
        with suppress(NetworkError):  # its state is impossible until that is found
            faults = (await asyncio.to_thread(process.status))["faults"]
            found = sum(faults.values())
            if before >= 0 and found == before > 0:
                return
            before = found
        await pause(3.0)
    raise AssertionError(f"{process.id} has found nothing within {seconds_max} s")


def test_corrupted_tables_of_a_process_are_right_again(tmp_path: Path) -> None:
    """The hub, through which everything goes, and a site: nobody does anything about it."""
    file = tmp_path / "broker.toml"
    file.write_text(
        "admin_faults = true\n[stabilization]\nrefresh_seconds = 2\naudit_seconds = 4\n"
        "[client]\nrefresh_seconds = 2\n[tree]\nbeacon_seconds = 1\n"
    )

    async def run() -> None:
        async with brokers(HUB, config=file) as net:
            await wait_for_tree(net["B1"], *HUB)
            async with readers(list(net.values())) as clients:
                everybody = list(clients.values())
                await exactly_once(everybody)
                for seed, name in enumerate(("B1", "B3")):
                    done = await asyncio.to_thread(
                        corrupt, net[name].admin_url, "RoutingTable._entries", seed
                    )
                    assert done
                    await found_out(net[name])
                    await hear_each_other(everybody, 60.0)
                await wait_for_tree(net["B1"], *HUB)
                await exactly_once(everybody)

    asyncio.run(run())
