"""The folder for what can be made again is the user's own, or a temporary one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from sapwood.pipeline.spark.cache_folder import (
    UNUSED_SECONDS_MAX,
    cache_folder,
    drop_unused,
    mark_used,
)


def test_the_cache_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "sapwood"
    assert (tmp_path / "sapwood").stat().st_mode & 0o777 == 0o700


def test_without_a_home_the_cache_is_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_folder().parent == tmp_path
    assert cache_folder().name.startswith("sapwood-")


def test_a_folder_of_somebody_else_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "sapwood").mkdir()
    owner = (tmp_path / "sapwood").stat().st_uid
    monkeypatch.setattr("os.getuid", lambda: owner + 1)
    found = cache_folder()
    assert found not in {tmp_path / "sapwood", tmp_path / f"sapwood-{owner + 1}"}
    assert found.is_dir()


def test_what_nobody_has_used_for_a_month_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = cache_folder()
    old = time.time() - UNUSED_SECONDS_MAX - 60
    for name in ("a-used.zip", "a-new.zip", "a-old.zip", "b-old.zip"):
        (folder / name).touch()
    (folder / "a-folder.zip").mkdir()
    (folder / "a-folder.zip" / "file").touch()
    for path in folder.iterdir():
        if path.name != "a-new.zip":
            os.utime(path, (old, old))
    assert mark_used(folder / "a-used.zip") == folder / "a-used.zip"
    drop_unused("a-*.zip")
    kept = sorted(path.name for path in folder.iterdir())
    assert kept == ["a-new.zip", "a-used.zip", "b-old.zip"]
    mark_used(folder / "gone.zip")
