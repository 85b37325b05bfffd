"""Sessions: the one that is open, masters that cannot be, and a machine without Java."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from pipeline.cluster import cluster
from pipeline.planting import Planted, write_run
from sapwood.errors import SparkError
from sapwood.pipeline.spark import session
from sapwood.pipeline.spark.session import (
    await_workers,
    check_master,
    is_local,
    is_remote,
    master_of,
    open_session,
    spark_home,
    spark_session,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def refused(master: str) -> str:
    with pytest.raises(SparkError) as found:
        check_master(master)
    assert "\n" not in str(found.value)
    return str(found.value)


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2]", "local[2,3]"])
def test_a_local_master(master: str) -> None:
    assert is_local(master)
    check_master(master)


@pytest.mark.parametrize("master", ["yarn", "k8s://https://example.net:6443"])
def test_managers_are_left_to_spark(master: str) -> None:
    assert not is_local(master)
    check_master(master)


def test_what_is_no_master() -> None:
    assert refused("locla") == (
        "master 'locla' is none that Spark knows; allowed are local[*] (all cores here), local[2], "
        "local-cluster[WORKERS,CORES,MEGABYTES], spark://HOST:PORT, sc://HOST:PORT, yarn, k8s://…"
    )
    assert refused("local[0]").startswith("master 'local[0]' is none that Spark knows")
    assert refused("spark://host") == (
        "master 'spark://host': 'host' is not HOST:PORT, as in spark://10.0.0.1:7077"
    )


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_a_master_that_does_not_answer(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        check_master(f"{scheme}://127.0.0.1:{port}")
    assert refused(f"{scheme}://127.0.0.1:{port}") == (
        f"master {scheme}://127.0.0.1:{port} does not answer (127.0.0.1:{port}: Connection "
        "refused); start it, name another with --master, or leave it out to run on this machine"
    )


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        check_master(f"spark://127.0.0.1:1,127.0.0.1:{port}")
    assert refused(f"spark://127.0.0.1:1,127.0.0.1:{port}").count("Connection refused") == 2


def test_the_open_session_is_used(spark: SparkSession) -> None:
    assert master_of(spark) == "local[2]"
    assert open_session() is spark
    with spark_session("local[2]") as again:
        assert again is spark
    assert spark.range(3).count() == 3


def test_another_master_than_the_open_one_is_refused(spark: SparkSession) -> None:
    with pytest.raises(SparkError, match=r"a Spark session on local\[2\] is open already; stop it"):
        open_session("local[1]")


def test_settings_suit_where_and_how_long_a_job_runs() -> None:
    listing = "spark.sql.sources.parallelPartitionDiscovery.threshold"
    groups = "spark.sql.codegen.aggregate.fastHashMap.capacityBit"
    parts, adaptive = "spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled"
    short = session._own_settings("local[2]", "1g", short=True)
    assert (short[parts], short[adaptive], groups in short) == ("2", "false", False)
    assert int(short[listing]) > 1000
    thorough = session._own_settings("local[2]", "4g", short=False)
    assert (thorough[parts], adaptive in thorough, groups in thorough) == ("8", False, True)
    # Of a cluster, neither its cores are known nor how far away its files are.
    for is_short in (True, False):
        elsewhere = session._own_settings("spark://10.0.0.1:7077", "4g", short=is_short)
        assert not {listing, parts, adaptive} & set(elsewhere)


def test_workers_on_this_machine_start_as_the_driver_does() -> None:
    own, workers = "spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"
    here = session._java_settings("spark://127.0.0.1:7077", {}, ["-Dx=a b"], short=True)
    assert here[own].endswith(' "-Dx=a b"')
    assert here[own].startswith(here[workers])
    assert "TieredStopAtLevel" in here[workers]
    for master in ("local[2]", "spark://10.0.0.1:7077"):
        assert workers not in session._java_settings(master, {}, [], short=True)


def test_spark_is_where_it_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert (spark_home() / "bin" / "spark-class").exists()
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert spark_home() == Path("/opt/spark")


def test_without_spark_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(SparkError, match=r"is missing; the pipeline comes with pip install"):
        open_session()


class Silent:
    """A session whose jobs wait for a worker that never comes."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self._never = Event()

    @property
    def conf(self) -> dict[str, str]:
        return {"spark.master": "spark://127.0.0.1:7077"}

    def range(self, end: int) -> Silent:
        return self

    def toArrow(self) -> None:  # noqa: N802 - as Spark names it
        self._never.wait()

    def interruptAll(self) -> None:  # noqa: N802 - as Spark names it
        self.did.append("interrupted")

    def stop(self) -> None:
        self.did.append("stopped")
        self._never.set()


def test_a_cluster_without_workers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.pipeline.spark.session.WORKERS_SECONDS_MAX", 0.01)
    silent = Silent()
    with pytest.raises(SparkError, match=r"gave this job no worker within 0.01 s; see which"):
        await_workers(silent)  # type: ignore[arg-type]
    assert silent.did == ["interrupted", "stopped"]


@pytest.mark.long
def test_a_real_cluster_without_workers(tmp_path: Path) -> None:
    write_run(tmp_path / "t", Planted("r").usual({}))
    with cluster(tmp_path, workers=0) as started:
        ran = subprocess.run(
            [sys.executable, "-m", "sapwood", "audit", tmp_path / "t", "--master", started.url],
            env=started.environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines()[1:] == [
        "error: the master answers, but gave this job no worker within 60 s; see which workers it "
        "has, and whether they are free"
    ]


@pytest.mark.long
def test_something_that_answers_and_is_no_master(tmp_path: Path) -> None:
    """Spark asks it for a minute."""
    write_run(tmp_path, Planted("r").usual({}))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"spark://127.0.0.1:{listener.getsockname()[1]}"
        ran = subprocess.run(
            [sys.executable, "-m", "sapwood", "audit", tmp_path, "--master", url],
            capture_output=True,
            text=True,
            check=False,
        )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines()[1:] == [
        f"error: master {url} takes no job: something answers there, but it is no master of "
        "Spark, or one of another version; name another with --master"
    ]


class Failing:
    """A builder of a session that does not start."""

    def getOrCreate(self) -> None:  # noqa: N802 - as Spark names it
        raise PySparkException("[JAVA_GATEWAY_EXITED] Java gateway process exited.\n  at x")


def test_a_session_that_does_not_start_is_told_in_a_line() -> None:
    with pytest.raises(SparkError, match=r"^Spark does not start: \[JAVA_GATEWAY_EXITED\] Java"):
        session._started(Failing(), "local[2]")
    with pytest.raises(SparkError, match=r"^master spark://a:1 takes no job: something answers"):
        session._started(Failing(), "spark://a:1")


def test_a_session_elsewhere_does_not_count_as_local() -> None:
    """Over Spark Connect, the master is the server's: its workers are not ours."""
    connected = type("SparkSession", (Silent,), {"__module__": "pyspark.sql.connect.session"})()
    assert is_remote(connected)
    assert master_of(connected) == ""
    assert not is_remote(Silent())  # type: ignore[arg-type]
    assert master_of(Silent()) == "spark://127.0.0.1:7077"  # type: ignore[arg-type]
