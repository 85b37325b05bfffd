"""`sapwood version` tells people and machines the same."""

from __future__ import annotations

import importlib.metadata
import json
import platform

import pytest

from sapwood.cli.main import run


@pytest.mark.parametrize("word", ["version", "--version"])
def test_version_is_one_line(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([word]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"sapwood {importlib.metadata.version('sapwood')} (")
    assert out.count("\n") == 1
    assert err == ""


def test_version_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert set(facts) == {"sapwood", "python", "implementation", "platform"}
    assert facts["python"] == platform.python_version()
