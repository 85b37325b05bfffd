"""Compile all kernels and keep them on disk: ``python -m sapwood.matching.warm``.

Compiling takes some fifteen seconds, loading what was compiled before less than one. So this runs
when Sapwood is installed, and again after an upgrade; whoever starts a broker does not wait.
"""

from __future__ import annotations

import sys
from time import perf_counter
from types import ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher

from sapwood.filters import kinds
from sapwood.filters.constraint import ANY_TEXT, MISSING, PRESENT, Constraint
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.segments import NEW_ROWS_MAX

_PACKAGE = CompiledIndex.__module__.rpartition(".")[0]


def exercise() -> None:
    """Do everything that an index can do, once, on a small one."""
    index: CompiledIndex[int] = CompiledIndex()
    for key in range(4 * NEW_ROWS_MAX):
        constraints = _constraints(key)
        name = "abc"[key % 3]
        chosen = constraints[key % len(constraints)]
        filter_ = Filter.all_of({name: chosen, "d": kinds.at_least(key), "e": kinds.equal(key)})
        index.add(key, filter_, destination=key % 5)
        if key % 100 == 0:
            index.match({name: "text"})
    events: list[dict[str, Value]] = [
        {"a": "text", "b": 1, "c": True, "d": 10_000, "e": number} for number in range(100)
    ]
    index.match_batch(events)
    index.destinations_batch(events, exclude=1)
    for key in range(0, 4 * NEW_ROWS_MAX, 2):
        index.remove(key)
    index.optimize()
    index.match_batch(events)


def _constraints(number: int) -> list[Constraint]:
    """One of each kind of constraint."""
    return [
        kinds.equal(number),
        kinds.equal(True),
        kinds.equal(f"text {number}"),
        kinds.between(number, number + 1.5),
        kinds.prefix("te"),
        kinds.between("a", f"z{number}"),
        kinds.one_of([number, f"text {number}", False]),
        kinds.not_equal("text"),
        kinds.suffix("xt"),
        kinds.contains("ex"),
        kinds.like("t_x%"),
        MISSING,
        PRESENT,
        ANY_TEXT,
    ]


def kernels() -> dict[str, Any]:
    """All functions of the engine whose compiled code is kept on disk, by name."""
    modules: list[ModuleType] = [
        module for name, module in sorted(sys.modules.items()) if name.startswith(f"{_PACKAGE}.")
    ]
    return {
        f"{function.py_func.__module__}.{function.py_func.__name__}": function
        for module in modules
        for function in vars(module).values()
        if isinstance(function, Dispatcher) and function.stats.cache_path is not None
    }


def main() -> None:
    """Compile what is not compiled yet, and say so."""
    start = perf_counter()
    exercise()
    seconds = perf_counter() - start
    compiled = [name for name, kernel in kernels().items() if kernel.stats.cache_misses]
    done = f"compiled and cached {len(compiled)}" if compiled else "all were compiled before"
    sys.stderr.write(f"{len(kernels())} kernels of {_PACKAGE}: {done} ({seconds:.1f} s)\n")


if __name__ == "__main__":
    main()
