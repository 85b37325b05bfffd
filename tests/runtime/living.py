"""Helpers for tests with live brokers and clients on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
import uvloop

from sapwood.protocol.link.handshake import LINK_CODEC, Goodbye, LinkMessage
from sapwood.runtime.client import Bus, Gap, Subscription
from sapwood.runtime.config.settings import ClientSettings, LinkSettings, Settings
from sapwood.runtime.server import Server
from sapwood.wire.frames import LINK
from sapwood.wire.scan import scan, size_of_next

Result = TypeVar("Result")

QUICK_LINK = LinkSettings(
    silence_seconds=0.5, retry_first_seconds=0.01, retry_max_seconds=0.05, slow_seconds=60.0
)
"""Links that notice and come back quickly, and that give nothing up because of slowness."""

USUAL_CLIENT = ClientSettings()


def run(scenario: Coroutine[Any, Any, Result], seconds: float = 60.0) -> Result:
    """Run a scenario on the event loop that brokers use, for so long at most."""

    async def limited() -> Result:
        async with asyncio.timeout(seconds):
            return await scenario

    return uvloop.run(limited())


async def until(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    """Wait until something can be observed, looking each time the event loop turns."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not condition():
        if loop.time() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        turned = asyncio.Event()
        loop.call_later(0.002, turned.set)
        await turned.wait()


@asynccontextmanager
async def broker(
    name: str,
    *joins: str,
    link: LinkSettings = QUICK_LINK,
    client: ClientSettings = USUAL_CLIENT,
    **settings: Any,
) -> AsyncIterator[Server]:
    """A broker on a free port, linked to others."""
    server = Server(
        Settings(id=name, listen="127.0.0.1:0", join=joins, link=link, client=client, **settings)
    )
    await server.start()
    try:
        await server.joined()
        yield server
    finally:
        await server.stop()


def url(server: Server) -> str:
    """Where a broker can be reached."""
    assert server.address is not None
    return str(server.address)


def port(server: Server) -> int:
    """On which port a broker listens."""
    assert server.address is not None
    return server.address.port


def transport_of(bus: Bus) -> asyncio.Transport:
    """The connection of a client, to be held up or cut."""
    (transport,) = bus._driver._transports.values()
    return transport


class Tally:
    """What a subscription got: sequence numbers by publisher, and gaps."""

    def __init__(self, subscription: Subscription) -> None:
        self.got: dict[str, list[int]] = {}
        self.count = 0
        self.gaps: list[Gap] = []
        self._subscription = subscription
        self._task = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        async for item in self._subscription:
            if isinstance(item, Gap):
                self.gaps.append(item)
            else:
                self.count += 1
                self.got.setdefault(item.id.publisher, []).append(item.id.sequence)

    @property
    def missed(self) -> int:
        """How many were reported as given up."""
        return sum(gap.count for gap in self.gaps)

    async def reaches(self, number: int, seconds: float = 30.0) -> None:
        """Wait until so many have come or are known to be missing."""
        await until(
            lambda: self.count + self.missed >= number, f"{number} are accounted for", seconds
        )

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def check_order(self) -> None:
        """Nothing twice, nothing out of order."""
        for publisher, sequences in self.got.items():
            assert sequences == sorted(set(sequences)), publisher


class RawPeer:
    """Somebody who speaks TCP, and perhaps the protocol."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._data = b""

    @classmethod
    async def connect(cls, server_port: int) -> RawPeer:
        return cls(*await asyncio.open_connection("127.0.0.1", server_port))

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def say(self, message: LinkMessage) -> None:
        self.send(LINK_CODEC.encode(message))

    async def frame(self) -> bytes:
        """The next frame; nothing if the connection ends before."""
        while not scan(self._data).end:
            try:
                data = await self.reader.read(65536)
            except ConnectionError:
                return b""
            if not data:
                return b""
            self._data += data
        size = size_of_next(self._data)
        found, self._data = self._data[:size], self._data[size:]
        return found

    async def heard(self, kind: type[LinkMessage]) -> LinkMessage | None:
        """The next message of a kind about the connection; None if it ends before."""
        while found := await self.frame():
            if found[0] == LINK:
                message = LINK_CODEC.decode(found[7:])
                if isinstance(message, kind):
                    return message
        return None

    async def goodbye(self) -> Goodbye | None:
        """The reason for which the connection ends."""
        message = await self.heard(Goodbye)
        assert message is None or isinstance(message, Goodbye)
        return message

    async def __aenter__(self) -> RawPeer:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.writer.transport.abort()


def changed(limits: LinkSettings, **values: Any) -> LinkSettings:
    """The same with other values."""
    return msgspec.structs.replace(limits, **values)
