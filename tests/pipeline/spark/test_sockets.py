"""Spark's Java and Python talk through sockets in a folder of their own."""

from __future__ import annotations

import atexit
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sapwood.pipeline.spark import sockets
from sapwood.pipeline.spark.session import _own_settings
from sapwood.pipeline.spark.sockets import socket_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENABLED, FOLDER = (f"spark.python.unix.domain.socket.{name}" for name in ("enabled", "dir"))


@pytest.fixture
def first_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has no folder yet."""
    monkeypatch.setattr(sockets, "_folder", sockets._folder.__wrapped__)
    monkeypatch.setattr(atexit, "register", lambda *_, **__: None)


def test_workers_are_reached_through_them(spark: SparkSession) -> None:
    spark.range(2).mapInArrow(lambda batches: batches, "id long").toArrow()
    assert spark.conf.get(ENABLED) == "true"
    folder = Path(spark.conf.get(FOLDER) or "")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    found = list(folder.iterdir())
    assert found
    assert all(path.is_socket() for path in found)


def test_only_short_jobs_use_them() -> None:
    settings = {short: _own_settings("local[2]", "1g", short=short) for short in (True, False)}
    assert ENABLED in settings[True]
    assert ENABLED not in settings[False]
    assert ENABLED not in _own_settings("spark://127.0.0.1:7077", "1g", short=True)


def test_the_folder_goes_with_the_process() -> None:
    program = "from sapwood.pipeline.spark.sockets import socket_settings as s; print(s()[{!r}])"
    ran = subprocess.run(
        [sys.executable, "-c", program.format(FOLDER)], capture_output=True, text=True, check=True
    )
    assert Path(ran.stdout.strip()).parent == Path(tempfile.gettempdir())
    assert not Path(ran.stdout.strip()).exists()


@pytest.mark.usefixtures("first_time")
def test_a_path_is_never_too_long_for_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("x" * 60)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(deep))
    folder = Path(socket_settings()[FOLDER])
    try:
        assert folder.parent == Path("/tmp")
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(folder / f".{'0' * 36}.sock"))
    finally:
        shutil.rmtree(folder)


@pytest.mark.usefixtures("first_time")
def test_where_there_are_none_spark_does_as_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "_PATH_BYTES_MAX", 10)
    assert socket_settings() == {}
    monkeypatch.delattr(socket, "AF_UNIX")
    assert socket_settings() == {}
