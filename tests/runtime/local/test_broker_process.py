"""A broker in a process of its own: observed, stopped, killed, paused and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from sapwood.errors import NetworkError
from sapwood.protocol.tree import Topology
from sapwood.runtime.local.broker_process import BrokerProcess
from sapwood.runtime.local.local_network import LocalNetwork

pytestmark = pytest.mark.slow


def test_a_life_and_another_one() -> None:
    with LocalNetwork(Topology(("B1",), ())) as network:
        broker = network["B1"]
        assert broker.is_running
        assert not broker.has_died
        first = broker.status()
        assert first["id"] == "B1"
        broker.kill()
        assert (broker.is_running, broker.has_died) == (False, False)
        assert broker.exit_status == -signal.SIGKILL
        with pytest.raises(NetworkError, match="broker B1 does not answer: "):
            broker.status()
        broker.start()
        assert broker.status()["session"] > first["session"]
        broker.pause()
        broker.resume()
        assert broker.status()["id"] == "B1"
        assert broker.stop() == 0
        assert broker.lines.count("broker B1 is part of the network") == 2


def test_one_that_dies_by_itself_has_died() -> None:
    with LocalNetwork(Topology(("B1",), ())) as network:
        os.kill(network["B1"].pid, signal.SIGKILL)
        assert network["B1"]._started.wait(10) == -signal.SIGKILL
        assert network["B1"].has_died
        assert network.died == [network["B1"]]


def test_one_that_cannot_start_is_quoted() -> None:
    broker = BrokerProcess("B1", 7470, 8470, ["--routing=odd"])
    with pytest.raises(NetworkError, match=r"^broker B1 was never started"):
        _ = broker.pid
    with pytest.raises(NetworkError, match=r"broker B1 has ended; it said: error: --routing is 'o"):
        broker.start()
    assert broker.stop() == 2


def test_it_does_not_outlive_its_starter() -> None:
    starter = textwrap.dedent(
        """
        import sys
        from sapwood.protocol.tree import Topology
        from sapwood.runtime.local.local_network import LocalNetwork
        network = LocalNetwork(Topology(("B1",), ()))
        network.start()
        print(network["B1"].pid, flush=True)
        sys.stdin.read()
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    watched = subprocess.run(["tail", f"--pid={pid}", "-f", "/dev/null"], timeout=30, check=False)
    assert watched.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
