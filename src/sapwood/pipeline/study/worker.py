"""What a study does on a worker: simulate the runs of a slot, one row each.

A run that fails gives a row too, with what went wrong, and the next one goes on. Compiled kernels
are kept on disk by Numba, once per machine; a lock lets one worker compile while the others wait,
instead of all of them compiling the same.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from importlib.metadata import version
from typing import Any

import msgspec
import pyarrow as pa

from sapwood.pipeline.spark.cache_folder import cache_folder
from sapwood.pipeline.study.runs import StudyRun
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import from_mapping

COUNTS = (
    "violations", "published", "expected", "delivered", "notification_hops", "control_hops",
    "settling_hops", "brokers", "table_entries", "steps", "measured_notification_hops",
    "measured_control_hops", "measured_settling_hops", "lost", "duplicated", "unexpected",
    "out_of_order_fifo", "out_of_order_causal", "early",
)  # fmt: skip
"""Whole numbers that a run comes to."""

QUANTITIES = ("virtual_seconds", "duration", "measured_seconds", "bound", "recovered_after")
"""Seconds of virtual time; the last two only of scenarios with faults."""

SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("point", pa.string()),
        ("parameters", pa.string()),
        ("repeat", pa.int64()),
        ("seed", pa.int64()),
        ("code", pa.string()),
        ("digest", pa.string()),
        *((name, pa.int64()) for name in COUNTS),
        *((name, pa.float64()) for name in QUANTITIES),
        ("cpu_seconds", pa.float64()),
        ("error", pa.string()),
    ]
)
"""A row per run; all but the last two are the same wherever and whenever it runs."""

Simulate = Callable[[StudyRun], dict[str, Any]]


def simulate(run: StudyRun) -> dict[str, Any]:
    """Do a run; its counts by name."""
    scenario = from_mapping(run.scenario)
    simulation = Simulation(scenario, run.seed, check=run.check, digest=run.check)
    before, begun_at = simulation.network.hops(), 0.0
    is_begun = run.measure_from <= 0

    def begin(at: float) -> None:
        nonlocal before, begun_at, is_begun
        if not is_begun and at >= run.measure_from:
            before, begun_at, is_begun = simulation.network.hops(), at, True

    result = simulation.run(begin)
    after = simulation.network.hops()
    counts = {name: value for name, value in result.summary().items() if name != "checked"}
    if not is_begun:
        before, begun_at = after, scenario.duration
    return counts | {
        "duration": scenario.duration,
        "measured_seconds": scenario.duration - begun_at,
        "measured_notification_hops": after.notifications - before.notifications,
        "measured_control_hops": after.control - before.control,
        "measured_settling_hops": after.settling - before.settling,
    }


def work(
    slots: Sequence[bytes],
    simulating: Simulate,
    batches: Iterator[pa.RecordBatch],
    schema: pa.Schema = SCHEMA,
) -> Iterator[pa.RecordBatch]:
    """For Spark's mapInArrow: the rows of the slots whose numbers the batches hold."""
    warm_kernels()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            for run in msgspec.json.decode(slots[number], type=list[StudyRun]):
                yield pa.RecordBatch.from_pylist([row_of(run, simulating)], schema)
                _keep_loaded()


def row_of(run: StudyRun, simulating: Simulate = simulate) -> dict[str, Any]:
    """Do a run; its row, with an error if it failed."""
    begin = time.process_time()
    row: dict[str, Any] = {
        "run": run.run,
        "point": run.point,
        "parameters": msgspec.json.encode(run.parameters).decode(),
        "repeat": run.repeat,
        "code": run.code,
    }
    try:
        row |= simulating(run)
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is this run's alone
        row["error"] = told(problem)
    return row | {"seed": run.seed, "cpu_seconds": time.process_time() - begin}


def told(problem: BaseException) -> str:
    """An exception in one line: what, and where it was raised."""
    text = " ".join(str(problem).split())
    frames = traceback.extract_tb(problem.__traceback__)
    where = f" ({frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(problem).__name__}: {text}{where}"


@cache
def _keep_loaded() -> None:
    """Take all that is loaded by now out of the garbage collection; once per process.

    Spark has every worker collect after every task, and modules are most of what it looks at.
    """
    gc.collect()
    gc.freeze()


_PACKAGES = ("compiled", "filters", "wire", "matching", "fastpath")
"""What the kernels of a broker are compiled from."""


@cache
def warm_kernels() -> None:
    """Have all kernels compiled, by this process or by another one; once per process.

    A mark on disk says that they are, so that processes started later need not even look.
    """
    folder = cache_folder()
    mark = folder / f"kernels-{_kernels()}"
    if mark.exists():
        return
    with (folder / "kernels.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not mark.exists():
            from sapwood.fastpath.warm import exercise  # noqa: PLC0415 - Numba takes a second

            exercise()
            mark.touch()


def _kernels() -> str:
    """What compiled kernels depend on: their sources, where they are, and who compiles them."""
    digest = hashlib.blake2b(f"{sys.version}\n{version('numba')}\n".encode(), digest_size=8)
    for package in (resources.files(f"sapwood.{name}") for name in _PACKAGES):
        digest.update(f"{package}\n".encode())
        for source in sorted(package.iterdir(), key=lambda source: source.name):
            if source.name.endswith(".py"):
                digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()


__all__ = ["COUNTS", "QUANTITIES", "SCHEMA", "row_of", "simulate", "told", "warm_kernels", "work"]
