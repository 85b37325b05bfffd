"""Compiled code is kept on disk, and code of other sources is never run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sapwood.matching import compiling
from sapwood.matching.kernel import match_events
from sapwood.matching.warm import exercise, kernels


def test_the_stamp_is_that_of_all_sources(tmp_path: Path) -> None:
    def digest() -> str:
        compiling.stamp_of.cache_clear()
        return compiling.stamp_of(tmp_path)

    (tmp_path / "one.py").write_text("a = 1\n")
    (tmp_path / "two.py").write_text("b = 1\n")
    (tmp_path / "notes.txt").write_text("first")
    first = digest()
    assert digest() == first
    (tmp_path / "notes.txt").write_text("second")
    assert digest() == first
    (tmp_path / "two.py").write_text("b = 2\n")
    second = digest()
    (tmp_path / "three.py").write_text("")
    (tmp_path / "two.py").write_text("b = 1\n")
    assert len({first, second, digest()}) >= 2
    assert second != first


def test_every_kernel_has_the_stamp_where_numba_looks_for_it() -> None:
    """Numba has no public way to set it; should the private one go, this says so."""
    exercise()
    found = kernels()
    assert "sapwood.matching.kernel.match_events" in found
    for name, kernel in found.items():
        cache_file = kernel._cache._cache_file
        assert cache_file._source_stamp == compiling.stamp_of(Path(compiling.__file__).parent), name


def test_a_kernel_is_loaded_from_disk() -> None:
    exercise()
    stats: Any = match_events
    assert sum(stats.stats.cache_hits.values()) + sum(stats.stats.cache_misses.values()) >= 1
    assert Path(stats.stats.cache_path).is_dir()


MAIN = """
from kept.compiling import kernel
from kept.helper import helped

@kernel
def asked(number):
    return helped(number)

if __name__ == "__main__":
    answer = asked(20)
    print(answer, sum(asked.stats.cache_hits.values()))
"""
HELPER = """
from kept.compiling import part

@part
def helped(number):
    return number + {}
"""


@pytest.mark.slow
def test_code_compiled_from_other_sources_is_not_run(tmp_path: Path) -> None:
    """Numba by itself would not notice that a function in another file has changed."""
    package = tmp_path / "kept"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "main.py").write_text(MAIN)
    shutil.copy(compiling.__file__, package / "compiling.py")

    def run(added: int) -> str:
        (package / "helper.py").write_text(HELPER.format(added))
        code = "import runpy; runpy.run_module('kept.main', run_name='__main__')"
        command = [sys.executable, "-B", "-c", code]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=100
        )
        return done.stdout.strip()

    assert [run(1), run(1), run(2), run(2)] == ["21 0", "21 1", "22 0", "22 1"]
