"""Compiled code is kept on disk, and code of other sources is never run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba import njit

from sapwood.compiled import compiling
from sapwood.compiled.warm import kernels
from sapwood.fastpath.kernel import route
from sapwood.matching.kernel import match_events
from sapwood.matching.warm import exercise


def stamp_of(path: Path) -> str:
    compiling._source.cache_clear()
    return compiling.stamp_of(path)


def test_the_stamp_changes_with_what_is_imported_and_with_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "_ROOT", tmp_path)
    package = tmp_path / "sapwood"
    package.mkdir()
    sources = {
        "main": "from sapwood import near, other_name\nfrom sapwood.named import (\n    A,\n)\n",
        "near": "import sapwood.far\nfrom sapwood.missing import x\n",
        "far": "import sapwood.main\nfrom sapwood.main import y\n",
        "named": "A = 1\n",
        "lazy": "B = 1\n",
        "other": "def f():\n    from sapwood.lazy import B\n",
    }
    for name, text in sources.items():
        (package / f"{name}.py").write_text(text)
    before = stamp_of(package / "main.py")
    assert stamp_of(package / "main.py") == before
    for name, text in sources.items():
        (package / f"{name}.py").write_text(f"{text}\n")
        assert (stamp_of(package / "main.py") != before) == (name not in {"lazy", "other"}), name
        (package / f"{name}.py").write_text(text)
    (package / "missing.py").touch()
    assert stamp_of(package / "main.py") != before


@pytest.mark.parametrize(
    ("kernel", "imported", "other"),
    [
        (match_events, ["filters/limits", "matching/searching", "compiled/raw"], "fastpath/heads"),
        (route, ["wire/frames", "matching/layout", "fastpath/heads"], "matching/index"),
    ],
    ids=["matching", "fastpath"],
)
def test_a_kernel_depends_on_what_its_module_imports(
    kernel: Any, imported: list[str], other: str
) -> None:
    found, waiting = set(), [Path(kernel.py_func.__code__.co_filename)]
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found.add(path)
            waiting += compiling._modules(path.read_text())
    root = Path(compiling.__file__).parents[1]
    names = {path.relative_to(root).with_suffix("").as_posix() for path in found}
    assert names >= set(imported)
    assert other not in names


def test_every_kernel_has_the_stamp_where_numba_looks_for_it() -> None:
    """Numba has no public way to set it; should the private one go, this says so."""
    exercise()
    found = kernels("sapwood")
    assert "sapwood.matching.kernel.match_events" in found
    for name, kernel in found.items():
        source = Path(kernel.py_func.__code__.co_filename)
        assert kernel._cache._cache_file._source_stamp == stamp_of(source), name


def test_only_a_nogil_kernel_lets_go_of_the_interpreter() -> None:
    def same(number: int) -> int:
        return number

    made: list[Any] = [compiling.kernel(same), compiling.nogil_kernel(same)]
    assert [one.targetoptions.get("nogil", False) for one in made] == [False, True]


@pytest.mark.parametrize("decorator", [compiling.kernel, compiling.nogil_kernel])
def test_where_nothing_can_be_kept_a_kernel_is_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch, decorator: Any
) -> None:
    compile_ = njit

    def without_a_folder(*, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return compile_(**options)

    def following(number: int) -> int:
        return number + 1

    monkeypatch.setattr(compiling, "njit", without_a_folder)
    made = decorator(following)
    assert made(1) == 2
    assert made.stats.cache_path is None


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
