"""What it costs to spread simulations over Spark, and what it gains on a second core.

The same runs are done in three ways, each in a process of its own: one after the other without
Spark, as a study on one core, and as a study on two. All take turns, some rounds of them, and the
best time of each counts: a busy minute then hits all alike. Processor time, of all processes, is
told beside: it says more about what Spark adds where a machine is never quiet. Rounds still differ
by more than what is to be shown; so each study on one core is also compared with itself: the time
it took beside the processor time of its own runs. All else is what Spark adds, in the same minutes.

Starting Spark and its workers is left out: a short study is run first. Runs are made so long that
they take the processor seconds wanted on the machine at hand.
"""

from __future__ import annotations

import tempfile
import time
from typing import Any

from sapwood.bench.pipeline_run import tree_seconds
from sapwood.bench.process import call_fresh
from sapwood.bench.registry import Options, Progress
from sapwood.pipeline.spark.session import UNCOMPILED, spark_session
from sapwood.pipeline.study.runs import runs_of
from sapwood.pipeline.study.study import run_study
from sapwood.pipeline.study.study_file import Study
from sapwood.pipeline.study.worker import simulate

_HERE = "sapwood.bench.pipeline_study"
_TRIAL_SECONDS = 5.0
"""Of virtual time, to have everything loaded before the clock runs."""

_CALIBRATION_SECONDS = 40.0
"""Of virtual time, to find out how long a second of it takes: beside it, the start is little."""


def measure(options: Options, progress: Progress) -> dict[str, Any]:
    """Measure overhead and gain; figures for a report."""
    wanted, count, rounds = (0.5, 4, 1) if options.quick else (6.0, 24, 2)
    progress("how long a simulation takes")
    virtual = call_fresh(f"{_HERE}:calibrate", {"seconds": wanted, "seed": options.seed})
    plan = {"virtual_seconds": virtual, "runs": count, "seed": options.seed}
    ways = {
        "alone": ("alone", plan),
        "local1": ("spread", {**plan, "master": "local[1]"}),
        "local2": ("spread", {**plan, "master": "local[2]"}),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    processor: dict[str, list[float]] = {name: [] for name in ways}
    own: list[float] = []
    hops = set()
    for number in range(1, rounds + 1):
        for name, (function, argument) in ways.items():
            where = argument.get("master", "no Spark")
            progress(f"{count} runs of {wanted:g} s, {where}, round {number} of {rounds}")
            found = call_fresh(f"{_HERE}:{function}", argument)
            taken[name].append(found["seconds"])
            processor[name].append(found["processor_seconds"])
            hops.add(found["hops"])
            if name == "local1":
                own.append(found["seconds"] / found["run_seconds"] - 1)
    best = {name: min(seconds) for name, seconds in taken.items()}
    least = {name: min(seconds) for name, seconds in processor.items()}
    return {
        "runs": count,
        "seconds_per_run": best["alone"] / count,
        **{f"{name}_seconds": seconds for name, seconds in best.items()},
        **{f"{name}_processor_seconds": seconds for name, seconds in least.items()},
        "all_seconds": taken,
        "overhead": best["local1"] / best["alone"] - 1,
        "processor_overhead": least["local1"] / least["alone"] - 1,
        "own_overheads": own,
        "speedup": best["local1"] / best["local2"],
        "is_right": len(hops) == 1,
    }


def study_of(virtual_seconds: float, runs: int, seed: int) -> Study:
    """Runs that all take about the same time, and little of it in compiled code."""
    return Study(
        name="bench",
        seed=seed,
        repeats=runs,
        check=False,
        scenario={
            "duration": virtual_seconds,
            "topology": {"shape": "tree", "brokers": 31},
            "routing": {"algorithm": "identity"},
            "workload": {
                "type": "classes",
                "classes": 50,
                "arrival_rate": 5.0,
                "departure_rate": 0.05,
                "initial_subscriptions": 100,
                "publication_rate": 100.0,
            },
        },
        measures={"hops": "notification_hops + control_hops"},
    )


def calibrate(plan: dict[str, Any]) -> float:
    """How many virtual seconds take the seconds wanted."""
    simulate(runs_of(study_of(_TRIAL_SECONDS, 1, plan["seed"]))[0])
    run = runs_of(study_of(_CALIBRATION_SECONDS, 1, plan["seed"]))[0]
    begin = time.process_time()
    simulate(run)
    taken = time.process_time() - begin
    return max(_TRIAL_SECONDS, _CALIBRATION_SECONDS * float(plan["seconds"]) / taken)


def alone(plan: dict[str, Any]) -> dict[str, float]:
    """Seconds that the runs take one after the other, in this process."""
    simulate(runs_of(study_of(_TRIAL_SECONDS, 1, plan["seed"]))[0])
    runs = runs_of(study_of(plan["virtual_seconds"], plan["runs"], plan["seed"]))
    begin, before = time.perf_counter(), tree_seconds()
    counts = [simulate(run) for run in runs]
    seconds, processor = time.perf_counter() - begin, tree_seconds() - before
    hops = sum(one["notification_hops"] + one["control_hops"] for one in counts)
    return {"seconds": seconds, "processor_seconds": processor, "hops": hops}


def spread(plan: dict[str, Any]) -> dict[str, float]:
    """Seconds that a study of them takes, with all it reads and writes."""
    with (
        spark_session(plan["master"], short=True, settings=UNCOMPILED) as spark,
        tempfile.TemporaryDirectory(prefix="sapwood-") as folder,
    ):
        run_study(spark, study_of(_TRIAL_SECONDS, 4, plan["seed"]), f"{folder}/warm")
        study = study_of(plan["virtual_seconds"], plan["runs"], plan["seed"])
        begin, before = time.perf_counter(), tree_seconds()
        outcome = run_study(spark, study, f"{folder}/out")
        seconds, processor = time.perf_counter() - begin, tree_seconds() - before
    hops = sum(round(row["mean"] * row["runs"]) for row in outcome.points)
    return {
        "seconds": seconds,
        "processor_seconds": processor,
        "run_seconds": outcome.cpu_seconds,
        "hops": hops,
    }


__all__ = ["measure"]
