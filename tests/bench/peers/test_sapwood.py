"""Sapwood as a peer: real brokers, alone and in a chain, with acknowledgements and credit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sapwood.bench.network_load import Message, fan_out, many_topics_all_different, one_to_one
from sapwood.bench.network_round import Contender
from sapwood.bench.peers.peer import Network
from sapwood.bench.peers.sapwood import Sapwood, SapwoodClient
from sapwood.bench.peers.server import choose_cores
from sapwood.errors import BenchmarkError
from sapwood.protocol.link.handshake import LINK_CODEC, Goodbye

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    network = Sapwood().start(1, tmp_path_factory.mktemp("sapwood"), choose_cores())
    yield network
    network.stop()


def test_every_message_arrives_in_every_round(network: Network) -> None:
    contender = Contender("Sapwood", network, fan_out())
    for count in (1, 3000, 50):
        contender.round(count)
    contender.close()


def test_more_than_the_credit_goes_through(network: Network) -> None:
    contender = Contender("Sapwood", network, many_topics_all_different(20))
    publisher = contender.publisher
    assert isinstance(publisher, SapwoodClient)
    assert publisher.sendable() < 5000 * len(publisher.encode(contender.workload.message(0)))
    contender.round(5000)
    contender.close()


def test_a_refused_notification_is_an_error(network: Network) -> None:
    publisher = network.publisher()
    assert isinstance(publisher, SapwoodClient)
    message = Message("t", {"x": 1}, {}, b"")
    publisher.session = "somebody.1"
    publisher.say(publisher.encode(message))
    with pytest.raises(BenchmarkError, match=r"refuses a notification: .*somebody"):
        listen(publisher)
    publisher.close()


def listen(client: SapwoodClient) -> None:
    while data := client.socket.recv(1000):
        client.told(data)


def test_a_goodbye_is_an_error(network: Network) -> None:
    publisher = network.publisher()
    with pytest.raises(BenchmarkError, match="goodbye: too loud"):
        publisher.told(LINK_CODEC.encode(Goodbye("noise", "too loud")))
    publisher.close()


def test_a_subscription_that_is_refused_is_an_error(network: Network) -> None:
    subscriber = network.subscriber()
    interest = one_to_one("W1", "").interests[0]._replace(filter="price >")
    with pytest.raises(BenchmarkError, match="answers a subscription with"):
        subscriber.subscribe([interest])
    subscriber.close()


def test_a_chain_passes_everything_on(tmp_path: Path) -> None:
    network = Sapwood().start(3, tmp_path, choose_cores())
    try:
        contender = Contender("Sapwood", network, one_to_one("W4/3", ""))
        contender.round(2000)
        contender.close()
    finally:
        network.stop()


def test_a_traced_broker_leaves_a_trace(tmp_path: Path) -> None:
    network = Sapwood(traced=True).start(1, tmp_path, choose_cores())
    try:
        contender = Contender("Sapwood", network, one_to_one("W1", ""))
        contender.round(100)
        contender.close()
    finally:
        network.stop()
    assert any(name.endswith(".parquet") for _, _, names in os.walk(tmp_path) for name in names)
