"""The pipeline uses nothing but DataFrames, and so runs over Spark Connect."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sapwood.pipeline
from expecting import expect_none
from pipeline import driving
from pipeline.cluster import bare_python, daemon, without_path
from pipeline.samples import digest_without_spark
from pipeline.spark.test_masters import prepare
from sapwood.pipeline.spark.java import find_java, java_home, java_options
from sapwood.pipeline.spark.session import spark_home
from sapwood.pipeline.study.study_file import load

PACKAGE = Path(sapwood.pipeline.__file__).parent
BANNED = re.compile(r"sparkContext|SparkContext|rdd|RDD|foreach|_jvm|_jsc|_jdf|_sc|_jsparkSession")
"""What a session or a DataFrame has only where its Java is in this process."""


def java_access(source: str) -> Iterator[str]:
    """Each use of what Spark Connect has not got."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and BANNED.fullmatch(node.attr):
            yield f"line {node.lineno}: .{node.attr}"
        elif isinstance(node, ast.alias) and BANNED.fullmatch(node.name):
            yield f"line {node.lineno}: import {node.name}"


ASKING = {"hadoop_files.py", "progress.py"}
"""Where Java is asked, but never over Spark Connect: there Arrow reads footers, and nobody is told
how many tasks are done."""


def test_nothing_but_dataframes() -> None:
    expect_none(
        f"{path.name}: {found}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for found in java_access(path.read_text())
        if path.name not in ASKING
    )


@pytest.mark.parametrize(
    "source",
    [
        "spark.sparkContext.setLogLevel('OFF')",
        "rows.rdd.map(len)",
        "spark._jvm.System.gc()",
        "from pyspark import SparkContext",
    ],
)
def test_java_access_is_found(source: str) -> None:
    assert len(list(java_access(source))) == 1


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="needs pyspark[connect]")
def test_spark_connect_gives_the_same(tmp_path: Path) -> None:
    """A server without Sapwood, which is sent along; against a session in a process of its own."""
    outcomes = {}
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        prepare(tmp_path / name)
    outcomes["here"] = drive(tmp_path / "here", "local[1]")
    java = find_java(os.environ)
    environment = {
        **without_path(),
        "JAVA_HOME": str(java_home(java)),
        "PYSPARK_PYTHON": str(bare_python(tmp_path / "bare")),
        "SPARK_HOME": str(spark_home()),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    command = [
        "org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", "--name", "connect",
        "--driver-java-options", " ".join(java_options(java, spark_home(), short=True)),
        "--conf", "spark.ui.enabled=false",
        "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
        "--conf", "spark.connect.grpc.binding.port=0",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
    ]  # fmt: skip
    with daemon(command, environment, r"Connect server started at: \S+:(\d+)") as (_, port):
        outcomes["there"] = drive(tmp_path / "there", f"sc://127.0.0.1:{port}")
    for outcome in outcomes.values():
        del outcome["javas"], outcome["daemons"]
    assert outcomes["here"] == outcomes["there"]
    digest = digest_without_spark(load(tmp_path / "here" / "study.toml"))
    assert outcomes["there"]["study"]["digest"] == digest


def drive(folder: Path, master: str) -> dict[str, Any]:
    """What the driver prints."""
    ran = subprocess.run(
        [sys.executable, driving.__file__, folder, master, "audit", "traffic", "study"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    printed: dict[str, Any] = json.loads(ran.stdout)
    return printed
