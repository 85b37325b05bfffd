"""What all peers share: starting all brokers or none, and hearing what a broker says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.echo_broker import EchoClient, EchoPeer, echo_network
from sapwood.bench.peers.peer import Network
from sapwood.bench.peers.server import Cores, Server
from sapwood.errors import BenchmarkError

NO_CORES = Cores(frozenset(), frozenset())


def test_either_all_brokers_run_or_none(tmp_path: Path) -> None:
    started: list[Server] = []

    class Half(EchoPeer):
        def launch(self, network: Network, brokers: int, directory: Path, cores: Cores) -> None:
            started.append(Server(["sleep", "60"], directory, cores.broker))
            network.servers.append(started[0])
            raise BenchmarkError("the second does not start")

    with pytest.raises(BenchmarkError, match="the second"):
        Half().start(2, tmp_path, NO_CORES)
    with pytest.raises(BenchmarkError, match="has ended"):
        started[0].wait_for_port(1)


def test_clients_have_names_of_one_length_that_are_not_used_twice() -> None:
    with echo_network() as network:
        clients = [network.publisher(), network.publisher(), network.subscriber()]
        assert [client.name for client in clients] == [
            "publisher0001",
            "publisher0002",
            "subscriber0003",
        ]
        for client in clients:
            client.close()


def test_what_a_broker_says_is_heard_in_portions() -> None:
    with echo_network() as network:
        subscriber, publisher = network.subscriber(), network.publisher()
        publisher.say((b"one;two;" + b"x" * 92) * 2)
        assert subscriber.hear_until(b";") == b"one;"
        assert subscriber.hear(6) == b"two;xx"
        assert subscriber.hear(90) == b"x" * 90
        assert subscriber.hear_until(b";") == b"one;"
        publisher.close()
        subscriber.close()


def test_a_broker_that_hangs_up_is_an_error() -> None:
    with echo_network() as network:
        subscriber = network.subscriber()
    with pytest.raises(BenchmarkError, match="has closed the connection"):
        subscriber.hear(1)
    subscriber.close()


def test_a_greeting_that_fails_leaves_no_connection() -> None:
    class Rude(EchoClient):
        def greet(self) -> None:
            raise BenchmarkError("not welcome")

    with echo_network() as network, pytest.raises(BenchmarkError, match="not welcome"):
        Rude(network.first_port, "publisher")
