"""What a benchmark ran on."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from sapwood.bench import machine


def test_it_says_what_figures_depend_on() -> None:
    facts = machine.describe()
    assert list(facts) == [
        "processor", "cores", "system", "python", "sapwood", "numpy", "numba", "load",
    ]  # fmt: skip
    assert facts["cores"] >= 1
    assert facts["python"].endswith(platform.python_version())
    assert all(facts[name] for name in ("processor", "sapwood", "numpy", "numba"))


def test_it_says_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_PROCESSORS", Path("no such file"))
    monkeypatch.setattr(machine, "_LIBRARIES", ("no-such-library",))
    facts = machine.describe()
    assert facts["processor"]
    assert facts["no-such-library"] is None
