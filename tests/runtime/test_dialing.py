"""Tests for opening a connection: who answers, what, and whether at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from runtime.living import broker, port, run
from sapwood.errors import RefusedError, UnreachableError
from sapwood.protocol.link.handshake import (
    LINK_CODEC,
    WRONG_NETWORK,
    Goodbye,
    Hello,
    LinkMessage,
    Ping,
    Welcome,
)
from sapwood.runtime import dialing
from sapwood.runtime.address import Address
from sapwood.runtime.connection import Connection
from sapwood.runtime.dialing import dial

HELLO = Hello(role="client", network="sapwood", id="alice", session=7)


@asynccontextmanager
async def answering(message: LinkMessage | None) -> AsyncIterator[Address]:
    """Somebody who answers every hello with the same."""

    class Answerer(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = cast("asyncio.Transport", transport)

        def data_received(self, data: bytes) -> None:
            if message is not None:
                self.transport.write(LINK_CODEC.encode(message))

    server = await asyncio.get_running_loop().create_server(Answerer, "127.0.0.1", 0)
    try:
        yield Address("127.0.0.1", server.sockets[0].getsockname()[1])
    finally:
        server.close()


def dialled(message: LinkMessage | None) -> list[Welcome]:
    """Dial somebody who answers so; the welcomes that were taken."""
    taken: list[Welcome] = []

    def take(connection: Connection, welcome: Welcome) -> None:
        taken.append(welcome)
        connection.abort("this was all")

    async def scenario() -> None:
        async with answering(message) as address:
            await dial(address, HELLO, take, 0.0)

    run(scenario())
    return taken


def test_a_welcome_is_taken() -> None:
    welcome = Welcome(id="B1", session=1, version=1)
    assert dialled(welcome) == [welcome]


def test_a_goodbye_is_a_refusal_with_its_reason() -> None:
    with pytest.raises(RefusedError, match="not here") as caught:
        dialled(Goodbye("some-code", "not here", "B1"))
    assert (caught.value.code, caught.value.broker) == ("some-code", "B1")


def test_a_version_that_was_never_offered_is_not_taken() -> None:
    with pytest.raises(UnreachableError, match="version 9 was never offered; 1-1 was"):
        dialled(Welcome(id="B1", session=1, version=9))


def test_anything_else_is_no_answer() -> None:
    with pytest.raises(UnreachableError, match="answered by Welcome or Goodbye"):
        dialled(Ping())


def test_no_answer_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialing, "CONNECT_SECONDS", 0.1)
    with pytest.raises(UnreachableError, match=r"does not answer within 0\.1 s"):
        dialled(None)


def test_nobody_there_is_said_with_the_address() -> None:
    async def scenario() -> None:
        async with broker("B1") as server:
            address = Address("127.0.0.1", port(server))
        with pytest.raises(UnreachableError, match=f"cannot reach {address}.*listening there"):
            await dial(address, HELLO, lambda connection, welcome: None, 0.0)

    run(scenario())


def test_a_broker_refuses_with_a_code() -> None:
    async def scenario() -> None:
        async with broker("B1", network="other") as server:
            address = Address("127.0.0.1", port(server))
            with pytest.raises(RefusedError) as caught:
                await dial(address, HELLO, lambda connection, welcome: None, 0.0)
        assert caught.value.code == WRONG_NETWORK

    run(scenario())
