"""`sapwood audit`: what it prints, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.planting import Planted, write_run
from sapwood.cli.audit import show, spark_settings
from sapwood.cli.main import run
from sapwood.pipeline.auditing.report import AuditReport
from sapwood.trace import RunSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = ["--master", "local[2]"]
COUNTS = (
    "published expected delivered lost duplicated early unexpected out_of_order_fifo "
    "out_of_order_causal unjudged"
)


def test_a_broken_trace_is_a_no(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the settling time that is given: by that of the file, nothing is owed yet."""
    write_run(tmp_path, Planted("r").usual({3: "lost"}), settings=RunSettings(settle_seconds=1e6))
    assert run(["audit", str(tmp_path), "--json", "--settle", "1", *MASTER]) == 1
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert list(found)[:10] == COUNTS.split()
    assert (found["published"], found["expected"], found["lost"]) == (24, 72, 1)
    assert found["delivered"] == 71
    assert found["violations"][0]["notification"] == "p1.1:3"
    said = printed.err.splitlines()
    assert said[0].startswith("1 files")
    assert [line for line in said[1:] if not line.startswith("  ")] == [
        "looking what is there",
        "reading subscriptions",
        "looking over the order of rows",
        "matching publications with subscriptions",
        "comparing what was owed with what was delivered",
        "judging 1 groups pair by pair",
        "following what went wrong",
        "timing deliveries, counting messages",
    ]


def test_a_report_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    violation = {
        "kind": "out_of_order_fifo", "run": "r", "notification": "p.1:1", "client": "a.1",
        "at": 1.0, "because": "p.1:2", "path": "published at B1 at 1 s",
    }  # fmt: skip
    latency = {"timed": 9, "p50": 0.5, "p99": 1.0, "most": 2.0}
    report = AuditReport(
        directory="d", runs=1, published=5, expected=9, delivered=9, out_of_order_fifo=12,
        wrong_runs=["r"], violations=[violation] * 12, latency=[latency],
    )  # fmt: skip
    show(report)
    shown = capsys.readouterr().out
    assert "1 run: published 5, expected 9, delivered 9 (early 0)" in shown
    assert "out_of_order_fifo: p.1:1 at a.1 in run r, after p.1:2\n    published at B1" in shown
    assert "and more" in shown
    assert shown.endswith("wrong: r\n")
    show(AuditReport(directory="d", runs=2))
    assert capsys.readouterr().out.endswith("correct\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone"], "gone does not exist"),
        ([".", "--settle", "-1"], "--settle"),
        ([".", "--settle", "soon"], "--settle"),
        ([".", "--conf", "fs.s3a.endpoint=x"], "'fs.s3a.endpoint=x' is not KEY=VALUE"),
        ([".", "--conf", "spark.x"], "--conf"),
    ],
)
def test_wrong_use(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["audit", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_settings_and_packages_are_handed_on() -> None:
    conf = ["spark.a=1=2", "spark.jars.packages=g:a:1"]
    assert spark_settings(conf, "g:b:2") == {
        "spark.a": "1=2",
        "spark.jars.packages": "g:a:1,g:b:2",
    }
    assert spark_settings(None, None) == {}


def test_damaged_files_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    assert run(["audit", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "bad.parquet cannot be read" in error
    assert error.count("\n") == 1
