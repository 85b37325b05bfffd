"""The text protocol of NATS; and its server, where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.bench.network_load import many_topics, one_to_one
from sapwood.bench.network_round import Contender
from sapwood.bench.peers.nats import Nats, NatsClient
from sapwood.bench.peers.server import choose_cores
from sapwood.errors import BenchmarkError

PEER = Nats()
needs_nats = pytest.mark.skipif(bool(PEER.missing()), reason=f"no {PEER.missing()}")

CLIENT = NatsClient.__new__(NatsClient)
"""Without a connection, to encode and to read."""


def delivery(payload: bytes) -> bytes:
    return b"MSG class00000 10000 %d\r\n%s\r\n" % (len(payload), payload)


def test_a_publication_is_a_line_and_a_payload() -> None:
    message = one_to_one("W1", "").message(3)
    assert CLIENT.encode(message) == b"PUB class00000 100\r\n" + message.payload + b"\r\n"
    assert CLIENT.delivery_bytes(message) == len(delivery(message.payload))


def test_what_is_cut_off_is_left() -> None:
    first, second = delivery(b"one\r\n"), delivery(b"two")
    for cut in range(len(second)):
        assert CLIENT.read(first + second[:cut]) == ([b"one\r\n"], len(first))


def test_a_ping_is_passed_over_and_anything_else_an_error() -> None:
    data = b"PING\r\n" + delivery(b"one")
    assert CLIENT.read(data) == ([b"one"], len(data))
    with pytest.raises(BenchmarkError, match="-ERR 'Slow Consumer'"):
        CLIENT.read(b"-ERR 'Slow Consumer'\r\n")


@pytest.mark.slow
@needs_nats
@pytest.mark.parametrize("brokers", [1, 3])
def test_messages_go_through_nats(tmp_path: Path, brokers: int) -> None:
    network = PEER.start(brokers, tmp_path, choose_cores())
    try:
        contender = Contender(PEER.name, network, many_topics(20))
        assert contender.round(300).rate > 0
        contender.close()
    finally:
        network.stop()
