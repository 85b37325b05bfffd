"""A network of broker processes on this machine, for `sapwood up`, the demo and tests."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from sapwood.errors import ListenError
from sapwood.protocol.tree import Topology
from sapwood.runtime.local.broker_process import START_SECONDS, BrokerProcess

ADMIN_PORT_OFFSET = 1000
"""Where ports are consecutive, the admin endpoint of a broker is this far from its own."""

_HOST = "127.0.0.1"

_FOR_EVER = "--join-seconds=0"
"""The addresses are right: whoever is dialled may only be slower to start."""


class LocalNetwork(Mapping[str, BrokerProcess]):
    """Broker processes by their ids. Use it as a context manager, with or without ``async``.

    Every broker dials the neighbour that is nearer to the first one. Ports are consecutive from
    `first_port`, or free ones if none is given. `arguments` go to every ``sapwood broker``.
    `dials` has the addresses that some brokers dial instead, such as that of a proxy in between;
    `dials_too` further ones, of links beside the tree. With `first_dials` the first broker dials a
    neighbour, too, so that it finds the others when it is started again.
    Below `data` each broker has a directory of its own for what outlives its process. With
    `advertises` every broker says where it listens, so that any two can be linked; `advertised`
    has the addresses that some say instead.
    """

    def __init__(  # noqa: PLR0913 - each is something of its own
        self,
        topology: Topology,
        arguments: Sequence[str] = (),
        *,
        first_port: int | None = None,
        dials: Mapping[str, str] | None = None,
        dials_too: Mapping[str, Sequence[str]] | None = None,
        first_dials: bool = False,
        data: Path | None = None,
        advertises: bool = False,
        advertised: Mapping[str, str] | None = None,
    ) -> None:
        self.topology = topology
        self._dials = dials or {}
        self._dials_too = dials_too or {}
        self._first_dials = first_dials
        where = advertised or {}
        self._reservations: list[socket.socket] = []
        self._parents = _parents(topology)
        ports = {
            name: self._ports(first_port, number) for number, name in enumerate(topology.brokers)
        }
        self._brokers = {
            name: BrokerProcess(
                name,
                port,
                admin,
                [
                    *self._joins(name, ports),
                    *([f"--advertise={where.get(name, f'{_HOST}:{port}')}"] if advertises else []),
                    *_kept(data, name),
                    *arguments,
                ],
            )
            for name, (port, admin) in ports.items()
        }

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

    def check_ports(self) -> None:
        """Refuse ports that something else listens on; to be called before the start."""
        for broker in self.values():
            for port in (broker.port, broker.admin_port):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    try:
                        probe.bind((_HOST, port))
                    except OSError as problem:
                        raise ListenError(
                            f"port {port}, for broker {broker.id}, cannot be used: "
                            f"{problem.strerror}; choose other ports with --port"
                        ) from None

    def start(self) -> None:
        """Start all brokers; return when they form one network.

        The first one goes ahead: if something has to be compiled, it is compiled once.
        """
        first, *others = self.values()
        try:
            first.launch()
            first.wait_until_listening()
            for broker in others:
                broker.launch()
            deadline = time.monotonic() + START_SECONDS
            for broker in self.values():
                broker.wait_until_joined(max(0.0, deadline - time.monotonic()))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop all brokers, from the edge of the tree inwards: each leaves it as a leaf."""
        try:
            self._stop_level_by_level()
        finally:
            for broker in self.values():
                broker.kill()
            for reservation in self._reservations:
                reservation.close()
            self._reservations.clear()

    def _stop_level_by_level(self) -> None:
        for names in reversed(_levels(self._parents)):
            running = [self[name] for name in names if self[name].is_running]
            for broker in running:
                broker.terminate()
            for broker in running:
                broker.stop()

    @property
    def died(self) -> list[BrokerProcess]:
        """Brokers whose process ended by itself."""
        return [broker for broker in self.values() if broker.has_died]

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

    def _joins(self, name: str, ports: Mapping[str, tuple[int, int]]) -> list[str]:
        other = self._parents[name]
        if other is None and self._first_dials:
            other = self.topology.neighbours(name)[0]
        if other is None:
            return []
        return [
            _FOR_EVER,
            f"--join={self._dials.get(name, f'sapwood://{_HOST}:{ports[other][0]}')}",
            *(f"--join={address}" for address in self._dials_too.get(name, ())),
        ]

    def _ports(self, first_port: int | None, number: int) -> tuple[int, int]:
        """The port of a broker, and that of its admin endpoint."""
        if first_port is not None:
            port = first_port + number
            return port, port + ADMIN_PORT_OFFSET
        return self._reserve(), self._reserve()

    def _reserve(self) -> int:
        """A free port, kept free for a broker where that is possible.

        On Linux, whoever asks for reuse may listen on a port that another socket is only bound to,
        and nobody is given it by chance.
        """
        reservation = socket.socket()
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reservation.bind((_HOST, 0))
        port: int = reservation.getsockname()[1]
        if sys.platform == "linux":
            self._reservations.append(reservation)
        else:
            reservation.close()
        return port


def _kept(data: Path | None, name: str) -> list[str]:
    return [] if data is None else [f"--data={data / name}"]


def _parents(topology: Topology) -> dict[str, str | None]:
    """Whom each broker dials: the neighbour that is nearer to the first broker."""
    root, *others = topology.brokers
    return {root: None, **{name: topology.path(name, root)[1] for name in others}}


def _levels(parents: Mapping[str, str | None]) -> list[list[str]]:
    """The brokers by their distance from the root."""
    levels: list[list[str]] = [[name for name, parent in parents.items() if parent is None]]
    while levels[-1]:
        above = set(levels[-1])
        levels.append([name for name, parent in parents.items() if parent in above])
    return levels[:-1]
