"""Compile kernels, keep them on disk, and never run a stale one.

Numba takes a cached kernel for current when the file that defines it is unchanged; that a function
it calls in another file has changed goes unnoticed. Here the stamp of every kernel is a digest of
all sources of this package, and of the package that defines the kernel if it is another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def stamp_of(*folders: Path) -> str:
    """The digest of all sources in folders."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(path for folder in folders for path in folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def kernel(function: Function) -> Function:
    """Compile a function that Python calls; its code is kept on disk."""
    compiled: Any = njit(cache=True)(function)
    folders = {Path(__file__).parent, Path(function.__code__.co_filename).parent}
    stamp = stamp_of(*sorted(folders))
    compiled._cache._cache_file._source_stamp = stamp  # noqa: SLF001 - Numba offers no other way
    result: Function = compiled
    return result


def part(function: Function) -> Function:
    """Compile a function that only kernels call: it becomes part of theirs."""
    result: Function = njit(function)
    return result
