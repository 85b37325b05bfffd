"""The driver: what is written at once, what arrives, and what happens if nothing does."""

from __future__ import annotations

import gc

import pytest

from bench.echo_broker import EchoClient, echo_network
from sapwood.bench import network_drive
from sapwood.bench.network_drive import (
    WRITE_BYTES,
    Receiver,
    Sender,
    in_pieces,
    latencies,
    transfer,
    undisturbed,
    wait_for,
)
from sapwood.bench.network_load import one_to_one
from sapwood.errors import BenchmarkError

WORKLOAD = one_to_one("W1", "one to one")


def encoded(count: int) -> list[bytes]:
    return [WORKLOAD.message(number).payload for number in range(count)]


def test_batches_are_as_long_as_a_write_and_hold_everything() -> None:
    data = encoded(2000)
    pieces = in_pieces(data, is_batched=True)
    assert b"".join(bytes(piece.data) for piece in pieces) == b"".join(data)
    assert sum(piece.messages for piece in pieces) == 2000
    assert all(len(piece.data) >= WRITE_BYTES for piece in pieces[:-1])
    assert len(pieces) == 4


def test_without_batches_each_message_is_a_write() -> None:
    pieces = in_pieces(encoded(5), is_batched=False)
    assert [bytes(piece.data) for piece in pieces] == encoded(5)
    assert [piece.messages for piece in pieces] == [1] * 5


@pytest.mark.parametrize("is_batched", [True, False])
def test_a_transfer_brings_everything_to_everyone(is_batched: bool) -> None:
    with echo_network() as network:
        receivers = [Receiver(network.subscriber()) for _ in range(3)]
        publisher = network.publisher()
        for receiver in receivers:
            receiver.prepare(WORKLOAD.message(0), 3000)
        pieces = in_pieces(encoded(3000), is_batched=is_batched)
        seconds = transfer(publisher, pieces, receivers, is_batched=is_batched)
        assert seconds > 0
        for receiver in receivers:
            assert receiver.payloads() == encoded(3000)
            receiver.client.close()
        publisher.close()


def test_what_is_begun_in_one_round_is_whole_in_the_next() -> None:
    with echo_network() as network:
        receiver = Receiver(network.subscriber())
        publisher = network.publisher()
        receiver.prepare(WORKLOAD.message(0), 10)
        receiver.client.finish(b"".join(encoded(1)) + encoded(2)[1][:30])
        assert receiver.client.unread() == encoded(2)[1][:30]
        receiver.prepare(WORKLOAD.message(0), 10)
        publisher.say(encoded(2)[1] * 2)
        while receiver.messages < 2:
            assert wait_for([receiver], 10)
        assert len(receiver.payloads()) == 2
        publisher.close()
        receiver.client.close()


def test_a_window_holds_the_publisher_back() -> None:
    with echo_network() as network:
        sender = Sender(network.publisher(), in_pieces(encoded(100), is_batched=False), at_once=9)
        assert not sender.send(20)
        assert sender.sent == 9
        sender.send(20)
        sender.send(20)
        assert sender.sent == 20
        assert not sender.is_done
        sender.client.close()


def test_latencies_are_told_for_every_message() -> None:
    with echo_network() as network:
        receiver = Receiver(network.subscriber())
        publisher = network.publisher()
        receiver.prepare(WORKLOAD.message(0), 50)
        found = latencies(publisher, encoded(50), receiver, 5000)
        assert len(found) == 50
        assert min(found) > 0
        assert receiver.payloads() == encoded(50)
        publisher.close()
        receiver.client.close()


@pytest.mark.slow
def test_if_nothing_arrives_that_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_drive, "_STALLED_SECONDS", 0.05)
    with echo_network(lambda number, frame: []) as network:
        receiver = Receiver(network.subscriber())
        publisher = network.publisher()
        receiver.prepare(WORKLOAD.message(0), 5)
        with pytest.raises(BenchmarkError, match="5 of 5 sent, 0 arrived"):
            transfer(publisher, in_pieces(encoded(5), is_batched=True), [receiver], is_batched=True)
        with pytest.raises(BenchmarkError, match="0 of 5 arrived"):
            latencies(publisher, encoded(5), receiver, 5000)
        publisher.close()
        receiver.client.close()


def test_a_broker_that_hangs_up_is_an_error() -> None:
    with echo_network() as network:
        receiver = Receiver(network.subscriber())
        sender = Sender(network.publisher(), [], at_once=1)
        receiver.prepare(WORKLOAD.message(0), 5)
    receiver.client.socket.setblocking(True)
    with pytest.raises(BenchmarkError, match="was disconnected"):
        receiver.receive()
    sender.client.close()
    receiver.client.close()


def test_messages_are_counted_by_their_ends_where_lengths_vary() -> None:
    class Delimited(EchoClient):
        delimiter = b"|"

    with echo_network() as network:
        receiver = Receiver(Delimited(network.last_port, "subscriber"))
        publisher = network.publisher()
        receiver.prepare(WORKLOAD.message(0), 10)
        publisher.say(b"a|bc|d".ljust(100, b"."))
        assert wait_for([receiver], 10)
        assert receiver.messages == 2
        publisher.close()
        receiver.client.close()


def test_nothing_is_collected_while_measuring() -> None:
    with undisturbed():
        assert not gc.isenabled()
    assert gc.isenabled()
