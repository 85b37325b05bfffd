"""MQTT to the byte; and Mosquitto itself, where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.bench.network_load import many_topics, one_to_one
from sapwood.bench.network_round import Contender
from sapwood.bench.peers.mosquitto import Mosquitto, MqttClient
from sapwood.bench.peers.server import choose_cores
from sapwood.errors import BenchmarkError

PEER = Mosquitto()
needs_mosquitto = pytest.mark.skipif(bool(PEER.missing()), reason=f"no {PEER.missing()}")

CLIENT = MqttClient.__new__(MqttClient)
"""Without a connection, to encode and to read."""


def test_a_publication_is_as_the_standard_has_it() -> None:
    message = one_to_one("W1", "").message(3)
    data = CLIENT.encode(message)
    assert data == b"\x30\x70\x00\x0aclass00000" + message.payload
    assert CLIENT.delivery_bytes(message) == len(data)


def test_longer_ones_have_a_longer_length() -> None:
    message = one_to_one("W1", "").message(3)._replace(payload=b"p" * 300)
    data = CLIENT.encode(message)
    assert data[:3] == bytes((0x30, 312 % 128 | 128, 312 // 128))
    assert CLIENT.read(data) == ([b"p" * 300], len(data))


def test_what_is_cut_off_is_left() -> None:
    messages = [one_to_one("W1", "").message(number) for number in range(2)]
    first, second = (CLIENT.encode(message) for message in messages)
    for cut in range(len(second)):
        payloads, end = CLIENT.read(first + second[:cut])
        assert (payloads, end) == ([messages[0].payload], len(first))


def test_other_packets_are_an_error() -> None:
    with pytest.raises(BenchmarkError, match="type 0xd0"):
        CLIENT.read(b"\xd0\x00")


@pytest.mark.slow
@needs_mosquitto
@pytest.mark.parametrize("brokers", [1, 2])
def test_messages_go_through_mosquitto(tmp_path: Path, brokers: int) -> None:
    network = PEER.start(brokers, tmp_path, choose_cores())
    try:
        contender = Contender(PEER.name, network, many_topics(20))
        assert contender.round(300).rate > 0
        contender.close()
    finally:
        network.stop()
