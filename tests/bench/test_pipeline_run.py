"""Measuring a tree of processes."""

from __future__ import annotations

import subprocess
import sys

from sapwood.bench.pipeline_run import Peak, tree_seconds


def test_what_a_child_takes_counts() -> None:
    before = tree_seconds()
    code = "sum(range(10**7)); print('done', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == "done\n"
        assert tree_seconds() - before > 0.05
        child.stdin.write("\n")


def test_the_highest_memory_is_kept() -> None:
    with Peak() as peak:
        pass
    assert peak.megabytes > 5
