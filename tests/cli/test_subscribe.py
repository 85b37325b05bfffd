"""`sapwood subscribe`: what it prints, when it ends, and what it says meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

import sapwood.sync
from runtime.living import until
from runtime.serving import chain_in_background
from sapwood.cli.main import run
from sapwood.filters.values import Value
from sapwood.protocol.events import Tick
from sapwood.protocol.link.handshake import SHUTDOWN, Goodbye
from sapwood.protocol.link.peer import Peer
from sapwood.runtime.client import connect
from sapwood.runtime.server import Server

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def server() -> Iterator[Server]:
    with chain_in_background(1) as servers:
        yield servers[0]


class Command:
    """`sapwood subscribe` in a process of its own, once it has settled."""

    def __init__(self, server: Server, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sapwood", "subscribe", "-s", str(server.address), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
        )
        assert self.process.stderr is not None
        self.settled = self.process.stderr.readline()

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_matches_are_printed_as_they_come(server: Server) -> None:
    with (
        Command(server, "x > 10", "y = 'a'", "--count", "3", "--timeout", "30") as command,
        sapwood.sync.connect(str(server.address), id="press") as bus,
    ):
        assert command.settled == "settled: x > 10 or y = 'a', at broker B1\n"
        assert command.process.stdout is not None
        given: list[dict[str, Value]]
        given = [{"x": 11, "y": "a"}, {"x": 1, "y": "é"}, {"y": "a"}, {"x": 12}]
        for attributes in given:
            bus.publish(attributes, b"payload")
            if attributes == {"y": "a"}:  # what has come is printed though more is wanted
                first, second = (json.loads(command.process.stdout.readline()) for _ in range(2))
        rest, err = command.process.communicate(timeout=30)
        assert first == {"id": f"{bus.name}:1", "attributes": {"x": 11, "y": "a"}}
        assert second == {"id": f"{bus.name}:3", "attributes": {"y": "a"}}
        assert json.loads(rest) == {"id": f"{bus.name}:4", "attributes": {"x": 12}}
        assert (command.process.returncode, err) == (0, "")


def test_the_time_may_end_it(server: Server, capsys: Captured) -> None:
    words = ["subscribe", "-s", str(server.address), "true", "--timeout", "0.05"]
    assert run(words) == 0
    assert run([*words, "--count", "1"]) == 1
    assert capsys.readouterr().out == ""


def test_a_lost_broker_is_a_gap_on_stderr(server: Server, capsys: Captured) -> None:
    assert server._server is not None
    loop = server._server.get_loop()
    losing = asyncio.run_coroutine_threadsafe(_lose_the_client(server), loop)
    words = ["subscribe", "-s", str(server.address), "true", "--count", "1", "--timeout", "60"]
    assert run(words) == 0
    losing.result(20)
    assert "gap: the broker was lost; now connected to B1\n" in capsys.readouterr().err


async def _lose_the_client(server: Server) -> None:
    """Forget a client, as a broker that was started anew; publish when it is back."""

    def subscribers() -> list[Peer]:
        clients = server.node.broker.clients
        peers = [peer for peer in server.node.peers.values() if peer.line is not None]
        return [peer for peer in peers if clients.claims(peer.name, "subscribed")]

    await until(lambda: len(subscribers()) == 1, "it has subscribed")
    [lost] = subscribers()
    server.node.membership.remove(lost, Goodbye(SHUTDOWN, "a test"), server.clock.now())
    server.driver.bring(Tick())
    await until(lambda: subscribers() not in ([], [lost]), "it has subscribed again")
    async with connect(str(server.address)) as bus:
        await bus.publish({"x": 1}, confirm=True)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["price > "], "error: filter: column 8: expected a value"),
        (["true", "price >"], "error: filter: column 8: expected a value"),
        (["true", "--count", "0"], "error: "),
        ([], "error: Missing argument"),
    ],
)
def test_wrong_use_is_said(words: list[str], problem: str, capsys: Captured) -> None:
    assert run(["subscribe", "-s", "127.0.0.1:1", *words]) == 2
    assert capsys.readouterr().err.startswith(problem)
