"""A Python without Sapwood imports it from a parcel, as files that many processes share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cluster import bare_python, without_path
from sapwood.pipeline.spark.shim import unpack
from sapwood.pipeline.spark.shipping import parcel

SCRIPT = """
import sys
sys.path.insert(1, {parcel!r})
import sapwood.filters.filter, sapwood.pipeline.study.worker as worker
print(sapwood.__file__)
print(worker.__file__)
print(sapwood.Filter("price > 100").covers(sapwood.Filter("price > 200")))
"""


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sapwood"


def test_a_parcel_is_unpacked_once(own_cache: Path) -> None:
    package = unpack(str(parcel()))
    assert package.parent.parent == own_cache
    assert (package / "sim" / "run.py").is_file()
    (package / "mark").touch()
    assert (unpack(str(parcel())) / "mark").exists()


@pytest.mark.slow
def test_a_bare_python_imports_sapwood_from_a_parcel(own_cache: Path, tmp_path: Path) -> None:
    python = bare_python(tmp_path / "bare")
    script = SCRIPT.format(parcel=str(parcel()))
    runs = [
        subprocess.Popen(
            [python, "-c", script],
            env={**without_path(), "XDG_CACHE_HOME": str(own_cache.parent)},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [run.communicate()[0].splitlines() for run in runs]
    assert said[0] == said[1]
    package, worker, covers = said[0]
    assert Path(package).is_relative_to(own_cache)
    assert Path(worker) == Path(package).parent / "pipeline" / "study" / "worker.py"
    assert covers == "True"
    assert [one.name for one in own_cache.glob("code-*")] == [Path(package).parent.parent.name]


def test_the_real_package_is_left_alone() -> None:
    assert Path(sys.modules["sapwood"].__file__ or "").parts[-3:] == (
        "src",
        "sapwood",
        "__init__.py",
    )
