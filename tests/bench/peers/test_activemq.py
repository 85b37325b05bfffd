"""STOMP; and ActiveMQ itself, where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.bench.network_load import quotes
from sapwood.bench.network_round import Contender
from sapwood.bench.peers.activemq import ActiveMQ, StompClient
from sapwood.bench.peers.server import choose_cores
from sapwood.errors import BenchmarkError

PEER = ActiveMQ()
needs_activemq = pytest.mark.skipif(bool(PEER.missing()), reason=f"no {PEER.missing()}")

CLIENT = StompClient.__new__(StompClient)
"""Without a connection, to encode and to read."""


def test_attributes_are_headers() -> None:
    message = quotes(100).message(3)
    symbol, price = message.attributes["symbol"], message.attributes["price"]
    head = f"SEND\ndestination:/topic/quotes\nsymbol:{symbol}\nprice:{price}\n\n"
    assert CLIENT.encode(message) == head.encode() + message.payload + b"\x00"


def test_what_is_cut_off_is_left() -> None:
    first, second = b"MESSAGE\nid:1\n\none\x00\n", b"MESSAGE\nid:2\n\ntwo\x00"
    for cut in range(len(second)):
        payloads, end = CLIENT.read(first + second[:cut])
        assert payloads == [b"one"]
        assert end == len(first) - 1


def test_an_error_is_an_error() -> None:
    with pytest.raises(BenchmarkError, match="no such thing"):
        CLIENT.read(b"ERROR\nmessage:no such thing\n\n\x00")


def test_chains_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="chains"):
        PEER.start(2, tmp_path, choose_cores())


@pytest.mark.slow
@needs_activemq
def test_messages_go_through_activemq(tmp_path: Path) -> None:
    network = PEER.start(1, tmp_path, choose_cores())
    try:
        contender = Contender(PEER.name, network, quotes(100))
        assert contender.round(200).rate > 0
        contender.close()
    finally:
        network.stop()
