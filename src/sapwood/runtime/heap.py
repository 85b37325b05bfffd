"""Let freed memory stay in the process for a while: a busy broker needs it again at once.

Every read is a block of up to 256 KiB that is free again when its notifications are acknowledged.
By default the C library hands such a block back to the system each time, and the system clears
fresh pages for the next one: in a chain of brokers under load that was a quarter of all processor
time (``docs/benchmarks.md``, W4).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Final

KEPT_BYTES: Final = 16 * 2**20
"""How much free memory at the end of the heap stays in the process."""

MAPPED_BYTES: Final = 2**20
"""From which size on a block is mapped by itself, and handed back at once."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of ``mallopt``."""

_CHOICES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory(environment: Mapping[str, str]) -> bool:
    """Ask the C library for that; False where it has no such choice, or the operator has chosen."""
    if any(name in environment for name in _CHOICES):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    wanted = ((_MMAP_THRESHOLD, MAPPED_BYTES), (_TRIM_THRESHOLD, KEPT_BYTES))
    return all(mallopt(parameter, size) for parameter, size in wanted)
