"""Whoever waits for something of a bus is told when it is closed."""

from __future__ import annotations

import asyncio

import pytest

from runtime.living import broker, port, run, until
from runtime.proxy import Proxy
from sapwood.errors import ClosedError, UnconfirmedError
from sapwood.runtime.client import connect


def test_whoever_waits_when_the_bus_is_closed_is_told() -> None:
    async def scenario() -> None:
        async with broker("B1") as server, Proxy(port(server)) as proxy:
            bus = await connect(proxy.url, close_seconds=0.1, buffer_bytes=1000).__aenter__()
            proxy.freeze()
            waiting = [
                asyncio.create_task(bus.publish({"x": 1}, bytes(1000), confirm=True)),
                asyncio.create_task(bus.survey()),
                asyncio.create_task(bus.ping()),
                asyncio.create_task(bus.publish({"x": 2})),  # there is no room for it
            ]
            await until(lambda: bus.published == 1, "it is published")
            with pytest.raises(UnconfirmedError):
                await bus.close()
            async with asyncio.timeout(20):
                found = await asyncio.gather(*waiting, return_exceptions=True)
            assert [type(problem) for problem in found] == [ClosedError] * 4

    run(scenario())


def test_who_waits_for_a_connection_when_the_bus_is_closed_is_told() -> None:
    async def scenario() -> None:
        bus = connect("127.0.0.1:1", connect_seconds=600.0)
        waiting = asyncio.create_task(bus.__aenter__())
        await until(lambda: bool(bus._machine.address), "it looks for a broker")
        await bus.close()
        with pytest.raises(ClosedError):
            async with asyncio.timeout(20):
                await waiting

    run(scenario())
