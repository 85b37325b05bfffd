"""The repository keeps the habits that linters do not check; and each check can fail."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import tidy
from expecting import expect_none

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "sapwood"
TESTS = ROOT / "tests"
PYTHON_FILES = [
    path
    for folder in ("src", "tests", "tools", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
UNTESTED: dict[str, str] = {}
"""Modules without a test file of their own, each with the reason."""


# --- the repository -----------------------------------------------------------------------


def test_functions_can_be_seen_whole() -> None:
    expect_none([problem for path in PYTHON_FILES for problem in tidy.long_functions(path)])


def test_modules_have_one_subject() -> None:
    expect_none([problem for path in PYTHON_FILES for problem in tidy.long_module(path)])


def test_modules_say_what_they_are_about() -> None:
    expect_none([problem for path in PYTHON_FILES for problem in tidy.missing_docstring(path)])


def test_every_module_has_a_test_file() -> None:
    expect_none(tidy.untested_modules(SOURCE, TESTS, UNTESTED))
    expect_none(tidy.untested_modules(ROOT / "tools", TESTS / "tools", TOOLS_TESTED_ABOVE))


TOOLS_TESTED_ABOVE = {"tidy.py", "purity.py", "doccheck.py"}
"""Checkers, tested beside the check they make: here, in test_layers.py and in test_docs.py."""


def test_no_exemption_outlives_its_reason() -> None:
    expect_none(tidy.stale_exemptions(SOURCE, TESTS, UNTESTED))


def test_no_file_names_one_machine_or_a_registry() -> None:
    problems = [
        problem for path in tidy.tracked_files(ROOT) for problem in tidy.private_details(path)
    ]
    expect_none(problems)


def test_files_are_found_where_there_is_git() -> None:
    if (ROOT / ".git").exists():
        assert Path(__file__) in tidy.tracked_files(ROOT)


def test_no_notes_to_self() -> None:
    expect_none([problem for path in tidy.tracked_files(ROOT) for problem in tidy.leftovers(path)])


def test_no_test_sleeps() -> None:
    expect_none([problem for path in TESTS.rglob("*.py") for problem in tidy.sleeping_tests(path)])


def test_build_backend_is_the_pinned_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pins = (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    assert set(project["build-system"]["requires"]) <= set(pins)


def test_every_direct_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    pins = (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    pinned = {line.partition("==")[0] for line in pins if "==" in line}
    assert {requirement.partition(">=")[0] for requirement in wanted} <= pinned


# --- the checks ---------------------------------------------------------------------------


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_long_function_is_found_and_its_docstring_not_counted(tmp_path: Path) -> None:
    docstring = '    """One.\n\n    Two.\n    """\n'
    path = write(tmp_path / "a.py", "def f():\n" + docstring + "    x = 1\n" * 9)
    assert tidy.long_functions(path, lines_max=10) == []
    assert tidy.long_functions(path, lines_max=9) == [f"{path}:1: f has 10 lines, at most 9 wanted"]


def test_a_long_module_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "a.py", "x = 1\n" * 11)
    assert tidy.long_module(path, lines_max=11) == []
    assert tidy.long_module(path, lines_max=10) == [f"{path}: 11 lines, at most 10 wanted"]


def test_a_module_without_docstring_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "a.py", "x = 1\n")
    assert tidy.missing_docstring(path) == [f"{path}: no module docstring"]
    about = '# A comment.\n\n"""About b.\n\nAnd more.\n"""\n'
    assert tidy.missing_docstring(write(tmp_path / "b.py", about)) == []
    for text in ("", '""\n', "# A comment.\n"):
        assert tidy.missing_docstring(write(tmp_path / "c.py", text)) != []


def test_an_untested_module_is_found(tmp_path: Path) -> None:
    source, tests = tmp_path / "src", tmp_path / "tests"
    for name in ("a/__init__.py", "a/bare.py", "a/tested.py", "a/split.py", "top.py"):
        write(source / name, "")
    for name in ("a/test_tested.py", "a/test_split_one.py", "test_top.py"):
        write(tests / name, "")
    problem = f"{source}/a/bare.py: no test file {tests}/a/test_bare.py"
    assert tidy.untested_modules(source, tests) == [problem]
    assert tidy.untested_modules(source, tests, {"a/bare.py"}) == []
    assert tidy.stale_exemptions(source, tests, ["a/bare.py", "top.py"]) == [
        "top.py: exempt for no reason"
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("see /wo" + "rk/main", "names a path of one machine"),
        ("'/ro" + "ot/.venv'", "names a path of one machine"),
        ("cd /ho" + "me/ann", "names a path of one machine"),
        ("taken from py" + "pi.org", "names a registry's host"),
        ("or from files.python" + "hosted.org", "names a registry's host"),
    ],
)
def test_a_private_detail_is_found(tmp_path: Path, line: str, problem: str) -> None:
    path = write(tmp_path / "a.txt", f"fine\n{line}\n")
    assert tidy.private_details(path) == [f"{path}:2: {problem}: {line}"]


def test_a_relative_path_or_an_address_is_no_private_detail(tmp_path: Path) -> None:
    text = "docs/work/page and https://example.net/root/page and at work/root\n"
    assert tidy.private_details(write(tmp_path / "a.txt", text)) == []


def test_a_binary_file_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"\xff\xfe/wo" + b"rk/")
    assert tidy.private_details(path) == []


def test_a_note_to_self_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "a.py", "x = 1  # TO" + "DO later\n")
    assert len(tidy.leftovers(path)) == 1
    assert tidy.leftovers(write(tmp_path / "b.py", "todos = 1\n")) == []


@pytest.mark.parametrize(
    "line",
    ["import time; time.sleep(1)", "from time import sleep", "import asyncio; asyncio.sleep(1)"],
)
def test_a_sleeping_test_is_found(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "test_a.py", f"{line}\n")
    assert tidy.sleeping_tests(path) == [f"{path}:1: sleeps; wait for what can be observed"]


def test_yielding_is_not_sleeping(tmp_path: Path) -> None:
    path = write(tmp_path / "test_a.py", "import asyncio\nasyncio.sleep(0)\n")
    assert tidy.sleeping_tests(path) == []


def test_every_problem_is_shown() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"^first\nsecond$"):
        expect_none(["first", "second"])
