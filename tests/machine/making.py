"""A small image made by hand, and that of the kernels of this installation."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from sapwood.machine.image import Entry, Image, Manifest, Relocation
from sapwood.machine.processor import Host, this_host

on_x86 = pytest.mark.skipif(
    os.uname().machine != "x86_64" or os.uname().sysname != "Linux",
    reason="the code made by hand is for x86-64 and Linux",
)

# push rbx; mov rbx, rdi; movabs rax, Py_IncRef; call rax; mov rax, rbx; pop rbx; ret
_NOTHING = bytes.fromhex("53 4889fb 48b8 0000000000000000 ffd0 4889d8 5b c3")
_ADDRESS_AT = 6


def small_image(host: Host | None = None, symbol: str = "Py_IncRef") -> Image:
    """One function, ``some.module.nothing``, that returns None and says so to the interpreter."""
    relocations = [Relocation(_ADDRESS_AT, 0, 0, 0)]
    entries = {"some.module.nothing": Entry(0, "stamp", "()")}
    manifest = Manifest(
        host=host or this_host(),
        made_with={},
        entries=entries,
        symbols=(symbol,),
        image_bytes=len(_NOTHING),
        relocations=len(relocations),
    )
    return Image(manifest, _NOTHING, relocations)


@cache
def made() -> Path:
    """The file of machine code of this installation, made if there is none that is current."""
    command = "from sapwood.compiled.state import kernels_line; print(kernels_line())"
    environment = {**os.environ, "SAPWOOD_KERNELS": "auto"}
    for _ in range(2):
        line = subprocess.run(
            [sys.executable, "-c", command],
            env=environment, capture_output=True, text=True, check=True, timeout=100,
        ).stdout  # fmt: skip
        kind, _, path = line.strip().partition(", ")
        if kind == "machine code":
            return Path(path)
        subprocess.run(
            [sys.executable, "-m", "sapwood.compiled.warm"],
            env=environment, capture_output=True, check=True, timeout=1000,
        )  # fmt: skip
    pytest.skip(f"no machine code can be made here: {line}")


__all__ = ["made", "on_x86", "small_image"]
