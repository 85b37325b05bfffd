"""What a worker does with a run: count, measure from a moment on, and survive what fails."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from pipeline.samples import TINY, changed, tiny
from sapwood.pipeline.study import worker
from sapwood.pipeline.study.runs import StudyRun, runs_of
from sapwood.pipeline.study.study_file import parse
from sapwood.pipeline.study.worker import (
    COUNTS,
    QUANTITIES,
    SCHEMA,
    row_of,
    simulate,
    warm_kernels,
    work,
)
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import from_mapping


def first_run(text: str = TINY) -> StudyRun:
    return runs_of(parse(text), "1")[0]


def test_a_run_is_the_simulation_of_its_scenario_and_seed() -> None:
    run = first_run()
    counts = simulate(run)
    expected = Simulation(from_mapping(run.scenario), run.seed).run().summary()
    assert {name: counts[name] for name in expected if name != "checked"} == {
        name: value for name, value in expected.items() if name != "checked"
    }
    assert counts["digest"]
    assert counts["violations"] == 0


def test_a_row_has_all_columns() -> None:
    row = row_of(first_run())
    with_faults = {"bound", "recovered_after"}
    assert set(row) == set(SCHEMA.names) - {"error"} - with_faults
    assert pa.RecordBatch.from_pylist([row], SCHEMA).num_rows == 1
    assert {*COUNTS, *QUANTITIES} - with_faults < set(row)


def test_measuring_begins_when_it_is_told() -> None:
    everything, later, never = (
        simulate(first_run(changed(measure_from=str(moment)))) for moment in (0.0, 1.0, 99.0)
    )
    for name in ("notification_hops", "control_hops", "settling_hops"):
        assert everything[f"measured_{name}"] == everything[name] == later[name]
        assert 0 < later[f"measured_{name}"] < later[name]
        assert never[f"measured_{name}"] == 0
    assert everything["measured_seconds"] == 2.0
    assert 0.9 < later["measured_seconds"] <= 1.0
    assert never["measured_seconds"] == 0


def test_unchecked_runs_count_the_same() -> None:
    checked, unchecked = simulate(first_run()), simulate(first_run(changed(check="false")))
    for name in ("published", "delivered", "notification_hops", "control_hops", "table_entries"):
        assert unchecked[name] == checked[name]
    assert unchecked["digest"] == ""


def fails_at_overlap(run: StudyRun) -> dict[str, Any]:
    if run.parameters["workload.overlap"]:
        raise RuntimeError("no\n  such   thing")
    return simulate(run)


@pytest.mark.slow
def test_a_failing_run_is_told_and_the_rest_goes_on() -> None:
    runs = runs_of(tiny(), "1")
    batches = iter([pa.RecordBatch.from_pydict({"id": [0, 1]})])
    slots = [msgspec.json.encode(runs[:6]), msgspec.json.encode(runs[6:])]
    rows = pa.Table.from_batches(list(work(slots, fails_at_overlap, batches))).to_pylist()
    assert [row["run"] for row in rows] == [run.run for run in runs]
    for row, run in zip(rows, runs, strict=True):
        if run.parameters["workload.overlap"]:
            assert row["error"].startswith("RuntimeError: no such thing (fails_at_overlap, line ")
            assert row["published"] is None
        else:
            assert row["error"] is None
            assert row["published"] > 0


@pytest.mark.slow
def test_what_a_worker_has_loaded_is_not_collected_again() -> None:
    slots = [msgspec.json.encode([first_run()])]
    worker._keep_loaded.cache_clear()
    gc.unfreeze()
    try:
        list(work(slots, simulate, iter([pa.record_batch({"id": [0]})])))
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()


@pytest.mark.slow
def test_a_scenario_that_fails_only_with_some_seeds() -> None:
    """A random tree may be too deep for the settling time."""
    text = TINY.replace('shape = "chain"\nbrokers = 3', 'shape = "random"\nbrokers = 40')
    text = text.replace("duration = 2.0", "duration = 2.0\nsettle = 0.9")
    rows = [row_of(run) for run in runs_of(parse(changed_repeats(text)), "1")]
    told = [row["error"] for row in rows if "error" in row]
    assert 0 < len(told) < len(rows)
    assert told[0].startswith("ScenarioError: settle is 0.9; on this tree a change may take")


def changed_repeats(text: str) -> str:
    """Only one point, but many seeds."""
    few = text.replace('["simple", "covering"]', '["simple"]').replace("[0, 1]", "[0]")
    return few.replace("repeats = 3", "repeats = 20")


def test_kernels_are_compiled_once_and_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sapwood.fastpath.warm.exercise", lambda: done.append(1))
    for _ in range(2):  # as in two processes
        warm_kernels.cache_clear()
        warm_kernels()
    assert done == [1]
    monkeypatch.setattr(worker, "version", lambda name: "another")
    warm_kernels.cache_clear()
    warm_kernels()
    assert done == [1, 1]
    warm_kernels.cache_clear()
