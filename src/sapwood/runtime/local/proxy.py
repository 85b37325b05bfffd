"""A link that can be cut, or is long: bytes pass through this process.

What goes wrong with TCP connections between sites cannot be asked of a kernel politely. A proxy in
between breaks them as they break: at any byte, in both directions, without a word to either side.
And it makes them as slow as the way between two sites is long: all bytes come later, in order, and
no fewer a second.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from functools import partial
from typing import Final

_CHUNK: Final = 64 * 1024

_UNDER_WAY: Final = 256
"""Chunks that may be under way on a long link, in each direction."""


class Proxy:
    """Listens on a free port of this machine and passes everything on to one other port."""

    def __init__(self, delay_seconds: float = 0.0) -> None:
        self.delay_seconds = delay_seconds
        """How long a byte takes, in each direction; of connections that begin from now on."""
        self.target_port = 0
        """Where to; to be set before somebody connects."""
        self.is_open = True
        """Whether whoever connects is let through."""
        self.cuts = 0
        """How many connections were cut."""
        self._server: asyncio.Server | None = None
        self._passing: dict[asyncio.Task[None], tuple[asyncio.StreamWriter, ...]] = {}

    async def start(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return f"sapwood://127.0.0.1:{port}"

    def cut(self) -> int:
        """Break all connections at once; how many there were. New ones pass while it is open."""
        count = 0
        for writers in list(self._passing.values()):
            count += 1
            for writer in writers:
                _break(writer)
        self.cuts += count
        return count

    def close(self) -> int:
        """Break all connections and let nobody through; how many there were."""
        self.is_open = False
        return self.cut()

    def open(self) -> None:
        """Let connections through from now on."""
        self.is_open = True

    async def stop(self) -> None:
        """Let nobody through any more."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._passing)
        self.cut()
        await asyncio.gather(*tasks)

    async def _accepted(
        self, near_reader: asyncio.StreamReader, near_writer: asyncio.StreamWriter
    ) -> None:
        if not self.is_open:
            near_writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            near_writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._passing[task] = (near_writer, far_writer)
        try:
            passing = partial(_pass_later, self.delay_seconds) if self.delay_seconds else _pass
            await asyncio.gather(passing(near_reader, far_writer), passing(far_reader, near_writer))
        finally:
            del self._passing[task]
            for writer in (near_writer, far_writer):
                writer.transport.abort()


def _break(writer: asyncio.StreamWriter) -> None:
    """End one side of a connection with a reset: what was under way is lost."""
    if writer.transport.is_closing():
        return
    linger = struct.pack("ii", 1, 0)
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on until one side ends; then the other side is told, too."""
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            if writer.transport.is_closing():
                return  # the other side has ended it: nobody wants the rest
            writer.write(data)
            await writer.drain()
        if not writer.transport.is_closing():
            writer.write_eof()


async def _pass_later(
    seconds: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Pass bytes on as above, each after a time; many are under way at once, as on a long cable."""
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_UNDER_WAY)
    arriving = asyncio.create_task(_arrive(under_way, writer))
    loop = asyncio.get_running_loop()
    try:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                await under_way.put((loop.time() + seconds, data))
        await under_way.put((loop.time() + seconds, b""))
        await arriving
    finally:
        arriving.cancel()


async def _arrive(
    under_way: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter
) -> None:
    """Write what was under way, each at its time, until the end has come."""
    loop = asyncio.get_running_loop()
    while True:
        due, data = await under_way.get()
        await asyncio.sleep(max(0.0, due - loop.time()))
        with suppress(OSError):
            if not writer.transport.is_closing():  # else nobody wants the rest
                if not data:
                    writer.write_eof()
                else:
                    writer.write(data)
                    await writer.drain()
        if not data:
            return
