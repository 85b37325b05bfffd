"""Tests for one connection: reads that end anywhere, and bytes that are no frames."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.living import RawPeer, run, until
from sapwood.protocol.link.handshake import (
    LINK_CODEC,
    PROTOCOL,
    Ack,
    GivenUp,
    Goodbye,
    LinkMessage,
    Ping,
)
from sapwood.runtime import connection as module
from sapwood.runtime.connection import HANDSHAKE_BYTES_MAX, Connection
from sapwood.wire.frames import (
    BODY_BYTES_MAX,
    CONTROL,
    ENVELOPE_SIZE,
    HEADER,
    LINK,
    NOTIFICATION,
    frame,
    split,
)


class Memory(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0


class Listener:
    """An owner that notes what it is told."""

    def __init__(self) -> None:
        self.heard: list[object] = []
        self.frames = 0
        self.size = 0
        self.reason = ""

    def said(self, connection: Connection, message: LinkMessage) -> None:
        self.heard.append(message)

    def received(self, connection: Connection, data: bytes, frames: int, size: int) -> None:
        parts = list(split(data))
        assert len(parts) == frames
        self.frames += frames
        self.size += size
        self.heard += [frame(*part) for part in parts]

    def lost(self, connection: Connection, reason: str) -> None:
        self.reason = reason


def fed(feed: Callable[[Connection], None], *, is_open: bool = True) -> tuple[Listener, Memory]:
    """A connection that gets some reads."""

    async def scenario() -> tuple[Listener, Memory]:
        owner, transport = Listener(), Memory()
        connection = Connection(owner, 0.0)
        connection.connection_made(transport)
        connection.is_open = is_open
        feed(connection)
        connection.connection_lost(None)
        return owner, transport

    return asyncio.run(scenario())


def goodbye_in(transport: Memory) -> Goodbye:
    message = LINK_CODEC.decode(list(split(transport.written))[-1][2])
    assert isinstance(message, Goodbye)
    return message


NOTE = frame(NOTIFICATION, b"head", bytes(ENVELOPE_SIZE) + b"payload")
ORDER = frame(CONTROL, b"", b"order")
ITEMS: list[object] = [ORDER, Ack(1, 2), NOTE, NOTE, GivenUp(3), Ping(), ORDER, NOTE]
BYTES = b"".join(
    item if isinstance(item, bytes) else LINK_CODEC.encode(item)  # type: ignore[arg-type]
    for item in ITEMS
)


def test_reads_may_end_at_every_byte() -> None:
    for cut in range(len(BYTES) + 1):

        def feed(connection: Connection, at: int = cut) -> None:
            connection.data_received(BYTES[:at])
            connection.data_received(BYTES[at:])

        owner, _ = fed(feed)
        assert (owner.heard, owner.frames, owner.size) == (ITEMS, 5, 3 * len(NOTE))


def test_reads_may_be_single_bytes() -> None:
    def feed(connection: Connection) -> None:
        for at in range(len(BYTES)):
            connection.data_received(BYTES[at : at + 1])

    assert fed(feed)[0].heard == ITEMS


@given(st.lists(st.sampled_from([ORDER, NOTE]), max_size=8), st.data())
def test_reads_without_link_frames_end_anywhere_too(run: list[bytes], data: st.DataObject) -> None:
    joined = b"".join(run)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(joined)), max_size=4)))

    def feed(connection: Connection) -> None:
        for begin, end in zip([0, *cuts], [*cuts, len(joined)], strict=True):
            if begin < end:
                connection.data_received(joined[begin:end])

    owner, _ = fed(feed)
    assert owner.heard == run
    assert owner.size == sum(len(one) for one in run if one == NOTE)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (HEADER.pack(NOTIFICATION, BODY_BYTES_MAX + 1, 0), "at most 16777216 are taken"),
        (HEADER.pack(NOTIFICATION, ENVELOPE_SIZE - 1, 0), "a notification's body has"),
        (frame(LINK, b"", b"\xc1"), "does not decode"),
        (frame(LINK, b"", b"\x81\xa4type\xa3Foo"), "Foo"),
    ],
)
def test_what_is_no_frame_ends_the_connection_with_a_reason(data: bytes, words: str) -> None:
    owner, transport = fed(lambda connection: connection.data_received(ORDER + data + NOTE))
    goodbye = goodbye_in(transport)
    assert (goodbye.code, transport.closed) == (PROTOCOL, True)
    assert words in goodbye.reason
    assert words in owner.reason
    assert NOTE not in owner.heard


def test_nothing_is_taken_after_the_end() -> None:
    def feed(connection: Connection) -> None:
        connection.close(Goodbye("over"))
        connection.data_received(ORDER)
        connection.say(Ping())

    owner, transport = fed(feed)
    assert owner.heard == []
    assert goodbye_in(transport) == Goodbye("over")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (ORDER, "begin with Hello"),
        (NOTE, "begin with Hello"),
        (HEADER.pack(LINK, HANDSHAKE_BYTES_MAX, 0), "before the handshake is done"),
    ],
)
def test_a_stranger_may_only_introduce_himself(data: bytes, words: str) -> None:
    owner, transport = fed(lambda connection: connection.data_received(data), is_open=False)
    assert words in goodbye_in(transport).reason
    assert owner.heard == []


@given(st.lists(st.binary(max_size=40), max_size=6), st.booleans())
def test_garbage_never_raises_and_is_answered_if_it_ends_the_connection(
    reads: list[bytes], is_open: bool
) -> None:
    def feed(connection: Connection) -> None:
        for read in reads:
            connection.data_received(read)

    _, transport = fed(feed, is_open=is_open)
    if transport.closed:
        assert goodbye_in(transport).code == PROTOCOL


@pytest.mark.parametrize("seed", range(20))
def test_frames_with_flipped_bits_never_raise(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        data = bytearray(BYTES)
        for _ in range(chance.randint(1, 5)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        _, transport = fed(lambda connection, d=bytes(data): connection.data_received(d))  # type: ignore[misc]
        if transport.closed:
            assert goodbye_in(transport).code == PROTOCOL


def test_an_end_does_not_wait_for_ever_for_someone_who_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.05)

    async def scenario() -> None:
        owner = Listener()
        made: list[Connection] = []

        def make() -> Connection:
            made.append(Connection(owner, 0.0))
            return made[-1]

        server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
        async with await RawPeer.connect(server.sockets[0].getsockname()[1]):
            await until(lambda: bool(made and made[0].transport), "accepted")
            made[0].write(bytes(50 * 2**20))
            assert made[0].unsent > 0
            made[0].close(Goodbye("over"))
            await until(lambda: made[0].transport is None, "gone")
        assert owner.reason == "over"
        server.close()

    run(scenario())
