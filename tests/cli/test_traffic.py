"""`sapwood traffic`: tables for people, JSON, and a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.planting import write_run
from sapwood.cli.main import run
from tracing.making import Recorder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_tables_json_and_a_picture(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = Recorder()
    trace.publish(1, "p.1", 1, broker="B1")
    trace.add(1, "forwarded", broker="B1", target="B2", publisher="p.1", sequence=1, bytes=9)
    trace.deliver(3, "a.1", "p.1", 1, broker="B2")
    write_run(tmp_path / "t", trace.rows)
    costs = tmp_path / "costs.toml"
    costs.write_text("default = 3")
    arguments = ["traffic", str(tmp_path / "t"), "--master", "local[2]", "--costs", str(costs)]
    assert run([*arguments, "--picture", str(tmp_path / "tree.png")]) == 0
    shown = capsys.readouterr().out
    assert "B1 - B2" in shown
    assert "1 notifications cost 3 on this tree" in shown
    assert (tmp_path / "tree.png").exists()
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tree"], found["cost"]) == ([["B1", "B2"]], 3.0)


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["traffic", str(tmp_path), "--picture", "tree.doc"]) == 2
    assert "neither .svg nor .png" in capsys.readouterr().err
    assert run(["traffic", str(tmp_path / "gone")]) == 2
    assert "does not exist" in capsys.readouterr().err
