"""Compile kernels, keep them on disk, and never run a stale one.

Numba takes a cached kernel for current when the file that defines it is unchanged; that a function
it calls in another file has changed goes unnoticed. Here the stamp of every kernel is a digest of
all sources of this package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def _digest_of_sources() -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_STAMP = _digest_of_sources()


def kernel(function: Function) -> Function:
    """Compile a function that Python calls; its code is kept on disk."""
    compiled: Any = njit(cache=True)(function)
    compiled._cache._cache_file._source_stamp = _STAMP  # noqa: SLF001 - Numba offers no other way
    result: Function = compiled
    return result


def part(function: Function) -> Function:
    """Compile a function that only kernels call: it becomes part of theirs."""
    result: Function = njit(function)
    return result
