"""Have kernels compiled, keep them on disk, and never run a stale one.

A kernel is machine code that was made at installation (`sapwood.machine`), if there is any that can
be used here; then no compiler is loaded. Else Numba compiles it when it is first called, and keeps
that for the next process.

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
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from sapwood.compiled.late import Part
from sapwood.machine.store import machine_code

Function = TypeVar("Function", bound=Callable[..., Any])

_PROJECT, _, _ = __name__.partition(".")
_ROOT = Path(__file__).parents[__name__.count(".")]
_IMPORT = re.compile(
    rf"^from ({_PROJECT}(?:\.\w+)*) import (\([^)]*\)|[^\n]*)|^import ({_PROJECT}(?:\.\w+)+)", re.M
)
"""An import that runs when its module does: those in functions are indented, and no kernel's."""
_CARRIER = _ROOT / _PROJECT / "machine"
"""What carries machine code, and has no part in what it does."""
_EXPORT = Path(__file__).with_name("exporting.py")


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
        if path not in sources and source is not None and path.parent != _CARRIER:
            sources[path] = source
            waiting += _modules(source)
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(sources):
        digest.update(f"{path.name} {len(sources[path])}\n{sources[path]}".encode())
    return digest.hexdigest()


_stamp_of = cache(stamp_of)


def machine_stamp(path: Path) -> str:
    """The digest for machine code: of the kernel's sources, and of those that link and wrap it."""
    return f"{_stamp_of(path)} {_stamp_of_maker()}"


@cache
def _stamp_of_maker() -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in (_EXPORT, *sorted(_CARRIER.glob("*.py"))):
        digest.update(f"{path.name}\n{_source(path)}".encode())
    return digest.hexdigest()


def name_of(function: Callable[..., Any]) -> str:
    """The name of a kernel wherever it is talked about."""
    return f"{function.__module__}.{function.__name__}"


def _compiled(function: Function, *, nogil: bool) -> Function:
    """The machine code of a function, or else what Numba makes of it."""
    path = Path(function.__code__.co_filename)
    found = machine_code().function(name_of(function), lambda: machine_stamp(path))
    made: Function = found or _with_numba(function, path, nogil=nogil)
    return made


def _with_numba(function: Callable[..., Any], path: Path, *, nogil: bool) -> Any:
    """Compile a function and keep its code on disk, if there is a place for it."""
    numba = import_module("numba")
    try:
        compiled = numba.njit(cache=True, nogil=nogil)(function)
    except RuntimeError:  # Numba found no folder to write to
        return numba.njit(nogil=nogil)(function)
    if path.is_file():  # else Numba's own stamp, that of the archive, will do
        cache_file = compiled._cache._cache_file  # noqa: SLF001 - Numba offers no other way
        cache_file._source_stamp = _stamp_of(path)  # noqa: SLF001 - nor here
    return compiled


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
    result: Any = Part(function)
    made: Function = result
    return made
