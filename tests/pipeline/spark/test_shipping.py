"""What is sent to workers: all of Sapwood that they need, and the same each time."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sapwood
from sapwood.pipeline.spark.shipping import parcel, ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = Path(sapwood.__file__).parent


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "sapwood"


def payload(path: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(zipfile.ZipFile(path).read("sapwood-payload.zip")))


def test_the_parcel_has_what_workers_need(own_cache: Path) -> None:
    sent = set(payload(parcel()).namelist())
    for name in ("__init__.py", "filters/grammar.lark", "sim/run.py", "pipeline/study/worker.py"):
        assert f"sapwood/{name}" in sent
    folders = {name.split("/")[1] for name in sent}
    assert folders & {"cli", "bench", "runtime"} == set()
    assert not [name for name in sent if name.endswith(".pyc")]


def test_the_parcel_is_made_once(own_cache: Path) -> None:
    first = parcel()
    before = first.read_bytes()
    first.write_bytes(b"kept")
    assert parcel() == first
    assert first.read_bytes() == b"kept"
    first.unlink()
    assert parcel().read_bytes() == before


def test_other_sources_are_another_parcel(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = parcel()
    monkeypatch.setattr("sapwood.pipeline.spark.shipping._LEFT_OUT", ("sim",))
    assert parcel() != first


def test_a_session_in_this_process_needs_none(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.pipeline.spark.shipping.parcel", pytest.fail)
    ship(spark)
