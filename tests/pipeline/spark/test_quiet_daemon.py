"""A worker whose Java has hung up says nothing; Spark's own prints a traceback."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


def said_when_java_hangs_up(module: str, folder: Path) -> str:
    """Start a daemon as Java does, ask for a worker, and go away before it has answered."""
    environment = {
        **os.environ,
        "PYTHON_UNIX_DOMAIN_ENABLED": "true",
        "PYTHON_WORKER_FACTORY_SOCK_DIR": str(folder),
        "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1",
        "SPARK_REUSE_WORKER": "1",
    }
    with subprocess.Popen(
        [sys.executable, "-m", module, "pyspark.worker"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        assert daemon.stderr is not None
        (length,) = struct.unpack("!i", daemon.stdout.read(4))
        path = daemon.stdout.read(length).decode()
        with socket.socket(socket.AF_UNIX) as java:
            java.connect(path)
            (pid,) = struct.unpack("!i", java.recv(4))
            assert pid > 0
        # The worker has a copy of the daemon's stderr: it ends when both have ended.
        await_end(pid)
        daemon.stdin.close()
        return daemon.stderr.read().decode()


def await_end(pid: int) -> None:
    import psutil  # type: ignore[import-untyped]

    if psutil.pid_exists(pid):
        psutil.wait_procs([psutil.Process(pid)])


@pytest.mark.slow
def test_a_worker_whose_java_has_gone_is_quiet() -> None:
    with TemporaryDirectory() as name:  # a socket's path is short
        folder = Path(name)
        assert "BrokenPipeError" in said_when_java_hangs_up("pyspark.daemon", folder)
        assert said_when_java_hangs_up("sapwood.pipeline.spark.quiet_daemon", folder) == ""
