"""A TCP proxy on loopback that does to connections what networks do to them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self

UP, DOWN = "up", "down"
"""From the side that dials to the side that is dialled, and back."""

_CHUNK = 16 * 1024


class Proxy:
    """Stands between whoever dials it and a port; cuts, freezes, throttles or refuses."""

    def __init__(self, target_port: int) -> None:
        self.port = 0
        self.connections = 0
        """How many came so far."""
        self.is_down = False
        """While it is, nobody gets through, and those who try are turned away."""
        self.bytes_per_second: dict[str, float] = {}
        """By direction; without an entry as fast as it goes."""
        self.delay_seconds = 0.0
        """How long bytes are held before they go on."""
        self.forwarded = {UP: 0, DOWN: 0}
        self._target_port = target_port
        self._fuses: dict[str, int] = {}
        self._blown = asyncio.Event()
        self._moving = asyncio.Event()
        self._moving.set()
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self.is_down = True
        self._server.close()
        self.cut()
        self.thaw()
        while self._tasks:
            self.cut()
            await asyncio.wait(self._tasks, timeout=0.1)

    @property
    def url(self) -> str:
        return f"sapwood://127.0.0.1:{self.port}"

    # Faults

    def cut(self) -> None:
        """Break all connections, at once and on both sides."""
        for pair in list(self._pairs):
            for writer in pair:
                writer.transport.abort()

    async def cut_after(self, size: int, direction: str) -> None:
        """Break the connections when so many more bytes have gone in a direction, and wait."""
        self._blown.clear()
        self._fuses[direction] = size
        await self._blown.wait()

    def freeze(self) -> None:
        """Forward nothing any more, but close nothing: both sides still think they are connected.

        What comes while frozen is lost when the connection is cut in the end.
        """
        self._moving.clear()

    def thaw(self) -> None:
        """Forward again."""
        self._moving.set()

    # Forwarding

    async def _accept(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        if self.is_down:
            back.transport.abort()
            return
        try:
            far, forth = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            back.transport.abort()
            return
        pair = (back, forth)
        self._pairs.add(pair)
        pumps = [
            asyncio.create_task(self._pump(near, forth, UP)),
            asyncio.create_task(self._pump(far, back, DOWN)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._pairs.discard(pair)
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for writer in pair:
                if self._moving.is_set():
                    writer.close()
                else:
                    writer.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: str
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                await _wait(self.delay_seconds)
                await self._moving.wait()
                fuse = self._fuses.get(direction)
                if fuse is not None:
                    data = data[:fuse]
                    self._fuses[direction] = fuse - len(data)
                writer.write(data)
                self.forwarded[direction] += len(data)
                await writer.drain()
                if self._fuses.get(direction) == 0:
                    del self._fuses[direction]
                    self._blown.set()
                    return
                await self._pace(len(data), direction)

    async def _pace(self, size: int, direction: str) -> None:
        speed = self.bytes_per_second.get(direction)
        if speed:
            await _wait(size / speed)


async def _wait(seconds: float) -> None:
    if seconds:
        passed = asyncio.Event()
        asyncio.get_running_loop().call_later(seconds, passed.set)
        await passed.wait()
