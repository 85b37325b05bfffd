"""What every broker that is measured has to offer to the one driver.

A `Peer` starts brokers; a `Client` is one connection to one of them. What a client sends is encoded
before the clock starts; what it receives is kept as bytes, and read when the clock has stopped.
"""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from sapwood.bench.network_load import Interest, Message
from sapwood.bench.peers.server import HOST, Cores, Server
from sapwood.errors import BenchmarkError

_ANSWER_SECONDS_MAX = 60.0
_SOCKET_BUFFER_BYTES = 1 << 20


class Client(ABC):
    """A connection to a broker, as one protocol has it."""

    delimiter = b""
    """What each delivered message ends with, where deliveries are not all equally long."""

    def __init__(self, port: int, name: str) -> None:
        self.name = name
        self.socket = socket.create_connection((HOST, port), timeout=_ANSWER_SECONDS_MAX)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BUFFER_BYTES)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SOCKET_BUFFER_BYTES)
        self._pending = b""
        try:
            self.greet()
        except BaseException:
            self.socket.close()
            raise

    @abstractmethod
    def greet(self) -> None:
        """Introduce oneself, until the broker agrees."""

    @abstractmethod
    def subscribe(self, interests: Sequence[Interest]) -> None:
        """Want something; return when the broker has taken note."""

    @abstractmethod
    def encode(self, message: Message) -> bytes:
        """A message as it is published."""

    @abstractmethod
    def delivery_bytes(self, message: Message) -> int:
        """How long a message is when it is delivered; not asked where a delimiter tells."""

    @abstractmethod
    def read(self, data: bytes) -> tuple[list[bytes], int]:
        """The payloads in what was received, and how many bytes of it are read."""

    def sendable(self) -> int:
        """How many bytes of messages the broker takes now."""
        return 1 << 62

    def sent(self, size: int) -> None:  # noqa: B027 - most brokers need nothing
        """Bytes of messages were sent."""

    def told(self, data: bytes) -> None:  # noqa: B027 - most brokers need nothing
        """The broker said something to one who only publishes."""

    def arrived(self, messages: int) -> None:  # noqa: B027 - most brokers need nothing
        """So many messages have arrived in this round, as far as lengths tell."""

    def unread(self) -> bytes:
        """What has come and was not whole yet."""
        return self._pending

    def finish(self, data: bytes) -> None:
        """A round is over, in which certain bytes came."""
        self._pending = data[self.read(data)[1] :]

    def close(self) -> None:
        """End the connection."""
        self.socket.close()

    # For greetings and subscriptions, where nobody is in a hurry

    def say(self, data: bytes) -> None:
        """Send all of something."""
        self.socket.sendall(data)

    def hear(self, size: int) -> bytes:
        """So many bytes of what the broker says."""
        while len(self._pending) < size:
            self._hear_more()
        found, self._pending = self._pending[:size], self._pending[size:]
        return found

    def hear_until(self, end: bytes) -> bytes:
        """What the broker says up to certain bytes, these included."""
        while end not in self._pending:
            self._hear_more()
        at = self._pending.index(end) + len(end)
        found, self._pending = self._pending[:at], self._pending[at:]
        return found

    def _hear_more(self) -> None:
        try:
            more = self.socket.recv(1 << 16)
        except TimeoutError:
            raise BenchmarkError(f"{self.name}: no answer from the broker") from None
        if not more:
            raise BenchmarkError(f"{self.name}: the broker has closed the connection")
        self._pending += more


class Network:
    """Brokers that run, in a chain."""

    def __init__(self, client: Callable[[int, str], Client]) -> None:
        self.servers: list[Server] = []
        self.first_port = self.last_port = 0
        self._client = client
        self._clients = 0

    def publisher(self) -> Client:
        """A client at one end of the chain."""
        return self._connect(self.first_port, "publisher")

    def subscriber(self) -> Client:
        """A client at the other end."""
        return self._connect(self.last_port, "subscriber")

    def _connect(self, port: int, role: str) -> Client:
        self._clients += 1
        return self._client(port, f"{role}{self._clients:04d}")

    def processor_seconds(self) -> float | None:
        """Processor time all brokers have used."""
        used = [server.processor_seconds() for server in self.servers]
        known = [seconds for seconds in used if seconds is not None]
        return sum(known) if len(known) == len(used) else None

    def stop(self) -> None:
        """End all brokers, the last started first."""
        while self.servers:
            self.servers.pop().stop()


class Peer(ABC):
    """A kind of broker."""

    name: str

    @abstractmethod
    def missing(self) -> str:
        """What is not installed; empty if the broker can be started."""

    @abstractmethod
    def launch(self, network: Network, brokers: int, directory: Path, cores: Cores) -> None:
        """Start brokers in a chain, and wait until they listen."""

    @abstractmethod
    def connect(self, port: int, name: str) -> Client:
        """A client of the broker at a port."""

    def start(self, brokers: int, directory: Path, cores: Cores) -> Network:
        """Brokers in a chain, ready for clients. Either all of them run, or none."""
        network = Network(self.connect)
        try:
            self.launch(network, brokers, directory, cores)
        except BaseException:
            network.stop()
            raise
        return network
