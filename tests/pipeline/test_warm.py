"""The archive of Spark's classes: made once, whole or not at all, and only then used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pipeline.hiding import hide_java
from sapwood.errors import SparkError
from sapwood.pipeline import warm
from sapwood.pipeline.spark.java import base_archive_of, find_java
from sapwood.pipeline.warm import exercise, main, make_archive, wrong_rows
from sapwood.trace import Checker, RunSettings
from sapwood.trace.judge.verdict import VIOLATIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "sapwood"


def recording(content: bytes | None, status: int = 0) -> object:
    """Stands for the process that leaves an archive where it is told, or does not."""

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        if command[1] == "-Xshare:on":
            return subprocess.CompletedProcess(command, 0, "", "")
        if content is not None:
            Path(command[-1]).write_bytes(content)
        return subprocess.CompletedProcess(command, status, "", "no Java here\n")

    return run


def test_an_archive_is_made_once(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "run", recording(b"first"))
    archive = make_archive()
    monkeypatch.setattr(warm, "run", recording(b"second"))
    assert make_archive() == archive
    assert archive.read_bytes() == b"first"
    assert list(own_cache.iterdir()) == [archive]


@pytest.mark.parametrize(("content", "status"), [(None, 0), (b"half", 1)])
def test_half_an_archive_is_none(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, status: int
) -> None:
    monkeypatch.setattr(warm, "run", recording(content, status))
    with pytest.raises(SparkError, match=r"^no archive of Spark's classes was made: no Java here$"):
        make_archive()
    assert list(own_cache.iterdir()) == []


def test_the_command_says_what_it_made(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warm, "run", recording(b"x" * 2_000_000))
    clock = SimpleNamespace(perf_counter=iter([100.0, 103.2]).__next__)
    monkeypatch.setattr(warm, "time", clock)
    main([])
    assert capsys.readouterr().out == "2 MB in 3 s\n"


def test_where_none_can_be_made_sessions_start_without(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is part of the set-up, which must not fail for it."""
    monkeypatch.setattr(warm, "run", recording(None, 1))
    main([])
    assert capsys.readouterr().out == (
        "no archive of Spark's classes was made: no Java here; Spark will take longer to start\n"
    )


def test_an_archive_that_takes_too_long_is_none(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        if command[1] == "-Xshare:on":
            return subprocess.CompletedProcess(command, 0, "", "")
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(warm, "run", run)
    with pytest.raises(SparkError, match=r"was made within 300 s$"):
        make_archive()


@pytest.mark.slow
def test_the_package_that_brings_java_gets_an_archive_of_its_classes(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes without one, and Spark's cannot be made then."""
    java = find_java({"PATH": ""})
    warm._make_base(java)
    [base] = own_cache.iterdir()
    assert base == base_archive_of(java)
    asked = [str(java.path), "-Xshare:on", f"-XX:SharedArchiveFile={base}", "-version"]
    assert subprocess.run(asked, capture_output=True, check=False).returncode == 0


def test_a_little_of_everything_works(spark: SparkSession, tmp_path: Path) -> None:
    assert exercise(spark, str(tmp_path)) == 100


def test_what_is_audited_has_something_of_every_kind() -> None:
    """So that all that audits run is compiled. That they find the same is in `test_auditing`."""
    checker = Checker(settings={"warm": RunSettings(settle_seconds=0.0)})
    for row in wrong_rows():
        checker.add(row)
    counts = checker.verdict().counts()
    assert {kind: counts[kind] for kind in VIOLATIONS} == {
        "lost": 2, "duplicated": 1, "unexpected": 1, "out_of_order_fifo": 1,
        "out_of_order_causal": 3,
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("has_java", [True, False])
def test_java_takes_the_archive_for_its_own(
    tmp_path: Path, own_cache: Path, *, has_java: bool
) -> None:
    """Told to do without nothing but the archive, it would refuse one that does not fit."""
    environment = os.environ if has_java else hide_java(tmp_path / "bin")

    def said(*arguments: str) -> str:
        ran = subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert re.fullmatch(r"1\d\d MB in \d+ s\n", said("-m", "sapwood.pipeline.warm"))
    strict = (
        "from sapwood.pipeline.spark.session import open_session\n"
        "spark = open_session('local[1]', short=True, java=('-Xshare:on',))\n"
        "print(spark.range(3).count())\n"
    )
    assert said("-c", strict) == "3\n"
