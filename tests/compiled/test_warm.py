"""One command compiles all that is registered, and says what it did."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

import sapwood
from sapwood.compiled import warm
from sapwood.machine.image import ImageError

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
    monkeypatch.setattr(warm, "use_none", lambda _: done.append("no machine code"))
    monkeypatch.setattr(warm, "keep", lambda _: done.append("kept"))
    warm.main()
    assert done == ["no machine code", "a.b", "c.d", "kept"]
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[:2] == ["compiled code for this: ready", "compiled code for that: ready"]
    assert lines[2].startswith(f"{len(warm.kernels('sapwood'))} kernels: ")
    assert lines[2].endswith(" s)")


@pytest.mark.parametrize(
    "problem", [ImageError("relocation 9 to f is not known"), OSError("no room"), TypeError("f")]
)
def test_where_no_machine_code_can_be_made_it_says_why(
    problem: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> None:
        raise problem

    monkeypatch.setattr(warm, "import_module", lambda _: SimpleNamespace(exported=fail))
    warm.keep({})
    expected = f"no machine code, brokers will load Numba: {problem}\n"
    assert capsys.readouterr().err == expected
