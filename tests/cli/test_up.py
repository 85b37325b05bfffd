"""`sapwood up`: a network until Ctrl-C; deaths are told; nothing is left running."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from sapwood.cli.main import run
from sapwood.trace.files.reader import read

Captured = pytest.CaptureFixture[str]


def port_range(count: int) -> int:
    """The first of some ports that are free now, with those for admin endpoints."""
    chance = Random()
    while True:
        first = chance.randrange(20_000, 30_000)
        try:
            for number in range(count):
                for port in (first + number, first + number + 1000):
                    with socket.socket() as probe:
                        probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first


@contextmanager
def up(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "sapwood", "up", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_network_until_it_is_interrupted(number: signal.Signals, tmp_path: Path) -> None:
    port = port_range(3)
    arguments = ["--brokers=3", "--shape=star", f"--port={port}", f"--trace={tmp_path}", "--json"]
    with up(*arguments) as process:
        assert process.stdout is not None
        found = json.loads(process.stdout.readline())
        assert found["links"] == [["B1", "B2"], ["B1", "B3"]]
        assert [one["url"] for one in found["brokers"]] == [
            f"sapwood://127.0.0.1:{port + number}" for number in range(3)
        ]
        pids = [one["pid"] for one in found["brokers"]]
        assert all(map(is_alive, pids))
        process.send_signal(number)
        assert process.wait(60) == 0
        assert not any(map(is_alive, pids))
    assert {row.broker for row in read(tmp_path)} == {"B1", "B2", "B3"}


@pytest.mark.slow
def test_a_death_is_told_and_the_last_one_ends_it() -> None:
    port = port_range(2)
    with up("--brokers=2", f"--port={port}") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline().strip() for _ in range(2)]
        assert lines[1] == (
            f"B2  sapwood://127.0.0.1:{port + 1}  admin http://127.0.0.1:{port + 1001}"
        )
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        pids = [int(word) for word in children.read_text().split()]
        assert len(pids) == 2
        os.kill(pids[1], signal.SIGKILL)
        said = next(line for line in process.stderr if line.startswith("broker B2 "))
        assert said.startswith("broker B2 has ended (status -9); it said: broker B2 ")
        os.kill(pids[0], signal.SIGKILL)
        assert process.wait(60) == 1
        assert process.stderr.read().endswith("no broker is left\n")


def test_ports_in_use_are_told_before_anything_starts(capsys: Captured) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert run(["up", "--brokers", "1", "--port", str(port)]) == 2
    _, err = capsys.readouterr()
    assert err == (
        f"error: port {port}, for broker B1, cannot be used: Address already in use; "
        "choose other ports with --port\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--shape", "ring"], "'ring'; choose from tree, chain, star, random"),
        (["--routing", "odd"], "no routing algorithm 'odd'; there are flooding, simple, "),
        (["--brokers", "0"], "'--brokers': Input should be greater than or equal to 1"),
        (["--port", "64001"], "'--port': Input should be less than or equal to 64000"),
    ],
)
def test_wrong_use_is_told_before_anything_starts(
    arguments: list[str], said: str, capsys: Captured
) -> None:
    assert run(["up", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
