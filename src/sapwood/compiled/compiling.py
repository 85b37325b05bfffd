"""Compile kernels, keep them on disk, and never run a stale one.

Numba takes a cached kernel for current when the file that defines it is unchanged; that a function
or a constant from another file has changed goes unnoticed. Here the stamp of a kernel is a digest
of the sources it can depend on: its own module, and all modules of this project that it imports,
directly or not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

_PROJECT, _, _ = __name__.partition(".")
_ROOT = Path(__file__).parents[__name__.count(".")]
_IMPORT = re.compile(
    rf"^from ({_PROJECT}(?:\.\w+)*) import (\([^)]*\)|[^\n]*)|^import ({_PROJECT}(?:\.\w+)+)", re.M
)
"""An import that runs when its module does: those in functions are indented, and no kernel's."""


def _modules(source: str) -> Iterator[Path]:
    """Where the modules lie that a source imports from this project; some may not be there.

    A name that is imported is a module of a package or something inside a module.
    """
    for package, names, module in _IMPORT.findall(source):
        path = _ROOT.joinpath(*(package or module).split("."))
        inside = {path / f"{name}.py" for name in re.findall(r"\w+", names)}
        modules = {module for module in inside if _source(module) is not None}
        yield from modules
        if modules != inside or not inside:
            yield path.with_suffix(".py")
            yield path / "__init__.py"


@cache
def _source(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None


def stamp_of(path: Path) -> str:
    """The digest of a source and of all that it imports from this project, directly or not."""
    sources: dict[Path, str] = {}
    waiting = [path]
    while waiting:
        path = waiting.pop()
        source = _source(path)
        if path not in sources and source is not None:
            sources[path] = source
            waiting += _modules(source)
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(sources):
        digest.update(f"{path.name} {len(sources[path])}\n{sources[path]}".encode())
    return digest.hexdigest()


_stamp_of = cache(stamp_of)


def _compiled(function: Function, *, nogil: bool) -> Function:
    """Compile a function and keep its code on disk, if there is a place for it."""
    path = Path(function.__code__.co_filename)
    try:
        compiled: Any = njit(cache=True, nogil=nogil)(function)
    except RuntimeError:  # Numba found no folder to write to
        compiled = njit(nogil=nogil)(function)
    else:
        if path.is_file():  # else Numba's own stamp, that of the archive, will do
            cache_file = compiled._cache._cache_file  # noqa: SLF001 - Numba offers no other way
            cache_file._source_stamp = _stamp_of(path)  # noqa: SLF001 - nor here
    result: Function = compiled
    return result


def kernel(function: Function) -> Function:
    """Compile a function that Python calls; its code is kept on disk."""
    return _compiled(function, nogil=False)


def nogil_kernel(function: Function) -> Function:
    """Compile a kernel that runs without the interpreter lock, so that other threads go on.

    It must touch no Python object.
    """
    return _compiled(function, nogil=True)


def part(function: Function) -> Function:
    """Compile a function that only kernels call: it becomes part of theirs."""
    result: Function = njit(function)
    return result
