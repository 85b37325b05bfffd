"""A standalone Spark cluster on loopback, from the classes that the package brings.

Its workers' Python has the packages that Sapwood needs, and not Sapwood.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple

from sapwood.pipeline.spark.java import find_java, java_home, java_options
from sapwood.pipeline.spark.session import spark_home

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"

_END_SECONDS = 20.0


class Cluster(NamedTuple):
    """A master with its workers; a worker and all it started are one process group."""

    url: str
    workers: tuple[int, ...]
    environment: dict[str, str]
    """For a driver: with the Python that workers are to use."""


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and some workers of one core each, until the end of the block."""
    java = find_java(os.environ)
    quick = " ".join(java_options(java, spark_home(), short=True))
    environment = {
        **without_path(),
        "JAVA_HOME": str(java_home(java)),
        "SPARK_HOME": str(spark_home()),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": quick,
        "SPARK_LOCAL_DIRS": str(folder / "local"),  # who is killed tidies nothing up
        "SPARK_LOCAL_IP": "127.0.0.1",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    with ExitStack() as stack:
        host = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        url = stack.enter_context(
            daemon([_MASTER, *host], environment, r"Starting Spark master at (spark://\S+)")
        )[1]

        def worker(number: int) -> int:
            given = [*host, "-c", "1", "-m", "1g", "-d", str(folder / f"work{number}"), url]
            started = daemon([_WORKER, *given], environment, "Successfully registered (with)")
            return stack.enter_context(started)[0]

        with ThreadPoolExecutor(max(1, workers)) as pool:
            pids = tuple(pool.map(worker, range(workers)))
        driver = {**os.environ, "PYSPARK_PYTHON": str(bare_python(folder / "bare"))}
        yield Cluster(url, pids, driver)


def spark_submit(started: Cluster) -> tuple[list[str], dict[str, str]]:
    """How somebody hands a job to a cluster: the command without the script, and its environment.

    The driver's Python has Sapwood, those of the workers have not.
    """
    java = find_java(os.environ)
    quick = " ".join(java_options(java, spark_home(), short=True))
    settings = ("spark.ui.enabled=false", "spark.driver.host=127.0.0.1")
    command = [str(spark_home() / "bin" / "spark-submit"), "--master", started.url]
    for setting in settings:
        command += ["--conf", setting]
    for who in ("driver", "executor"):
        command += ["--conf", f"spark.{who}.extraJavaOptions={quick}"]
    environment = {
        **started.environment,
        "JAVA_HOME": str(java_home(java)),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": str(spark_home()),
    }
    return command, environment


@contextmanager
def daemon(
    command: list[str], environment: dict[str, str], ready: str
) -> Iterator[tuple[int, str]]:
    """Start one, wait for what it says when it is ready; its process group, and what it said."""
    with subprocess.Popen(
        [spark_home() / "bin" / "spark-class", *command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        draining = Thread(target=_drain, args=(process.stderr,), daemon=True)
        try:
            said: list[str] = []
            for line in process.stderr:
                said.append(line)
                if found := re.search(ready, line):
                    break
            else:
                raise AssertionError("".join(said))
            draining.start()
            yield process.pid, found[1]
        finally:
            kill_group(process.pid)
            if draining.ident is not None:
                draining.join(_END_SECONDS)  # it reads what is closed behind this block


def _drain(said: IO[str]) -> None:
    """Go on reading, so that the process never waits for us."""
    with suppress(ValueError):  # closed, since somebody else still had the other end
        for _ in said:
            pass


def kill_group(group: int) -> None:
    """End a process and all it started, at once."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def without_path() -> dict[str, str]:
    """The environment, without what would let any Python find Sapwood."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def bare_python(folder: Path) -> Path:
    """A Python that has our packages but not Sapwood: `.pth` files are not followed twice."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    (packages / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    imported = subprocess.run(
        [python, "-c", "import numba, pyarrow; import sapwood"],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=without_path(),
    )
    assert "No module named 'sapwood'" in imported.stderr
    return python
