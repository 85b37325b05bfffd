"""AMQP to the byte; and RabbitMQ itself, where it is installed."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from sapwood.bench.network_load import quotes
from sapwood.bench.network_round import Contender
from sapwood.bench.peers.rabbitmq import AmqpClient, RabbitMQ
from sapwood.bench.peers.server import choose_cores
from sapwood.errors import BenchmarkError

PEER = RabbitMQ()
needs_rabbitmq = pytest.mark.skipif(bool(PEER.missing()), reason=f"no {PEER.missing()}")

CLIENT = AmqpClient.__new__(AmqpClient)
"""Without a connection, to encode and to read."""

MESSAGE = quotes(100).message(3)


def frame(kind: int, body: bytes) -> bytes:
    return struct.pack(">BHI", kind, 1, len(body)) + body + b"\xce"


def table(entries: dict[str, str]) -> bytes:
    body = b""
    for name, value in entries.items():
        body += bytes((len(name),)) + name.encode() + b"S"
        body += struct.pack(">I", len(value)) + value.encode()
    return struct.pack(">I", len(body)) + body


def content() -> bytes:
    head = struct.pack(">HHQH", 60, 0, 100, 0x2000) + table(MESSAGE.headers)
    return frame(2, head) + frame(3, MESSAGE.payload)


def delivery() -> bytes:
    method = struct.pack(">HH", 60, 60) + b"\x01c" + bytes(8) + b"\0" + b"\x06quotes" + b"\0"
    return frame(1, method) + content()


def test_a_publication_is_a_method_a_header_and_a_body() -> None:
    method = struct.pack(">HH", 60, 40) + b"\0\0" + b"\x06quotes" + b"\0" + b"\0"
    assert CLIENT.encode(MESSAGE) == frame(1, method) + content()


def test_the_length_of_a_delivery_is_known() -> None:
    assert CLIENT.delivery_bytes(MESSAGE) == len(delivery())


def test_what_is_cut_off_is_left() -> None:
    data = delivery()
    for cut in range(len(data)):
        assert CLIENT.read(data + data[:cut]) == ([MESSAGE.payload], len(data))


def test_another_method_is_an_error() -> None:
    with pytest.raises(BenchmarkError, match="NOT_FOUND"):
        CLIENT.read(frame(1, struct.pack(">HH", 20, 40) + b"NOT_FOUND"))


def test_chains_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="chains"):
        PEER.start(2, tmp_path, choose_cores())


@pytest.mark.slow
@needs_rabbitmq
def test_messages_go_through_rabbitmq(tmp_path: Path) -> None:
    network = PEER.start(1, tmp_path, choose_cores())
    try:
        contender = Contender(PEER.name, network, quotes(100))
        assert contender.round(200).rate > 0
        contender.close()
    finally:
        network.stop()
