"""Checks of what a layer may touch, beyond which layer it may import.

Import-linter (contract in pyproject.toml) sees to it that imports point down. Two rules are
finer than that and are checked here on the syntax tree: the pure layers reach neither clock,
network, log nor undeclared randomness (architecture, rule "one door"), and a heavy library is
imported only by the layer that is about it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PURE_LAYERS = (
    "analysis",
    "compiled",
    "fastpath",
    "filters",
    "matching",
    "protocol",
    "routing",
    "wire",
)
"""Layers a simulation replays: the same events must give the same effects, everywhere."""

IMPURE_MODULES = frozenset(
    {
        "_thread", "asyncio", "concurrent", "logging", "multiprocessing", "os", "secrets",
        "select", "selectors", "signal", "socket", "socketserver", "ssl", "subprocess",
        "tempfile", "threading", "time", "uuid",
    }
)  # fmt: skip

PURE_RANDOM = frozenset({"Random"})
PURE_NUMPY_RANDOM = frozenset({"Generator"})
CLOCK_CALLS = frozenset(
    {
        "(date).today", "(datetime).now", "(datetime).today", "(datetime).utcnow",
        "datetime.date.today", "datetime.datetime.now", "datetime.datetime.today",
        "datetime.datetime.utcnow",
    }
)  # fmt: skip
"""As `_resolved` writes them: in parentheses where the class itself was imported."""

_CALLED = frozenset({"Random", *(name.rpartition(".")[2] for name in CLOCK_CALLS)})

ONLY_IN = {
    "pandas": ("pipeline",),
    "pyarrow": ("trace", "pipeline", "bench"),
    "pyspark": ("pipeline",),
    "rich": ("cli",),
    "starlette": ("runtime",),
    "typer": ("cli",),
    "uvicorn": ("runtime",),
}
"""Libraries that only the layers named may import."""


def layer_of(path: Path, source: Path) -> str:
    """The layer (package or module right below `source`) a file belongs to."""
    return path.relative_to(source).parts[0].removesuffix(".py")


def imported(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and dotted name of everything a module imports, `from a import b` as `a.b`."""
    return _imported(path.read_text(encoding="utf-8"))


@cache
def _imported(text: str) -> tuple[tuple[int, str], ...]:
    return tuple(_imports(ast.parse(text)))


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def impurities(path: Path) -> list[str]:
    """Where a module of a pure layer could reach the outside world."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    problems = [
        f"{path}:{line}: a pure layer imports {name}"
        for line, name in imported(path)
        if name.split(".")[0] in IMPURE_MODULES or not _is_pure_random(name)
    ]
    modules = module_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not _is_pure_random(_random_name(node, modules)):
            problems.append(f"{path}:{node.lineno}: {ast.unparse(node)} was not injected")
        elif isinstance(node, ast.Call) and _last_name(node.func) in _CALLED:
            name = _resolved(node.func, modules)
            if name in CLOCK_CALLS:
                problems.append(f"{path}:{node.lineno}: {name}() reads a clock")
            elif name in {"random.Random", "Random"} and not (node.args or node.keywords):
                problems.append(f"{path}:{node.lineno}: {name}() draws its own seed")
    return problems


def module_names(tree: ast.Module) -> dict[str, str]:
    """The modules a file binds to a name by `import`, by that name."""
    bound = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                bound[alias.asname or top] = alias.name if alias.asname else top
    return bound


def _last_name(node: ast.expr) -> str:
    """What stands behind the last dot of a name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _random_name(node: ast.Attribute, modules: dict[str, str]) -> str:
    """The dotted name of an attribute of something called ``random``; of others nothing.

    To resolve a name takes long, and there are many.
    """
    last = _last_name(node.value)
    is_random = modules.get(last, last).rpartition(".")[2] == "random"
    return _resolved(node, modules) if is_random else ""


def _resolved(node: ast.expr, modules: dict[str, str]) -> str:
    """The dotted name of an expression, its first part replaced by the module it stands for.

    A name that is no module (a parameter called `random`) is put in parentheses, so that it
    cannot be taken for one.
    """
    first, dot, rest = ast.unparse(node).partition(".")
    return f"{modules.get(first, f'({first})' if dot else first)}{dot}{rest}"


def _is_pure_random(name: str) -> bool:
    """False for a use of module `random` or `numpy.random` other than its types."""
    module, _, member = name.rpartition(".")
    if module == "random":
        return member in PURE_RANDOM
    if module == "numpy.random":
        return member in PURE_NUMPY_RANDOM
    return True


def misplaced_libraries(path: Path, layer: str) -> list[str]:
    """Imports of a library by a layer that is not about it."""
    return [
        f"{path}:{line}: only {' and '.join(ONLY_IN[top])} may import {top}"
        for line, name in imported(path)
        if (top := name.split(".")[0]) in ONLY_IN and layer not in ONLY_IN[top]
    ]


def facade_imports(path: Path, source: Path) -> list[str]:
    """Imports of the public face `sapwood` by a layer below it.

    `from sapwood import Filter` runs the package's lazy lookups and hides which layer is
    meant; inside, one names the module.
    """
    below = {child.name.removesuffix(".py") for child in source.iterdir()}
    return [
        f"{path}:{line}: import from the module that defines it, not from the package's face"
        for line, name in imported(path)
        if name.split(".")[0] == source.name
        and (name == source.name or name.split(".")[1] not in below)
    ]
