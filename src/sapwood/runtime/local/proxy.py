"""A link that can be cut: bytes pass through this process, until somebody pulls the plug.

What goes wrong with TCP connections between sites cannot be asked of a kernel politely. A proxy in
between breaks them as they break: at any byte, in both directions, without a word to either side.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress

_CHUNK = 64 * 1024


class Proxy:
    """Listens on a free port of this machine and passes everything on to one other port."""

    def __init__(self) -> None:
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
            await asyncio.gather(_pass(near_reader, far_writer), _pass(far_reader, near_writer))
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
