"""`sapwood version` tells people and machines the same."""

from __future__ import annotations

import importlib.metadata
import json
import platform

import pytest

from sapwood.cli.main import run
from sapwood.compiled.state import kernels_line


@pytest.mark.parametrize(("word", "lines"), [("version", 2), ("--version", 1)])
def test_version_is_the_first_line(
    word: str, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([word]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"sapwood {importlib.metadata.version('sapwood')} (")
    assert out.count("\n") == lines
    assert err == ""


def test_it_says_how_kernels_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == f"kernels: {kernels_line()}"


def test_version_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert set(facts) == {"sapwood", "python", "implementation", "platform", "kernels"}
    assert facts["python"] == platform.python_version()
