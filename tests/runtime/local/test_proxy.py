"""A proxy passes bytes on in both directions, until it is cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sapwood.runtime.address import parse_address
from sapwood.runtime.local.proxy import Proxy


@asynccontextmanager
async def shouting() -> AsyncIterator[Proxy]:
    """A proxy to a server that answers each line in capitals."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line.upper())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    proxy = Proxy()
    proxy.target_port = server.sockets[0].getsockname()[1]
    await proxy.start()
    async with server:
        try:
            yield proxy
        finally:
            await proxy.stop()


async def dial(proxy: Proxy) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", parse_address(proxy.url).port)


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(b"hello\n")
    return await reader.readline()


def test_bytes_pass_in_both_directions() -> None:
    async def main() -> None:
        async with shouting() as proxy:
            reader, writer = await dial(proxy)
            assert await ask(reader, writer) == b"HELLO\n"
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()

    asyncio.run(main())


def test_a_cut_breaks_all_connections_and_new_ones_pass() -> None:
    async def main() -> None:
        async with shouting() as proxy:
            pairs = [await dial(proxy) for _ in range(2)]
            for pair in pairs:
                assert await ask(*pair) == b"HELLO\n"
            assert (proxy.cut(), proxy.cuts) == (2, 2)
            for reader, writer in pairs:
                with pytest.raises(ConnectionResetError):
                    await reader.readexactly(1)
                writer.close()
            reader, writer = await dial(proxy)
            assert await ask(reader, writer) == b"HELLO\n"
            writer.close()

    asyncio.run(main())


def test_while_it_is_closed_nobody_is_let_through() -> None:
    async def main() -> None:
        async with shouting() as proxy:
            reader, writer = await dial(proxy)
            assert await ask(reader, writer) == b"HELLO\n"
            assert proxy.close() == 1
            for pair in ((reader, writer), await dial(proxy)):
                with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                    await pair[0].readexactly(1)
                pair[1].close()
            proxy.open()
            reader, writer = await dial(proxy)
            assert await ask(reader, writer) == b"HELLO\n"
            writer.close()

    asyncio.run(main())


def test_where_nobody_listens_nobody_is_let_through() -> None:
    async def main() -> None:
        async with shouting() as proxy:
            proxy.target_port = 1
            reader, writer = await dial(proxy)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
            writer.close()

    asyncio.run(main())


def test_a_long_link_passes_everything_later_in_order_and_all_at_once() -> None:
    async def main() -> None:
        async with shouting() as proxy:
            proxy.delay_seconds = 0.03
            reader, writer = await dial(proxy)
            began = asyncio.get_running_loop().time()
            lines = [b"line %d\n" % number for number in range(100)]
            for line in lines:
                writer.write(line)
                await writer.drain()
            writer.write_eof()
            assert await reader.read() == b"".join(lines).upper()
            took = asyncio.get_running_loop().time() - began
            assert took >= 2 * proxy.delay_seconds
            writer.close()

    asyncio.run(main())
