"""A broker in a process of its own, seen from the one that started it.

The process is ``sapwood broker``, and what it says on stderr is how it is observed. It ends when
its starter ends, however that happens: its standard input is a pipe, and a broker started so stops
when the pipe is closed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any
from urllib.request import urlopen

from sapwood.errors import NetworkError

START_SECONDS = 120.0
"""How long a broker may take to be part of the network: machines that run tests are busy, and the
first start after an upgrade compiles the matching engine."""

_STOP_SECONDS = 15.0
_LEAVE_SECONDS = 120.0
_ANSWER_SECONDS = 10.0


class BrokerProcess:
    """One broker: a process that can be stopped, killed and started again."""

    def __init__(self, id: str, port: int, admin_port: int, arguments: Sequence[str]) -> None:  # noqa: A002 - its name
        self.id = id
        self.port = port
        self.admin_port = admin_port
        self.url = f"sapwood://127.0.0.1:{port}"
        """Where clients and other brokers reach it."""
        self.admin_url = f"http://127.0.0.1:{admin_port}"
        """Where its admin endpoint is."""
        self.lines: list[str] = []
        """What it said so far, of all its lives."""
        self._arguments = [
            f"--id={id}",
            f"--listen=127.0.0.1:{port}",
            f"--admin=127.0.0.1:{admin_port}",
            "--stop-with-stdin",
            *arguments,
        ]
        self._process: subprocess.Popen[str] | None = None
        self._said = threading.Condition()
        self._reader: threading.Thread | None = None
        self._first_line = 0
        self._is_ending = False

    def __repr__(self) -> str:
        return f"<broker {self.id} at {self.url}, {'running' if self.is_running else 'stopped'}>"

    # What it is doing

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def has_died(self) -> bool:
        """Whether the process ended though nobody here wanted it to."""
        return self._process is not None and not self.is_running and not self._is_ending

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._started.pid

    @property
    def exit_status(self) -> int | None:
        """How the process ended, if it did; negative for a signal."""
        return self._started.poll()

    @property
    def last_words(self) -> str:
        """What it has said since its last start."""
        with self._said:
            return "; ".join(self.lines[self._first_line :]) or "nothing"

    @property
    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise NetworkError(f"broker {self.id} was never started; start it first")
        return self._process

    def status(self) -> dict[str, Any]:
        """What it says about itself on its admin endpoint."""
        try:
            with urlopen(f"{self.admin_url}/status", timeout=_ANSWER_SECONDS) as answer:  # noqa: S310 - http, to our own process
                found: dict[str, Any] = json.load(answer)
        except OSError as problem:
            raise NetworkError(f"broker {self.id} does not answer: {problem}") from None
        return found

    # Its life

    def launch(self) -> None:
        """Start the process; it may take a while until it is part of the network."""
        self._first_line = len(self.lines)
        self._is_ending = False
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "sapwood", "broker", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,  # Ctrl-C is for whoever started it, who then stops it
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

    def wait_until_listening(self, seconds: float = START_SECONDS) -> None:
        """Wait until it can be reached; a NetworkError if it ends before, or takes long."""
        self.wait_until_saying(f"broker {self.id} listens on ", seconds)

    def wait_until_joined(self, seconds: float = START_SECONDS) -> None:
        """Wait until it is part of the network; a NetworkError if it ends before, or takes long."""
        self.wait_until_saying(f"broker {self.id} is part of the network", seconds)

    def wait_until_saying(self, beginning: str, seconds: float = START_SECONDS) -> None:
        """Wait until it has said a line that begins so, since its last start."""

        def has_said() -> bool:
            return any(line.startswith(beginning) for line in self.lines[self._first_line :])

        with self._said:
            done = self._said.wait_for(lambda: has_said() or not self.is_running, seconds)
        if not done or not self.is_running:
            what = f"does not say {beginning!r}" if self.is_running else "has ended"
            raise NetworkError(f"broker {self.id} {what}; it said: {self.last_words}")

    def start(self) -> None:
        """Start it, perhaps again, on the port it had; return when it is part of the network."""
        self.launch()
        self.wait_until_joined()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._is_ending = True
        if self._process is not None:
            self._process.kill()
            self._ended()

    def pause(self) -> None:
        """Let it stand still, as if it hung; its connections stay."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after a pause."""
        os.kill(self.pid, signal.SIGCONT)

    def terminate(self) -> None:
        """Ask it to end, once: a second signal would end it at once, with its trace unwritten."""
        if self.is_running and not self._is_ending:
            self._started.terminate()
        self._is_ending = True

    def stop(self) -> int:
        """End it in an orderly way; its exit status."""
        self.terminate()
        try:
            self._started.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._started.kill()
        return self._ended()

    def wait(self) -> int:
        """Wait until it has ended by itself, since it was asked to leave; its exit status."""
        self._is_ending = True
        try:
            self._started.wait(_LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            raise NetworkError(
                f"broker {self.id} does not end; it said: {self.last_words}"
            ) from None
        return self._ended()

    def _ended(self) -> int:
        process = self._started
        status = process.wait()
        assert self._reader is not None
        self._reader.join()
        if process.stdin is not None:
            process.stdin.close()
        return status
