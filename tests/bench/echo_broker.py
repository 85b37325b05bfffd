"""A broker so small that it can be wrong on purpose: a thread that passes fixed frames on.

Every connection says ``P`` (publisher) or ``S`` (subscriber) first and is answered ``+``. What a
publisher sends goes to all subscribers, frame by frame, as a fault may have it.
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sapwood.bench.network_load import PAYLOAD_BYTES, Interest, Message
from sapwood.bench.peers.peer import Client, Network, Peer
from sapwood.bench.peers.server import HOST, Cores

Fault = Callable[[int, bytes], list[bytes]]
"""What goes out for the frame of a number."""

FRAME_BYTES = PAYLOAD_BYTES


def none(number: int, frame: bytes) -> list[bytes]:
    """Nothing is wrong."""
    return [frame]


def dropping(at: int) -> Fault:
    """One frame is lost."""
    return lambda number, frame: [] if number == at else [frame]


def repeating(at: int) -> Fault:
    """One frame goes out twice, in place of the next."""
    return lambda number, frame: {at: [frame, frame], at + 1: []}.get(number, [frame])


def corrupting(at: int) -> Fault:
    """One frame is changed."""
    return lambda number, frame: [frame[:-1] + b"!" if number == at else frame]


class EchoClient(Client):
    """A connection to it."""

    def greet(self) -> None:
        self.say(b"P" if self.name.startswith("publisher") else b"S")
        assert self.hear(1) == b"+"

    def subscribe(self, interests: Sequence[Interest]) -> None:
        """Everyone gets everything."""

    def encode(self, message: Message) -> bytes:
        return message.payload

    def delivery_bytes(self, message: Message) -> int:
        return FRAME_BYTES

    def read(self, data: bytes) -> tuple[list[bytes], int]:
        whole = len(data) // FRAME_BYTES * FRAME_BYTES
        return [data[at : at + FRAME_BYTES] for at in range(0, whole, FRAME_BYTES)], whole


class EchoBroker(threading.Thread):
    """The broker."""

    def __init__(self, fault: Fault = none) -> None:
        super().__init__(daemon=True)
        self.fault = fault
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._wake, self._woken = socket.socketpair()
        self._connections: list[socket.socket] = []
        self._subscribers: list[socket.socket] = []
        self._rest = b""
        self._number = 0

    def run(self) -> None:
        """Until it is stopped."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    connection = key.fileobj
                    assert isinstance(connection, socket.socket)
                    if connection is self._woken:
                        return
                    if connection is self._listener:
                        self._accept(selector)
                    elif not self._pass_on(connection):
                        selector.unregister(connection)

    def _accept(self, selector: selectors.BaseSelector) -> None:
        connection, _ = self._listener.accept()
        self._connections.append(connection)
        if connection.recv(1) == b"S":
            self._subscribers.append(connection)
        else:
            selector.register(connection, selectors.EVENT_READ)
        connection.sendall(b"+")

    def _pass_on(self, publisher: socket.socket) -> bool:
        data = publisher.recv(1 << 16)
        self._rest += data
        out = []
        while len(self._rest) >= FRAME_BYTES:
            frame, self._rest = self._rest[:FRAME_BYTES], self._rest[FRAME_BYTES:]
            out += self.fault(self._number, frame)
            self._number += 1
        for subscriber in self._subscribers:
            with suppress(OSError):
                subscriber.sendall(b"".join(out))
        return bool(data)

    def stop(self) -> None:
        """End it."""
        self._wake.send(b".")
        self.join()
        for each in (self._listener, self._wake, self._woken, *self._connections):
            each.close()


class EchoPeer(Peer):
    """Starts it like any other broker."""

    def __init__(self, name: str = "echo", fault: Fault = none, missing: str = "") -> None:
        self.name = name
        self.brokers: list[EchoBroker] = []
        self._fault = fault
        self._missing = missing

    def missing(self) -> str:
        return self._missing

    def launch(self, network: Network, brokers: int, directory: Path, cores: Cores) -> None:
        broker = EchoBroker(self._fault)
        broker.start()
        self.brokers.append(broker)
        network.first_port = network.last_port = broker.port

    def connect(self, port: int, name: str) -> Client:
        return EchoClient(port, name)

    def stop(self) -> None:
        for broker in self.brokers:
            broker.stop()


@contextmanager
def echo_network(fault: Fault = none) -> Iterator[Network]:
    """A network of one such broker."""
    peer = EchoPeer(fault=fault)
    try:
        yield peer.start(1, Path(), Cores(frozenset(), frozenset()))
    finally:
        peer.stop()
