"""Networks for tests: real broker processes on free loopback ports, gone when the test is over.

>>> import sapwood.sync, sapwood.testing
>>> with sapwood.testing.network("chain", 2) as net:
...     with sapwood.sync.connect(net["B1"].url) as bus, bus.subscribe("price > 100") as quotes:
...         with sapwood.sync.connect(net["B2"].url) as other:
...             _ = other.publish({"price": 120.5})
...         print(quotes.get(10)["price"])
120.5

``async with`` works as well. Brokers are named ``B1`` to ``BN``, and the parent of a broker is the
one it dials: see `sapwood.sim.topology` for the shapes.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from sapwood.errors import NetworkError
from sapwood.protocol.tree import Topology
from sapwood.sim.topology import make_topology

START_SECONDS = 60.0
"""How long a broker may take to be part of the network; machines that run tests are busy."""

_STOP_SECONDS = 15.0


class BrokerProcess:
    """One broker: a process that can be stopped, killed and started again."""

    def __init__(self, id: str, port: int, arguments: Sequence[str]) -> None:  # noqa: A002 - its name
        self.id = id
        self.port = port
        self.url = f"sapwood://127.0.0.1:{port}"
        """Where clients and other brokers reach it."""
        self.lines: list[str] = []
        """What it said so far, of all its lives."""
        self._arguments = [f"--id={id}", f"--listen=127.0.0.1:{port}", *arguments]
        self._process: subprocess.Popen[str] | None = None
        self._said = threading.Condition()
        self._reader: threading.Thread | None = None
        self._first_line = 0

    def __repr__(self) -> str:
        return f"<broker {self.id} at {self.url}, {'running' if self.is_running else 'stopped'}>"

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process is not None
        return self._process.pid

    def launch(self) -> None:
        """Start the process; it may take a while until it is part of the network."""
        self._first_line = len(self.lines)
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "sapwood", "broker", *self._arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                with self._said:
                    self.lines.append(line.rstrip("\n"))
                    self._said.notify_all()
        process.wait()
        with self._said:
            self._said.notify_all()

    def wait_until_joined(self, seconds: float = START_SECONDS) -> None:
        """Wait until it is part of the network; a NetworkError if it ends before, or takes long."""
        wanted = f"broker {self.id} is part of the network"
        with self._said:
            joined = self._said.wait_for(
                lambda: wanted in self.lines[self._first_line :] or not self.is_running, seconds
            )
        if not joined or not self.is_running:
            said = "; ".join(self.lines[self._first_line :]) or "nothing"
            what = "has not joined" if self.is_running else "has ended"
            raise NetworkError(f"broker {self.id} {what}; it said: {said}")

    def start(self) -> None:
        """Start it, perhaps again, on the port it had; return when it is part of the network."""
        self.launch()
        self.wait_until_joined()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._ended()

    def stop(self) -> int:
        """End it in an orderly way; its exit status."""
        assert self._process is not None
        self.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        return self._ended()

    def terminate(self) -> None:
        """Ask it to end."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def _ended(self) -> int:
        assert self._process is not None
        assert self._reader is not None
        status = self._process.wait()
        self._reader.join()
        return status


class Network(Mapping[str, BrokerProcess]):
    """Brokers by their ids. Use it as a context manager, with or without ``async``."""

    def __init__(self, topology: Topology, arguments: Sequence[str]) -> None:
        self.topology = topology
        self._arguments = tuple(arguments)
        self._brokers: dict[str, BrokerProcess] = {}
        self._reservations: list[socket.socket] = []

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of all brokers, ``B1`` first."""
        return tuple(broker.url for broker in self.values())

    def __getitem__(self, id: str) -> BrokerProcess:  # noqa: A002 - the name of the property
        return self._brokers[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._brokers)

    def __len__(self) -> int:
        return len(self._brokers)

    def start(self) -> None:
        """Start all brokers; return when they form one network."""
        parents = _parents(self.topology)
        ports = {name: self._reserve() for name in self.topology.brokers}
        for name in self.topology.brokers:
            parent = parents[name]
            joins = [] if parent is None else [f"--join=sapwood://127.0.0.1:{ports[parent]}"]
            self._brokers[name] = BrokerProcess(name, ports[name], [*joins, *self._arguments])
        try:
            for broker in self.values():
                broker.launch()
            deadline = time.monotonic() + START_SECONDS
            for broker in self.values():
                broker.wait_until_joined(max(0.0, deadline - time.monotonic()))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop all brokers, those last that others were linked to first."""
        running = [broker for broker in reversed(self._brokers.values()) if broker.is_running]
        for broker in running:
            broker.terminate()
        for broker in running:
            broker.stop()
        for reservation in self._reservations:
            reservation.close()
        self._reservations.clear()

    def _reserve(self) -> int:
        """A free port, kept free for a broker where that is possible.

        On Linux, whoever asks for reuse may listen on a port that another socket is only bound to,
        and nobody is given it by chance.
        """
        reservation = socket.socket()
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reservation.bind(("127.0.0.1", 0))
        port: int = reservation.getsockname()[1]
        if sys.platform == "linux":
            self._reservations.append(reservation)
        else:
            reservation.close()
        return port

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)


def network(
    shape: str = "tree",
    n: int = 3,
    *,
    seed: int = 1,
    routing: str = "covering",
    trace: str | Path | None = None,
    arguments: Sequence[str] = (),
) -> Network:
    """A network of `n` broker processes: a ``tree``, ``chain``, ``star`` or ``random`` one.

    `arguments` go to every ``sapwood broker``; `seed` is that of a random shape.
    """
    topology = make_topology(shape, n, Random(seed))
    traced = [] if trace is None else [f"--trace={trace}"]
    return Network(topology, [f"--routing={routing}", *traced, *arguments])


def _parents(topology: Topology) -> dict[str, str | None]:
    """Whom each broker dials: the neighbour that is nearer to the first broker."""
    root, *others = topology.brokers
    return {root: None, **{name: topology.path(name, root)[1] for name in others}}
