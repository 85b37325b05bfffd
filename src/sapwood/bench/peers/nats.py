"""NATS, spoken to in its text protocol; chains are made of leaf nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sapwood.bench.network_load import Interest, Message
from sapwood.bench.peers.peer import Client, Network, Peer
from sapwood.bench.peers.server import HOST, Cores, Server, find_program, free_port
from sapwood.errors import BenchmarkError

_LINE_END = b"\r\n"
_FIRST_SUBSCRIPTION = 10_000
"""Subscriptions are numbered from here, so that all numbers are equally long."""
_OPTIONS = b'CONNECT {"verbose":false,"pedantic":false,"tls_required":false,"lang":"raw"}\r\n'


class NatsClient(Client):
    """A connection in the text protocol."""

    def greet(self) -> None:
        """INFO, CONNECT."""
        if not self.hear_until(_LINE_END).startswith(b"INFO "):
            raise BenchmarkError("nats-server does not begin with INFO")
        self.say(_OPTIONS)
        self._await_pong()

    def subscribe(self, interests: Sequence[Interest]) -> None:
        """SUB, and a PING to know that it was taken."""
        lines = [
            f"SUB {interest.topic} {number}\r\n"
            for number, interest in enumerate(interests, start=_FIRST_SUBSCRIPTION)
        ]
        self.say("".join(lines).encode())
        self._await_pong()

    def _await_pong(self) -> None:
        self.say(b"PING\r\n")
        while (line := self.hear_until(_LINE_END)) != b"PONG\r\n":
            if line.startswith(b"-ERR"):
                raise BenchmarkError(f"nats-server says {line.decode().strip()}")

    def encode(self, message: Message) -> bytes:
        """PUB."""
        head = f"PUB {message.topic} {len(message.payload)}\r\n".encode()
        return head + message.payload + _LINE_END

    def delivery_bytes(self, message: Message) -> int:
        """MSG, which names the subscription too."""
        return len(self.encode(message)) + len(f"{_FIRST_SUBSCRIPTION} ")

    def read(self, data: bytes) -> tuple[list[bytes], int]:
        """The payloads of MSG. A first ping comes early; the next, which matters, too late."""
        payloads: list[bytes] = []
        at = 0
        while (line_end := data.find(_LINE_END, at)) >= 0:
            words = data[at:line_end].split()
            if words == [b"PING"]:
                at = line_end + 2
                continue
            if words[0] != b"MSG":
                raise BenchmarkError(f"nats-server says {data[at:line_end].decode()}")
            begin = line_end + 2
            end = begin + int(words[-1])
            if end + 2 > len(data):
                break
            payloads.append(data[begin:end])
            at = end + 2
        return payloads, at


class Nats(Peer):
    """The NATS server."""

    name = "NATS"

    def missing(self) -> str:
        """The program."""
        return "" if find_program("nats-server") else "nats-server (Debian package nats-server)"

    def launch(self, network: Network, brokers: int, directory: Path, cores: Cores) -> None:
        """Each broker is a leaf of the one before."""
        program = find_program("nats-server")
        assert program is not None
        leaf_port = 0
        for number in range(brokers):
            folder = directory / f"nats{number + 1}"
            folder.mkdir(parents=True)
            port, before = free_port(), leaf_port
            leaf_port = free_port()
            configuration = folder / "nats.conf"
            configuration.write_text(_configuration(number + 1, port, leaf_port, before))
            server = Server([program, "-c", str(configuration)], folder, cores.broker)
            network.servers.append(server)
            server.wait_for_port(port)
            network.first_port = network.first_port or port
            network.last_port = port

    def connect(self, port: int, name: str) -> Client:
        """A client."""
        return NatsClient(port, name)


def _configuration(number: int, port: int, leaf_port: int, before: int) -> str:
    """No pings that have to be answered within a benchmark; nobody is too slow."""
    lines = [
        f'server_name: "broker{number}"',
        f'host: "{HOST}"',
        f"port: {port}",
        'ping_interval: "30m"',
        "max_pending: 268435456",
        'write_deadline: "60s"',
        "leafnodes {",
        f'  host: "{HOST}"',
        f"  port: {leaf_port}",
    ]
    if before:
        lines.append(f'  remotes: [{{ url: "nats-leaf://{HOST}:{before}" }}]')
    return "\n".join([*lines, "}"]) + "\n"
