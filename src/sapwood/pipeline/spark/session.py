"""Open the Spark session that a job runs in.

Embedded in this process by default, with no set-up; on a cluster with `master`; or whichever
session is open already, as in a notebook or under `spark-submit`. A master that does not answer is
an error within seconds, before a job waits for it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from sapwood.errors import SparkError
from sapwood.pipeline.spark.errors import cause_of, job_errors
from sapwood.pipeline.spark.java import find_java, java_home, java_options
from sapwood.pipeline.spark.sockets import socket_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWER_SECONDS_MAX = 5.0
"""How long a master may take to accept a connection."""

WORKERS_SECONDS_MAX = 60.0
"""How long a cluster may take to give a job its first worker."""

UNCOMPILED: Final[Mapping[str, str]] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings for jobs of few rows: queries are interpreted. Each is run once or twice, and to write,
load and warm up a class for it takes longer than its rows."""

_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)(,\d+)?\])?")
_SMALL_CLUSTER = re.compile(r"local-cluster\[[1-9]\d*,[1-9]\d*,[1-9]\d*\]")
_STANDALONE = re.compile(r"spark://([^/\s]+)")
_CONNECT = re.compile(r"sc://([^/;\s]+).*")
_ALLOWED = (
    "local[*] (all cores here), local[2], local-cluster[WORKERS,CORES,MEGABYTES], "
    "spark://HOST:PORT, sc://HOST:PORT, yarn, k8s://…"
)
_LOOPBACK = ("127.", "localhost", "[::1]")
_CONNECT_PORT = 15002
_MISSING = "{} is missing; the pipeline comes with pip install 'sapwood[spark]'"
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


def open_session(
    master: str | None = None,
    *,
    app: str = "sapwood",
    short: bool = False,
    memory: str = "",
    java: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """The session that is open already, or a new one.

    `short` starts quicker and computes slower: for jobs of some seconds. `memory` is what the
    driver's Java may use at most, as Spark writes it (`4g`). `java` are further options of the
    driver's Java, `settings` further settings of Spark; all of them count for a new session only.
    """
    if master is not None:
        check_master(master)
    session_type = _session_type()
    opened = session_type.getActiveSession()
    if opened is not None:
        return _as_asked(opened, master)
    if master is not None and _CONNECT.fullmatch(master):
        return _remote(session_type, master)
    # Under spark-submit, and with SPARK_REMOTE, somebody else has said where to run.
    is_told = "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ
    if master is None and not is_told:
        master = "local[*]"
    builder = session_type.builder.appName(app)
    if master is not None:
        builder = builder.master(master)
    environment: dict[str, str] = {}
    if not is_told:
        chosen = _own_settings(master or "", memory or ("1g" if short else "4g"), short=short)
        chosen |= _java_settings(master or "", environment, java, short=short)
        for name, value in {**chosen, **(settings or {})}.items():
            builder = builder.config(name, value)
        if is_local(master) or "PYSPARK_PYTHON" not in os.environ:
            environment["PYSPARK_PYTHON"] = sys.executable
    with _set(environment):
        return _started(builder, master)


def is_local(master: str | None) -> bool:
    """Whether a master is this process itself."""
    return master is not None and _LOCAL.fullmatch(master) is not None


def master_of(spark: SparkSession) -> str:
    """Where a session runs; empty over Spark Connect, where only the server knows."""
    return "" if is_remote(spark) else spark.conf.get("spark.master", "") or ""


def is_remote(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect: its master may be local, but elsewhere."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def await_workers(spark: SparkSession) -> None:
    """Wait until a cluster has given a session its first worker; an error if it takes too long.

    Without one, Spark would wait for ever, and say nothing.
    """
    if is_local(master_of(spark)):
        return
    answers: SimpleQueue[Exception | None] = SimpleQueue()

    def ask() -> None:
        try:
            spark.range(1).toArrow()
        except job_errors() as problem:
            answers.put(problem)
        else:
            answers.put(None)

    # Not a pool: nobody is to wait for a question that is never answered.
    Thread(target=ask, daemon=True).start()
    try:
        problem = answers.get(timeout=WORKERS_SECONDS_MAX)
    except Empty:
        if not is_remote(spark):
            spark.interruptAll()
            spark.stop()
        raise SparkError(
            f"the master answers, but gave this job no worker within {WORKERS_SECONDS_MAX:g} s; "
            "see which workers it has, and whether they are free"
        ) from None
    if problem is not None:
        raise SparkError(f"the master does not do jobs: {cause_of(problem)}") from problem


def check_master(master: str) -> None:
    """Refuse a master that cannot be one, or that does not answer."""
    if is_local(master) or master == "yarn" or master.startswith("k8s://"):
        return
    if _SMALL_CLUSTER.fullmatch(master):
        return
    standalone, connect = _STANDALONE.fullmatch(master), _CONNECT.fullmatch(master)
    if standalone is not None:
        _check_answers(master, [_address(master, one) for one in standalone[1].split(",")])
    elif connect is not None:
        _check_answers(master, [_address(master, connect[1], _CONNECT_PORT)])
    else:
        raise SparkError(f"master {master!r} is none that Spark knows; allowed are {_ALLOWED}")


def _address(master: str, text: str, port: int | None = None) -> tuple[str, int]:
    host, colon, digits = text.rpartition(":")
    if not colon and port is not None:
        return text, port
    if not host or not digits.isdigit():
        raise SparkError(
            f"master {master!r}: {text!r} is not HOST:PORT, as in spark://10.0.0.1:7077"
        )
    return host.strip("[]"), int(digits)


def _check_answers(master: str, addresses: list[tuple[str, int]]) -> None:
    """One of several masters is enough: the others may stand by."""
    problems = []
    for address in addresses:
        try:
            socket.create_connection(address, ANSWER_SECONDS_MAX).close()
        except OSError as problem:
            problems.append(f"{address[0]}:{address[1]}: {problem.strerror or problem}")
        else:
            return
    raise SparkError(
        f"master {master} does not answer ({'; '.join(problems)}); start it, name another with "
        "--master, or leave it out to run on this machine"
    )


def spark_home() -> Path:
    """Where Spark is: what SPARK_HOME names, else the folder of the package."""
    told = os.environ.get("SPARK_HOME")
    if told:
        return Path(told)
    package = importlib.util.find_spec("pyspark")
    if package is None or package.origin is None:
        raise SparkError(_MISSING.format("pyspark"))
    return Path(package.origin).parent


@contextmanager
def spark_session(master: str | None = None, **options: Any) -> Iterator[SparkSession]:
    """A session as `open_session` gives it, stopped at the end if it was opened for this."""
    opened = _session_type().getActiveSession()
    spark = open_session(master, **options)
    try:
        yield spark
    finally:
        if opened is None:
            spark.stop()


def _started(builder: Any, master: str | None) -> SparkSession:
    """A new session. Spark asks a silent master for a minute, then gives no reason."""
    try:
        session: SparkSession = builder.getOrCreate()
    except job_errors() as problem:
        if master is not None and _STANDALONE.fullmatch(master):
            raise SparkError(
                f"master {master} takes no job: something answers there, but it is no master of "
                "Spark, or one of another version; name another with --master"
            ) from problem
        raise SparkError(f"Spark does not start: {cause_of(problem)}") from problem
    return session


def _session_type() -> type[SparkSession]:
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - half a second, and optional
    except ImportError as problem:
        raise SparkError(_MISSING.format(problem.name)) from None
    return SparkSession


def _as_asked(opened: SparkSession, master: str | None) -> SparkSession:
    running = master_of(opened)
    if master is not None and running and running != master:
        raise SparkError(
            f"a Spark session on {running} is open already; stop it to run on {master}, or leave "
            "the master out to use it"
        )
    return opened


def _remote(session_type: type[SparkSession], master: str) -> SparkSession:
    try:
        return session_type.builder.remote(master).getOrCreate()
    except ImportError as problem:
        raise SparkError(
            f"{master} needs Spark Connect's packages: pip install 'pyspark[connect]' ({problem})"
        ) from None


def _own_settings(master: str, memory: str, *, short: bool) -> dict[str, str]:
    """What suits our jobs, beside what Spark does by itself."""
    settings = {
        "spark.driver.memory": memory,
        # Compiled queries are kept: an audit has more than the hundred that Spark would keep.
        "spark.sql.codegen.cache.maxEntries": "5000",
        # Otherwise Java is asked for every column, so that errors may say where it was made.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if is_local(master):
        # Only here: workers elsewhere get Sapwood after their daemon has started.
        settings["spark.python.daemon.module"] = "sapwood.pipeline.spark.quiet_daemon"
        # Shuffles stay on this machine: a few parts per core, joined where they are small.
        settings["spark.sql.shuffle.partitions"] = str((1 if short else 4) * _cores(master))
        # Files are looked up here: as a job with a task for each, it takes seconds for hundreds.
        settings["spark.sql.sources.parallelPartitionDiscovery.threshold"] = "10000"
    if short and is_local(master):
        # Looking at a query again after each stage takes longer than its few rows.
        settings["spark.sql.adaptive.enabled"] = "false"
        # So does sending a small table ahead, as a job of its own, where nobody asked for it.
        settings["spark.sql.autoBroadcastJoinThreshold"] = "-1"
        settings |= socket_settings()
    if not short:
        # Groups by the million, as notifications are, then stay in compiled code.
        settings["spark.sql.codegen.aggregate.fastHashMap.capacityBit"] = "20"
    if is_local(master) or _is_loopback(master):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def _java_settings(
    master: str, environment: dict[str, str], further: Sequence[str], *, short: bool
) -> dict[str, str]:
    """Choose a Java; it goes into the environment, its options into the settings.

    Workers on this machine start like the driver. Those elsewhere have a Java of their own, of
    which nothing is known here.
    """
    java = find_java(os.environ)
    environment["JAVA_HOME"] = str(java_home(java))
    options = java_options(java, spark_home(), short=short)
    own = [*options, f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}", *further]
    settings = {"spark.driver.extraJavaOptions": _quoted(own)}
    if _is_loopback(master):
        settings["spark.executor.extraJavaOptions"] = _quoted(options)
    return settings


def _quoted(options: Sequence[str]) -> str:
    return " ".join(f'"{option}"' if " " in option else option for option in options)


def _cores(master: str) -> int:
    found = _LOCAL.fullmatch(master)
    if found is None or found[1] is None:
        return 1
    return os.cpu_count() or 1 if found[2] == "*" else int(found[2])


def _is_loopback(master: str) -> bool:
    is_small_cluster = _SMALL_CLUSTER.fullmatch(master) is not None
    return is_small_cluster or master.startswith(tuple(f"spark://{name}" for name in _LOOPBACK))


@contextmanager
def _set(environment: Mapping[str, str]) -> Iterator[None]:
    """Environment variables that only what is started here should see."""
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


__all__ = [
    "UNCOMPILED",
    "await_workers",
    "check_master",
    "is_local",
    "is_remote",
    "master_of",
    "open_session",
    "spark_home",
    "spark_session",
]
