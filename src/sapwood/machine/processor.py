"""Which processor and which Python this is, as far as machine code depends on them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

_CPU_INFO = Path("/proc/cpuinfo")
_FEATURES = ("flags", "Features")
"""How Linux calls the line of features on x86-64 and on arm64."""


class Host(msgspec.Struct, frozen=True):
    """Where machine code was made, or is to run."""

    system: str
    machine: str
    """The kind of processor: ``x86_64``, ``aarch64``."""
    python: str
    """The interpreter whose objects the code reads in place."""
    processor: str
    """Its name, for people."""
    features: tuple[str, ...]
    """What the processor can do, by the names that the system has for it."""

    def why_not(self, here: Host) -> str:
        """Why code made there cannot run here; empty if it can.

        A processor that can do more than the one it was made for is no obstacle.
        """
        for what in ("system", "machine", "python"):
            made_for, found = getattr(self, what), getattr(here, what)
            if made_for != found:
                return f"it was made for {made_for}, and this is {found}"
        missing = sorted(set(self.features) - set(here.features))
        if missing:
            return (
                f"it was made for a processor ({self.processor}) that can do {missing[0]}, "
                f"and this one ({here.processor}) cannot"
            )
        return ""


def this_host(cpu_info: Path = _CPU_INFO) -> Host:
    """The processor and the Python of this process; without features where nobody tells them."""
    facts = _first_processor(cpu_info)
    system = os.uname()
    features = next((facts[name] for name in _FEATURES if name in facts), "")
    return Host(
        system=system.sysname,
        machine=system.machine,
        python=_python(),
        processor=facts.get("model name") or facts.get("CPU part") or "unnamed",
        features=tuple(sorted(features.split())),
    )


def _python() -> str:
    kind = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    return f"{kind}{sys.abiflags} {64 if sys.maxsize > 2**32 else 32} bits"


def _first_processor(cpu_info: Path) -> dict[str, str]:
    """What the system says about the first processor; all that count are alike."""
    facts: dict[str, str] = {}
    try:
        with cpu_info.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, colon, value = line.partition(":")
                if not colon and facts:
                    break
                facts[name.strip()] = value.strip()
    except OSError:
        pass
    return facts
