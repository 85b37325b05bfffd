"""How much memory a broker of Sapwood takes: by itself, for idle clients, and for subscriptions."""

from __future__ import annotations

import resource
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from sapwood.bench.network_load import quotes
from sapwood.bench.peers.peer import Network
from sapwood.bench.peers.sapwood import Sapwood
from sapwood.bench.peers.server import Cores
from sapwood.errors import BenchmarkError

SUBSCRIPTIONS = 10_000
"""Figures are told for so many, however many are made."""

_FILES_TO_SPARE = 100


class Memory(NamedTuple):
    """Bytes."""

    idle_bytes: float
    client_bytes: float
    """Of one client that only is there."""
    subscriptions_bytes: float
    """Of ten thousand subscriptions of one client."""


def measure_memory(
    directory: Path, cores: Cores, clients: int, subscriptions: int
) -> Memory | None:
    """Start a broker and let it grow; None where nobody tells how much memory a process has."""
    allow_files(clients)
    network = Sapwood().start(1, directory, cores)
    try:
        if network.servers[0].resident_bytes() is None:
            return None
        # The first client brings what is loaded only then.
        with ExitStack() as stack:
            stack.callback(network.subscriber().close)
            idle = _resident(network)
            for _ in range(clients):
                stack.callback(network.subscriber().close)
            per_client = (_resident(network) - idle) / clients
        subscriber = network.subscriber()
        subscriber.subscribe(quotes(10).interests)
        before = _resident(network)
        subscriber.subscribe(quotes(subscriptions).interests)
        per_subscription = (_resident(network) - before) / subscriptions
        subscriber.close()
        return Memory(idle, max(per_client, 0), max(per_subscription * SUBSCRIPTIONS, 0))
    finally:
        network.stop()


def _resident(network: Network) -> int:
    found = network.servers[0].resident_bytes()
    assert found is not None
    return found


def allow_files(clients: int) -> None:
    """Let this process, and what it starts, have as many connections as there are clients."""
    wanted = clients + _FILES_TO_SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= wanted:
        return
    if hard not in {resource.RLIM_INFINITY} and hard < wanted:
        raise BenchmarkError(f"{wanted} open files are needed, {hard} are allowed (ulimit -n)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
