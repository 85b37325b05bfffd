"""Ctrl-C in the middle of a study: it ends at once, whatever its runs would still take."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from pipeline.samples import TINY, write

ENDLESS = TINY.replace("duration = 2.0", "duration = 10000000.0")
STARTING_SECONDS_MAX = 4.0
"""What a worker uses before its first run; one that has used more is simulating."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def simulating(processes: list[psutil.Process]) -> int:
    """How many of the processes are Python workers in the middle of a run."""
    busy = 0
    for process in processes:
        try:
            is_java = process.name() == "java"
            busy += not is_java and process.cpu_times().user > STARTING_SECONDS_MAX
        except psutil.NoSuchProcess:
            continue
    return busy


def test_ctrl_c_ends_a_study_and_all_that_it_started(tmp_path: Path) -> None:
    file, out = write(tmp_path, ENDLESS), tmp_path / "out"
    command = [sys.executable, "-m", "sapwood", "study", str(file), "--out", str(out)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        me = psutil.Process(process.pid)
        while not simulating(started := me.children(recursive=True)):
            assert psutil.wait_procs([me], timeout=0.2)[0] == [], "it ended too soon"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
        try:
            _, said = process.communicate(timeout=30)
            left = psutil.wait_procs(started, timeout=30)[1]
        finally:
            for one in (me, *started):
                with suppress(psutil.NoSuchProcess):
                    one.kill()
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("stopped; what is finished is in ")
    assert left == []
