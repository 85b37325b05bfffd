"""Jobs in a process of their own, as a user would run them, so that a test can choose its master.

Usage: python driving.py FOLDER MASTER JOB...

FOLDER holds `study.toml` and `traces/`, and gets the results. MASTER may be `-`: whatever session
there is, as under spark-submit. A job is `audit`, `mounted` (an audit of the same traces by another
name of theirs, which only Spark knows), `bereft` (an audit that loses a worker in the middle),
`traffic`, `study`, or `study:GROUP` with a process group that is ended when the first batch of runs
is back. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from sapwood.pipeline import audit_directory, traffic_directory
from sapwood.pipeline.spark.session import UNCOMPILED, open_session
from sapwood.pipeline.study.study import Progress, run_study
from sapwood.pipeline.study.study_file import load

CODE = "tests"
WORKER = "CoarseGrainedExecutorBackend"
DAEMONS = ("pyspark.daemon", "sapwood.pipeline.spark.quiet_daemon")


def study(folder: Path, master: str | None, group: int | None = None) -> dict[str, Any]:
    """The study in a folder; perhaps somebody loses processes meanwhile."""
    killed_after = None

    def follow(at: Progress) -> None:
        nonlocal killed_after
        if at.done and group is not None and killed_after is None:
            os.killpg(group, signal.SIGKILL)
            killed_after = at.done

    spark = open_session(master, short=True, settings=UNCOMPILED)
    file, out = load(folder / "study.toml"), str(folder / "results")
    outcome = run_study(spark, file, out, progress=follow, code=CODE)
    failures = [failure.error for failure in outcome.failures]
    return {"digest": outcome.digest, "failures": failures, "killed_after": killed_after}


def audit(folder: Path, master: str | None) -> dict[str, Any]:
    """The audit of the traces in a folder, but for where they are."""
    return without_place(audit_directory(folder / "traces", master=master).summary())


def mounted(folder: Path, master: str | None) -> dict[str, Any]:
    """The same, by way of a scheme and a setting of Spark's."""
    settings = {
        "spark.hadoop.fs.viewfs.mounttable.traces.link./data": (folder / "traces").as_uri(),
        **UNCOMPILED,
    }
    report = audit_directory("viewfs://traces/data", master=master, settings=settings)
    return without_place(report.summary())


def bereft(folder: Path, master: str | None) -> dict[str, Any]:
    """The same, while the worker is killed that has the most of what is kept."""
    lost: list[int] = []

    def follow(said: str) -> None:
        if said.startswith("comparing"):
            lost.append(kill_a_worker())

    report = audit_directory(folder / "traces", master=master, progress=follow)
    assert lost, "nobody was killed"
    return without_place(report.summary())


def kill_a_worker() -> int:
    """End one of the processes that do the work of a session with several, at once."""
    found: list[psutil.Process] = psutil.Process().children(recursive=True)
    workers = [one for one in found if any(WORKER in word for word in command_of(one))]
    chosen = min(workers, key=psutil.Process.create_time)
    chosen.kill()
    chosen.wait()
    return int(chosen.pid)


def traffic(folder: Path, master: str | None) -> dict[str, Any]:
    """The same of their traffic."""
    return without_place(traffic_directory(folder / "traces", master=master).summary())


def without_place(report: dict[str, Any]) -> dict[str, Any]:
    """A report but for the directory it is about."""
    return {name: value for name, value in report.items() if name != "directory"}


def started() -> dict[str, Any]:
    """The Javas that this process has started, and how many Pythons these have to fork workers."""
    found: list[psutil.Process] = psutil.Process().children(recursive=True)
    javas = [one for one in found if command_of(one)[0].endswith("/java")]
    daemons = [child for java in javas for child in java.children() if is_daemon(child)]
    return {"javas": [java.exe() for java in javas], "daemons": len(daemons)}


def is_daemon(process: psutil.Process) -> bool:
    """Whether a process forks Spark's workers."""
    return any(module in command_of(process) for module in DAEMONS)


def command_of(process: psutil.Process) -> list[str]:
    """The words of its command; small ones that Java calls come and go."""
    try:
        return process.cmdline() or [""]
    except psutil.NoSuchProcess:
        return [""]


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "audit": audit,
    "bereft": bereft,
    "mounted": mounted,
    "traffic": traffic,
    "study": study,
}


def main(folder: str, master: str, *jobs: str) -> None:
    """Run it."""
    where = None if master == "-" else master
    outcome: dict[str, Any] = {}
    for job in jobs:
        name, _, group = job.partition(":")
        more = [int(group)] if group else []
        outcome[name] = JOBS[name](Path(folder), where, *more)
    print(json.dumps(outcome | started()))


if __name__ == "__main__":
    main(*sys.argv[1:])
