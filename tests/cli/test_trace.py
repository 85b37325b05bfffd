"""`sapwood trace info`: what is there, from footers alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.planting import Planted, write_run
from sapwood.cli.main import run


def test_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row for row in Planted("r").usual({}) if row.broker == "B1"]
    write_run(tmp_path, rows)
    assert run(["trace", "info", str(tmp_path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == [f"1 files, {len(rows)} rows, 1 runs", "  r: 1 brokers, settling time 1 s"]
    assert run(["trace", "info", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == [
        {"run": "r", "settle_seconds": 1.0, "advertisements_required": False, "brokers": ["B1"]}
    ]


def test_what_is_damaged_or_unfinished_is_a_no(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.parquet").touch()
    (tmp_path / ".B1.1.open").touch()
    assert run(["trace", "info", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "damaged: " in told
    assert "still being written: " in told
    assert run(["trace", "info", str(tmp_path / "gone")]) == 2
    (tmp_path / "empty").mkdir()
    assert run(["trace", "info", str(tmp_path / "empty")]) == 1
