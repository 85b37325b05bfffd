"""Machines for tests of the driver, and a way to see what they are brought."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sapwood.protocol.ports import Data, DriverEvent
from sapwood.runtime.clock import Clock
from sapwood.runtime.driver import Driver

Answer = Callable[[DriverEvent, float], Sequence[object]]


class Recorder:
    """A machine that notes what it is brought, and answers as it is told."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.deadline = math.inf
        self.events: list[Any] = []
        self._answer = answer

    def handle(self, event: DriverEvent, now: float) -> Sequence[object]:
        self.events.append(event)
        return [] if self._answer is None else self._answer(event, now)

    def receive(self, connection: int, data: bytes, now: float) -> Sequence[object]:
        return self.handle(Data(connection, data), now)

    def brought(self, kind: type[Any]) -> list[Any]:
        """The events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]


@asynccontextmanager
async def driving(machine: Recorder, **options: Any) -> AsyncIterator[tuple[Driver, list[object]]]:
    """A driver that is started, and the effects that it has handed on."""
    handed_on: list[object] = []
    driver = Driver(machine, Clock(), handed_on.append, **options)
    driver.start()
    try:
        yield driver, handed_on
    finally:
        await driver.close()


@asynccontextmanager
async def listening(driver: Driver, **options: Any) -> AsyncIterator[int]:
    """A server whose connections belong to a driver; its port."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(driver.accept, "127.0.0.1", 0, **options)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
