"""A network for tests is one of real processes, and leaves none behind."""

from __future__ import annotations

import os

import pytest

import sapwood
from runtime.living import run
from sapwood.errors import ParameterError
from sapwood.runtime.client import Gap
from sapwood.testing import network

pytestmark = pytest.mark.slow


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_network_is_there_and_then_it_is_not() -> None:
    async def scenario() -> list[int]:
        async with network("star", 3) as net:
            assert list(net) == ["B1", "B2", "B3"]
            assert net.topology.links == (("B1", "B2"), ("B1", "B3"))
            async with (
                sapwood.connect(net["B2"].url) as bus,
                bus.subscribe("x > 0") as wanted,
                sapwood.connect(net["B3"].url) as other,
            ):
                await other.publish({"x": 1})
                found = await wanted.get(20)
                assert not isinstance(found, Gap)
                assert found["x"] == 1
            return [broker.pid for broker in net.values()]

    pids = run(scenario(), 110)
    assert [pid for pid in pids if is_there(pid)] == []


def test_a_broker_that_is_killed_and_started_again_is_found_again() -> None:
    """Its clients are told of a gap, subscribe again, and go on."""

    async def scenario() -> None:
        async with (
            network("chain", 2) as net,
            sapwood.connect(net["B1"].url) as publisher,
            sapwood.connect(net["B2"].url) as bus,
            bus.subscribe("x > 0") as wanted,
        ):
            await publisher.publish({"x": 1}, confirm=True)
            first = await wanted.get(20)
            assert not isinstance(first, Gap)
            net["B2"].kill()
            net["B2"].launch()
            gap = await wanted.get(60)
            assert gap == Gap(0, "the broker was lost; now connected to B2")
            net["B2"].wait_until_joined()
            await _until_it_comes(publisher, wanted)

    run(scenario(), 110)


async def _until_it_comes(publisher: sapwood.Bus, wanted: sapwood.Subscription) -> None:
    """Publish until something comes: first the neighbours have to learn of the subscription."""
    x = 2
    while True:
        await publisher.publish({"x": x}, confirm=True)
        for item in await wanted.read(seconds=0.05):
            if not isinstance(item, Gap):
                return
        x += 1


def test_an_unknown_shape_is_refused() -> None:
    with pytest.raises(ParameterError, match="choose from tree, chain, star, random"):
        network("circle", 3)
