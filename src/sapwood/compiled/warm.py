"""Compile all kernels and keep them on disk: ``python -m sapwood.compiled.warm``.

Compiling takes a minute, loading what was compiled before a fraction of a second. So this runs when
Sapwood is installed, and again after an upgrade; whoever starts a broker or opens a trace does not
wait. Numba compiles here and keeps what it needs to do so again; and machine code is made of it,
which brokers run without Numba (`sapwood.machine`).
"""

from __future__ import annotations

import sys
from importlib import import_module
from time import perf_counter
from typing import Any, Final

from numba.core.dispatcher import Dispatcher

from sapwood.machine.image import Image, ImageError
from sapwood.machine.store import places, use_none, write

REGISTRY: Final = {
    "matching": "sapwood.matching.warm",
    "long reads": "sapwood.fastpath.warm",
    "traces": "sapwood.trace.columns.warm",
}
"""What is compiled, and the module whose ``exercise`` does once all that compiled code does there.

Modules are named, not imported: they belong to higher layers, and load only when this runs.
"""


def kernels(package: str) -> dict[str, Any]:
    """All functions of a package that Numba compiles and keeps on disk, by name, if loaded."""
    modules = [module for name, module in sorted(sys.modules.items()) if _is_in(name, package)]
    return {
        f"{function.py_func.__module__}.{function.py_func.__name__}": function
        for module in modules
        for function in vars(module).values()
        if isinstance(function, Dispatcher)
        and _is_in(function.py_func.__module__, package)
        and function.stats.cache_path is not None
    }


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def compile_all() -> dict[str, Any]:
    """Compile what is not compiled yet, and say so; all kernels by name."""
    start = perf_counter()
    for name, module in REGISTRY.items():
        sys.stderr.write(f"compiled code for {name}: ")
        sys.stderr.flush()
        import_module(module).exercise()
        sys.stderr.write("ready\n")
    found = kernels("sapwood")
    compiled = [kernel for kernel in found.values() if kernel.stats.cache_misses]
    done = f"compiled and cached {len(compiled)}" if compiled else "all were compiled before"
    sys.stderr.write(f"{len(found)} kernels: {done} ({perf_counter() - start:.1f} s)\n")
    return found


def keep(found: dict[str, Any]) -> None:
    """Make machine code of kernels and write it; where that cannot be, say why."""
    try:
        image: Image = import_module("sapwood.compiled.exporting").exported(found)
        path = write(image, places(image.manifest.host))
    except (ImageError, OSError, TypeError, ValueError) as problem:
        sys.stderr.write(f"no machine code, brokers will load Numba: {problem}\n")
    else:
        sys.stderr.write(f"machine code: {path}, {len(image.code) / 1024:.0f} KiB\n")


def main() -> None:
    """Compile, and make machine code of it."""
    use_none("it is being made")
    keep(compile_all())


if __name__ == "__main__":
    main()
