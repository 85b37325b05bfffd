"""One command compiles all that is registered, and says what it did."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

import sapwood
from sapwood.compiled import warm
from sapwood.matching.warm import exercise

SOURCE = Path(sapwood.__file__).parent


def test_all_modules_of_the_registry_can_be_exercised() -> None:
    assert [callable(import_module(name).exercise) for name in warm.REGISTRY.values()] == [True] * 3


def test_every_module_that_warms_is_registered() -> None:
    """But that of Spark, which archives Java's classes."""
    found = {
        ".".join(("sapwood", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in SOURCE.rglob("*warm.py")
        if any(
            isinstance(node, ast.FunctionDef) and node.name == "exercise"
            for node in ast.parse(path.read_text()).body
        )
    }
    assert found - {"sapwood.pipeline.warm"} == set(warm.REGISTRY.values())


def test_it_exercises_what_is_registered_in_order_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    monkeypatch.setattr(warm, "REGISTRY", {"this": "a.b", "that": "c.d"})
    monkeypatch.setattr(
        warm, "import_module", lambda name: SimpleNamespace(exercise=lambda: done.append(name))
    )
    warm.main()
    assert done == ["a.b", "c.d"]
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[:2] == ["compiled code for this: ready", "compiled code for that: ready"]
    assert lines[2].startswith(f"{len(warm.kernels('sapwood'))} kernels: ")
    assert lines[2].endswith(" s)")


def test_kernels_are_those_of_a_package_and_of_no_other() -> None:
    exercise()
    matching = warm.kernels("sapwood.matching")
    assert "sapwood.matching.kernel.match_events" in matching
    assert all(name.startswith("sapwood.matching.") for name in matching)
    assert warm.kernels("sapwood.match") == {}
    assert warm.kernels("sapwood").keys() >= matching.keys()
