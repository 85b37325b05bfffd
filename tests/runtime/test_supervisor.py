"""What a supervisor hears on its socket: a real one, in the file system or abstract."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from runtime.living import until
from runtime.serving import ANY_PORT, run
from sapwood.runtime.supervisor import Supervisor


class Heard:
    """A datagram socket, and every line that came."""

    def __init__(self, address: str) -> None:
        self.door = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.door.bind(address)
        self.door.setblocking(False)
        self._lines: list[str] = []

    @property
    def lines(self) -> list[str]:
        with suppress(BlockingIOError):
            while True:
                self._lines += self.door.recv(65_536).decode().split("\n")
        return self._lines

    def states(self) -> list[str]:
        """Without what is only for people, and signs of life."""
        ignored = ("STATUS=", "WATCHDOG=", "MONOTONIC_USEC=")
        return [line for line in self.lines if not line.startswith(ignored)]


@contextmanager
def hearing(address: str) -> Iterator[Heard]:
    heard = Heard(address)
    try:
        yield heard
    finally:
        heard.door.close()


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    with hearing(str(tmp_path / "notify")) as found:
        yield found


def place(heard: Heard) -> dict[str, str]:
    return {"NOTIFY_SOCKET": heard.door.getsockname()}


def attended(
    supervisor: Supervisor, why_not_ready: Callable[[], str], *patience: float
) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(supervisor.attend(why_not_ready, *patience))


def test_a_life_from_beginning_to_end(heard: Heard) -> None:
    async def check() -> None:
        reasons = ["alone: nobody answers"]
        supervisor = Supervisor(place(heard))
        task = attended(supervisor, lambda: reasons[0])
        await until(lambda: "STATUS=alone: nobody answers" in heard.lines, "why it waits")
        with supervisor.reloading():
            pass
        assert heard.states() == []  # a reload does not make it ready
        reasons[0] = ""
        await until(lambda: heard.states() == ["READY=1"], "it is ready")
        with supervisor.reloading():
            assert heard.states() == ["READY=1", "RELOADING=1"]
            assert heard.lines[-1].removeprefix("MONOTONIC_USEC=").isdigit()
        with suppress(ValueError), supervisor.reloading():
            raise ValueError("wrong files")
        said = ["READY=1", *["RELOADING=1", "READY=1"] * 2]
        assert heard.states() == said
        with supervisor.reloading():
            supervisor.stopping()
        assert heard.states() == [*said, "RELOADING=1", "STOPPING=1"]
        task.cancel()

    run(check())


def test_what_is_missing_later_is_told_to_people_only(heard: Heard) -> None:
    async def check() -> None:
        reasons = [""]
        task = attended(Supervisor(place(heard)), lambda: reasons[0])
        await until(lambda: "READY=1" in heard.lines, "it is ready")
        reasons[0] = "alone: the hub is gone"
        await until(lambda: "STATUS=alone: the hub is gone" in heard.lines, "what is missing")
        assert heard.lines == ["READY=1", "STATUS=takes part", "STATUS=alone: the hub is gone"]
        task.cancel()

    run(check())


def test_one_that_would_wait_for_ever_is_ready_at_some_time(heard: Heard) -> None:
    async def check() -> None:
        task = attended(Supervisor(place(heard)), lambda: "alone", 0.01)
        await until(lambda: heard.states() == ["READY=1"], "the patience is over")
        assert heard.lines[-1] == "STATUS=alone"
        task.cancel()

    run(check())


@pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")
def test_an_abstract_address(tmp_path: Path) -> None:
    name = f"sapwood-{secrets.token_hex(8)}"
    with hearing(f"\0{name}") as heard:
        Supervisor({"NOTIFY_SOCKET": f"@{name}"}).stopping()
        assert heard.states() == ["STOPPING=1"]


@pytest.mark.parametrize("pid", ["", str(os.getpid())], ids=["anybody", "this process"])
def test_signs_of_life_come_again_and_again(heard: Heard, pid: str) -> None:
    async def check() -> None:
        environment = {**place(heard), "WATCHDOG_USEC": "20000", "WATCHDOG_PID": pid}
        task = attended(Supervisor(environment), str)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await until(lambda: heard.lines.count("WATCHDOG=1") >= 6, "signs of life")
        assert loop.time() - began >= 0.04  # half the time apart, and not all at once
        task.cancel()

    run(check())


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "soon"},
        {"WATCHDOG_USEC": "10", "WATCHDOG_PID": "1"},
    ],
)
def test_no_sign_of_life_is_given_unless_wanted(heard: Heard, environment: dict[str, str]) -> None:
    async def check() -> None:
        reasons = ["first"]
        task = attended(Supervisor({**place(heard), **environment}), lambda: reasons[0])
        await until(lambda: "STATUS=first" in heard.lines, "the first turn")
        reasons[0] = ""
        await until(lambda: "READY=1" in heard.lines, "the second turn")
        assert "WATCHDOG=1" not in heard.lines
        task.cancel()

    run(check())


def test_without_a_supervisor_nothing_is_done() -> None:
    async def check() -> None:
        supervisor = Supervisor({"WATCHDOG_USEC": "1000"})
        await supervisor.attend(lambda: "never")
        with supervisor.reloading():
            supervisor.stopping()

    run(check())


@pytest.mark.parametrize("address", ["@", "vsock:2:1234", "notify", "/" + 200 * "long"])
def test_an_address_of_nobody_stops_nobody(address: str, tmp_path: Path) -> None:
    Supervisor({"NOTIFY_SOCKET": address}).stopping()
    Supervisor({"NOTIFY_SOCKET": str(tmp_path / "gone")}).stopping()


def test_a_supervisor_that_is_behind_is_told_later(heard: Heard) -> None:
    async def check() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.setblocking(False)
            with suppress(BlockingIOError):
                while True:
                    other.sendto(b"other", heard.door.getsockname())
        turns: list[None] = []

        def why_not_ready() -> str:
            turns.append(None)
            return ""

        task = attended(Supervisor(place(heard)), why_not_ready)
        await until(lambda: len(turns) > 1, "it was tried, and the broker went on")
        assert set(heard.lines) == {"other"}
        await until(lambda: heard.lines[-2:] == ["READY=1", "STATUS=takes part"], "it was told")
        task.cancel()

    run(check())


@pytest.mark.slow
def test_a_broker_tells_its_supervisor(heard: Heard) -> None:
    command = [sys.executable, "-m", "sapwood", "broker", "--id=B1", "--listen", ANY_PORT]
    environment = {**os.environ, **place(heard), "WATCHDOG_USEC": "2000000"}

    async def check(process: subprocess.Popen[str]) -> None:
        await until(lambda: heard.states() == ["READY=1"], "ready", 60)
        await until(lambda: heard.lines.count("WATCHDOG=1") > 1, "alive", 60)
        process.send_signal(signal.SIGHUP)
        reloaded = ["READY=1", "RELOADING=1", "READY=1"]
        await until(lambda: heard.states() == reloaded, "reloaded", 60)
        process.terminate()
        await until(lambda: heard.states() == [*reloaded, "STOPPING=1"], "stopping", 60)

    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            run(check(process), 100)
            assert process.wait(30) == 0
        finally:
            process.kill()
