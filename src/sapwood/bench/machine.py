"""What a benchmark ran on: figures mean little without it."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PROCESSORS = Path("/proc/cpuinfo")
_LIBRARIES = ("sapwood", "numpy", "numba")


def describe() -> dict[str, Any]:
    """Processor, cores, system, and versions; the load says how busy it is with other things."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()}-{platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **{name: _version(name) for name in _LIBRARIES},
        "load": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    if _PROCESSORS.exists():
        for line in _PROCESSORS.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
