"""Processes that are measured: they start where they should, tell what they use, and end."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import pytest

from sapwood.bench.peers.server import (
    HOST,
    Server,
    choose_cores,
    find_program,
    free_port,
    on_cores,
)
from sapwood.errors import BenchmarkError

NOWHERE: frozenset[int] = frozenset()
LISTEN = """
import socket, sys, subprocess
children = [subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)]
blob = bytearray(30_000_000)
for at in range(0, len(blob), 4096): blob[at] = 1
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True: server.accept()
"""


def start(directory: Path, port: int, code: str = LISTEN) -> Server:
    return Server([sys.executable, "-c", code, str(port)], directory / "server", NOWHERE)


def test_it_is_waited_for_and_ends_with_all_it_started(tmp_path: Path) -> None:
    port = free_port()
    server = start(tmp_path, port)
    try:
        server.wait_for_port(port)
    finally:
        server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, port))
    # What nobody has asked for the end of remains as a name without a process; a process that was
    # killed is that as soon as the system comes to it.
    deadline = time.monotonic() + 30.0
    while not {stat[0] for _, stat in server._members()} <= {"Z"}:
        assert time.monotonic() < deadline, server._members()


@pytest.mark.skipif(not Path("/proc").exists(), reason="nobody tells here")
def test_it_tells_time_and_memory_of_all_it_started(tmp_path: Path) -> None:
    port = free_port()
    server = start(tmp_path, port)
    try:
        server.wait_for_port(port)
        resident = server.resident_bytes()
        seconds = server.processor_seconds()
    finally:
        server.stop()
    assert resident is not None
    assert resident > 30_000_000
    assert seconds is not None
    assert 0 < seconds < 60


def test_one_that_ends_at_its_start_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    port = free_port()
    server = start(tmp_path, port, "print('no'); print('such luck'); raise SystemExit(3)")
    with pytest.raises(BenchmarkError, match="has ended at its start: no / such luck"):
        server.wait_for_port(port)
    server.stop()


def test_one_that_does_not_listen_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.bench.peers.server._START_SECONDS_MAX", 0.1)
    port = free_port()
    server = start(tmp_path, port, "import time; time.sleep(60)")
    try:
        with pytest.raises(BenchmarkError, match=f"does not listen on port {port}"):
            server.wait_for_port(port)
    finally:
        server.stop()


def test_programs_are_found_where_servers_are() -> None:
    assert find_program("sh")
    assert find_program("no-such-program-anywhere") is None


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no core can be chosen here")
def test_driver_and_brokers_have_different_cores() -> None:
    before = os.sched_getaffinity(0)
    cores = choose_cores()
    assert not cores.driver & cores.broker
    assert cores.driver | cores.broker <= before
    with on_cores(cores.driver):
        assert os.sched_getaffinity(0) == (cores.driver or before)
    assert os.sched_getaffinity(0) == before


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no core can be chosen here")
def test_with_one_core_there_is_no_choice() -> None:
    one = frozenset(sorted(os.sched_getaffinity(0))[:1])
    with on_cores(one):
        assert choose_cores() == (frozenset(), frozenset())
