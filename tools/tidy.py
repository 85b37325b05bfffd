"""Checks of style that no linter makes: sizes, test files, leftovers, private paths.

Every check takes what it looks at as an argument and returns one line per problem, so that
`tests/test_tidy.py` can run it on the repository and also show, on a bad sample, that it
can fail.
"""

from __future__ import annotations

import ast
import re
import subprocess
import tokenize
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

FUNCTION_LINES_MAX = 60
MODULE_LINES_MAX = 600

# Split so that this file does not find itself.
_LEFTOVER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
_PRIVATE_PATH = re.compile(r"(?<![\w.:/~-])/(?:work|root|home/\w+|Users/\w+)\b")
_REGISTRY_HOST = re.compile(r"\b(?:(?:test\.)?pypi\.org|pythonhosted\.org|pypi\.python\.org)\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def tracked_files(root: Path) -> list[Path]:
    """Files git knows or would add, sorted; empty where there is no git checkout."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],  # noqa: S607
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    names = sorted(set(filter(None, listing.stdout.split("\0"))))
    return [root / name for name in names if (root / name).is_file()]


def read_text(path: Path) -> str | None:
    """The file's text, or None if it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def long_functions(path: Path, lines_max: int = FUNCTION_LINES_MAX) -> list[str]:
    """Functions with more lines than one can see whole; the docstring does not count."""
    return [
        f"{path}:{function.lineno}: {function.name} has {length} lines, at most {lines_max} wanted"
        for function in _functions(path)
        if (length := _body_lines(function)) > lines_max
    ]


def _functions(path: Path) -> Iterator[Function]:
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in waiting:
        if isinstance(node, Function):
            yield node
        # A function is a statement: what is within expressions need not be walked.
        waiting += (one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr))


def _body_lines(function: Function) -> int:
    lines = _span(function)
    if ast.get_docstring(function) is not None:
        lines -= _span(function.body[0])
    return lines


def _span(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def long_module(path: Path, lines_max: int = MODULE_LINES_MAX) -> list[str]:
    """A module that wants to be two."""
    lines = len(path.read_text(encoding="utf-8").splitlines())
    return [f"{path}: {lines} lines, at most {lines_max} wanted"] if lines > lines_max else []


def missing_docstring(path: Path) -> list[str]:
    """A module that does not say what it is about."""
    with path.open(encoding="utf-8") as file:
        tokens = tokenize.generate_tokens(file.readline)
        first = next(one for one in tokens if one.type not in (tokenize.COMMENT, tokenize.NL))
    is_text = first.type == tokenize.STRING and ast.literal_eval(first.string)
    return [] if is_text else [f"{path}: no module docstring"]


def untested_modules(source: Path, tests: Path, exempt: Collection[str] = ()) -> list[str]:
    """Modules without a test file of their own.

    `source/a/b.py` is tested by `tests/a/test_b.py`; a module that has grown many tests may
    have `tests/a/test_b_<subject>.py` instead. `exempt` names modules relative to `source`.
    """
    problems = []
    for path in sorted(source.rglob("*.py")):
        relative = path.relative_to(source)
        if path.name in {"__init__.py", "__main__.py"} or relative.as_posix() in exempt:
            continue
        folder = tests / relative.parent
        wanted = folder / f"test_{path.stem}.py"
        if not wanted.is_file() and not any(folder.glob(f"test_{path.stem}_*.py")):
            problems.append(f"{path}: no test file {wanted}")
    return problems


def stale_exemptions(source: Path, tests: Path, exempt: Iterable[str]) -> list[str]:
    """Exemptions from `untested_modules` that are no longer needed."""
    untested = "\n".join(untested_modules(source, tests))
    return [
        f"{name}: exempt for no reason" for name in exempt if str(source / name) not in untested
    ]


def private_details(path: Path) -> list[str]:
    """Names of one machine's folders or of a package registry's host."""
    return [
        *_lines_with(path, _PRIVATE_PATH, "names a path of one machine"),
        *_lines_with(path, _REGISTRY_HOST, "names a registry's host"),
    ]


def leftovers(path: Path) -> list[str]:
    """Notes to self: an issue is where those belong."""
    return _lines_with(path, _LEFTOVER, "a note to self; open an issue instead")


def _lines_with(path: Path, pattern: re.Pattern[str], what: str) -> list[str]:
    text = read_text(path) or ""
    return [
        f"{path}:{number}: {what}: {line.strip()[:80]}"
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def sleeping_tests(path: Path) -> list[str]:
    """Calls that wait for time to pass; `asyncio.sleep(0)`, a mere yield, is fine."""
    lines = []
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "sleep" in text else ():
        if isinstance(node, ast.ImportFrom) and node.module in {"time", "asyncio"}:
            lines += [node.lineno for alias in node.names if alias.name == "sleep"]
        elif isinstance(node, ast.Call) and _sleeps(node):
            lines.append(node.lineno)
    return [f"{path}:{line}: sleeps; wait for what can be observed" for line in lines]


def _sleeps(call: ast.Call) -> bool:
    yields = call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
    return ast.unparse(call.func) in {"time.sleep", "asyncio.sleep"} and not yields
