"""The process of a broker: what it says, how it stops, and that nothing is left unfinished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.living import run
from sapwood.protocol.tree import Topology
from sapwood.runtime.client import connect
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.trace.files.reader import read

pytestmark = pytest.mark.slow


@contextmanager
def broker(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`sapwood broker` on a free port, until it listens."""
    with subprocess.Popen(
        [sys.executable, "-m", "sapwood", "broker", "--listen=127.0.0.1:0", *arguments],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            yield process
        finally:
            process.kill()


def until(process: subprocess.Popen[str], word: str) -> str:
    """The first line with a word in it."""
    assert process.stderr is not None
    for line in process.stderr:
        if word in line:
            return line.strip()
    raise AssertionError(f"ended with {process.wait()} and never said {word!r}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_in_order(number: signal.Signals, tmp_path: Path) -> None:
    with broker("--id=B1", f"--trace={tmp_path}", "--admin=0") as process:
        line = until(process, "listens on ")
        assert line.startswith("broker B1 listens on sapwood://127.0.0.1:")
        assert ", admin on http://127.0.0.1:" in line
        url = line.split()[4].rstrip(",")

        async def publish() -> None:
            async with connect(url) as bus:
                await bus.publish({"price": 1}, confirm=True)

        run(publish())
        process.send_signal(number)
        assert process.wait(30) == 0
    kinds = [row.kind for row in read(tmp_path)]
    assert kinds.count("published") == 1
    assert not list(tmp_path.rglob("*.tmp"))


def test_it_stops_when_its_standard_input_ends() -> None:
    with broker("--id=B1", "--stop-with-stdin") as process:
        until(process, "is part of the network")
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0


def test_a_second_signal_ends_it_at_once() -> None:
    """A neighbour that stands still makes the orderly end wait; nobody has to wait with it."""
    with (
        LocalNetwork(Topology(("B1",), ())) as network,
        broker("--id=B2", f"--join={network['B1'].url}", "--config", "/dev/stdin") as process,
    ):
        assert process.stdin is not None
        process.stdin.write("leave_seconds = 1000.0\n")
        process.stdin.close()
        url = until(process, "listens on ").split()[4]
        until(process, "is part of the network")

        async def ask() -> None:
            network["B1"].pause()
            async with connect(url) as bus, bus.subscribe("true", settle=False):
                await bus.publish({"price": 1}, confirm=True)  # so B2 has told B1, who has not read

        run(ask())
        process.send_signal(signal.SIGTERM)
        until(process, "shuts down")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 130
        network["B1"].resume()


FIRST_NOTIFICATIONS = """
import gc, sys
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.events import ClientUp, FramesReceived
from sapwood.protocol.messages import CODEC, Subscribe
from sapwood.runtime.process import exercise
from sapwood.wire.frames import encode_head, encode_notification

def loaded():
    if "numba" not in sys.modules:
        return {}
    from numba.core.dispatcher import Dispatcher
    found = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]
    return {f"{one.__module__}.{one.__name__}": len(one.signatures) for one in found}

def notification(sequence):
    head = encode_head("b.1", {"price": 100.5 + sequence, "symbol": "IBM"})
    return encode_notification(head, sequence, 0.0)

exercise()
before = loaded()
broker = Broker(BrokerConfig(id="B1"))
for client in ("a.1", "b.1"):
    broker.handle(ClientUp(client), 0.0)
for number, text in enumerate(["price > 100", "symbol = 'IBM' and price < 5", "x like 'a%'"]):
    broker.handle(FramesReceived("a.1", CODEC.encode(Subscribe(str(number), text))), 0.0)
broker.handle(FramesReceived("b.1", notification(1)), 0.0)
broker.handle(FramesReceived("b.1", b"".join(map(notification, range(2, 500)))), 0.0)
print(*[name for name, count in loaded().items() if count != before.get(name, 0)])
"""


@pytest.mark.parametrize("kernels", ["auto", "numba"])
def test_nothing_is_compiled_or_loaded_when_the_first_notifications_come(kernels: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_NOTIFICATIONS],
        env={**os.environ, "SAPWOOD_KERNELS": kernels},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert done.stdout.split() == []
