"""The same study on one core, on two, and on a cluster that loses a worker: the same results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.cluster import Cluster, cluster
from pipeline.samples import TINY, digest_without_spark, write
from sapwood.pipeline.study_file import load

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DRIVER = Path(__file__).with_name("driving.py")
LONGER = TINY.replace("repeats = 3", "repeats = 10")


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def drive(file: Path, folder: Path, master: str, *groups: int, **environment: str) -> Any:
    """Run a study in another process; what it came to."""
    ran = subprocess.run(
        [sys.executable, DRIVER, file, folder, master, *map(str, groups)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_one_core_gives_the_same(tmp_path: Path) -> None:
    """Two cores do too: test_study.py, in the shared session."""
    file = write(tmp_path)
    outcome = drive(file, tmp_path / "out", "local[1]")
    assert (outcome["digest"], outcome["failures"]) == (digest_without_spark(load(file)), [])


def test_a_cluster_without_sapwood_gives_the_same(tmp_path: Path, workers: Cluster) -> None:
    file = write(tmp_path)
    outcome = drive(file, tmp_path / "out", workers.url, **workers.environment)
    assert (outcome["digest"], outcome["failures"]) == (digest_without_spark(load(file)), [])


def test_a_worker_killed_in_the_middle_changes_nothing(tmp_path: Path, workers: Cluster) -> None:
    """Must come last: the cluster has one worker less then."""
    file = write(tmp_path, LONGER)
    doomed = workers.workers[-1]
    outcome = drive(file, tmp_path / "out", workers.url, doomed, **workers.environment)
    assert 0 < outcome["killed_after"] < 40
    assert (outcome["digest"], outcome["failures"]) == (digest_without_spark(load(file)), [])
