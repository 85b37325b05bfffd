"""Compiled code is kept on disk, and code of other sources is never run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest
from numba import njit

from sapwood.compiled import compiling
from sapwood.fastpath import kernel as fastpath
from sapwood.matching import kernel as matching


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
    ("module", "imported", "other"),
    [
        (matching, ["filters/limits", "matching/searching", "compiled/raw"], "fastpath/heads"),
        (fastpath, ["wire/frames", "matching/layout", "fastpath/heads"], "matching/index"),
    ],
    ids=["matching", "fastpath"],
)
def test_a_kernel_depends_on_what_its_module_imports(
    module: Any, imported: list[str], other: str
) -> None:
    found, waiting = set(), [Path(module.__file__)]
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found.add(path)
            waiting += compiling._modules(path.read_text())
    root = Path(compiling.__file__).parents[1]
    names = {path.relative_to(root).with_suffix("").as_posix() for path in found}
    assert names >= set(imported)
    assert other not in names


WITH_NUMBA = """
from pathlib import Path
from sapwood.compiled.compiling import stamp_of
from sapwood.compiled.warm import kernels
from sapwood.matching.warm import exercise
exercise()
found = kernels("sapwood")
for name, kernel in found.items():
    stamp = stamp_of(Path(kernel.py_func.__code__.co_filename))
    met = sum(kernel.stats.cache_hits.values()) + sum(kernel.stats.cache_misses.values())
    print(name, kernel._cache._cache_file._source_stamp == stamp, met, kernel.stats.cache_path)
print(len(kernels("sapwood.matching")), kernels("sapwood.match"))
"""


@pytest.mark.slow
def test_with_numba_every_kernel_is_kept_with_its_stamp_where_numba_looks_for_it() -> None:
    """Numba has no public way to set it; should the private one go, this says so."""
    done = subprocess.run(
        [sys.executable, "-c", WITH_NUMBA],
        env={**os.environ, "SAPWOOD_KERNELS": "numba"},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    *lines, counts = [line.split() for line in done.stdout.splitlines()]
    found = {name: (is_stamped, int(met), path) for name, is_stamped, met, path in lines}
    assert "sapwood.matching.kernel.match_events" in found
    for name, (is_stamped, met, path) in found.items():
        assert (is_stamped, met > 0, Path(path).is_dir()) == ("True", True, True), name
    assert counts == [str(sum(name.startswith("sapwood.matching.") for name in found)), "{}"]


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

    monkeypatch.setattr(numba, "njit", without_a_folder)
    made = decorator(following)
    assert made(1) == 2
    assert made.stats.cache_path is None


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
