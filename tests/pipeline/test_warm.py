"""The archive of Spark's classes: made once, whole or not at all, and only then used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sapwood.errors import SparkError
from sapwood.pipeline import warm
from sapwood.pipeline.warm import exercise, main, make_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "sapwood"


def recording(content: bytes | None, status: int = 0) -> object:
    """Stands for the process that leaves an archive where it is told, or does not."""

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
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
    main([])
    assert capsys.readouterr().out == "2 MB in 0 s\n"


def test_a_little_of_everything_works(spark: SparkSession, tmp_path: Path) -> None:
    assert exercise(spark, str(tmp_path)) == 100


@pytest.mark.long
def test_java_takes_the_archive_for_its_own(own_cache: Path) -> None:
    """Told to do without nothing but the archive, it would refuse one that does not fit."""
    archive = make_archive()
    assert archive.stat().st_size > 50_000_000
    strict = (
        "from sapwood.pipeline.session import open_session\n"
        "spark = open_session('local[1]', short=True, java=('-Xshare:on',))\n"
        "print(spark.range(3).count())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", strict], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "3\n"), ran.stderr
