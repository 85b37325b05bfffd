"""Run an experiment: what is left of its runs, spread over Spark, then its curves and verdicts."""

from __future__ import annotations

import hashlib
import platform
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import msgspec

from sapwood.errors import ExperimentError
from sapwood.experiments import registry
from sapwood.experiments.claims import Claim
from sapwood.experiments.curves import Curves, Point, Sample, differences, write_csv
from sapwood.experiments.drawing import draw
from sapwood.experiments.experiment import Experiment, Size
from sapwood.experiments.folder import Owner, check_folder, claim
from sapwood.pipeline.study.observing import intervals, observe
from sapwood.pipeline.study.runs import StudyRun, code_version, digest_of, seeds_from
from sapwood.pipeline.study.study import Failure, Progress

_VERSIONS: Final = ("sapwood", "numpy", "numba", "pyspark", "pyarrow", "matplotlib")

Follow = Callable[[Progress], None]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done of an experiment, checked and ready to start."""

    name: str
    size: str
    runs: int
    repeats: int
    code: str
    folder: str
    minutes: float
    """About, on two cores."""
    is_printed: bool


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What an experiment came to."""

    name: str
    title: str
    shows: tuple[str, ...]
    setup: str
    size: str
    is_printed: bool
    """Whether it has the size of the papers."""
    claims: list[Claim]
    corrections: tuple[str, ...]
    figures: list[str]
    runs: int
    repeats: int
    reused: int
    points: list[dict[str, Any]]
    seed: int
    code: str
    versions: dict[str, str]
    seconds: float
    cpu_seconds: float
    digest: str
    """Of all that the runs observed; equal on any master."""
    failures: list[Failure]


def plan(experiment: Experiment, *, is_quick: bool, repeats: int | None, out: Path) -> Plan:
    """Say what will be done, and refuse what cannot be, before any run starts."""
    size = experiment.size(is_quick=is_quick)
    if repeats is not None and repeats < 1:
        raise ExperimentError(f"is {repeats}; wanted 1 or more", "--runs")
    count = repeats or size.runs
    known = "quick" if is_quick else "full"
    made = Plan(
        name=experiment.name,
        size=known if count == size.runs else f"{known}, {count} runs a point",
        runs=count * len(size.points),
        repeats=count,
        code=code_of(experiment),
        folder=str(out / experiment.name),
        minutes=size.minutes * count / size.runs,
        is_printed=size.is_printed and count >= size.runs,
    )
    check_folder(Path(made.folder), Owner(name=made.name, code=made.code, size=made.size))
    return made


def run(
    spark: Any,
    experiment: Experiment,
    planned: Plan,
    *,
    is_quick: bool,
    progress: Follow | None = None,
) -> Outcome:
    """Do what is left of it, and judge the whole."""
    folder = Path(planned.folder)
    began = time.monotonic()
    claim(folder, Owner(name=planned.name, code=planned.code, size=planned.size))
    size = experiment.size(is_quick=is_quick)
    wanted = runs_of(experiment, size, planned.repeats, planned.code)
    observed = observe(spark, experiment.name, wanted, str(folder / "runs"), measure_run, progress)
    samples = samples_of(experiment, observed.rows)
    curves = summed_up(spark, samples, folder, is_printed=planned.is_printed)
    write_csv(curves, folder / "curve.csv")
    outcome = Outcome(
        name=experiment.name,
        title=experiment.title,
        shows=experiment.shows,
        setup=experiment.setup,
        size=planned.size,
        is_printed=planned.is_printed,
        claims=experiment.judge(curves),
        corrections=experiment.corrections,
        figures=[
            path.name
            for figure in experiment.figures
            for path in draw(figure, curves, folder)
            if path.suffix == ".png"
        ],
        runs=len(wanted),
        repeats=planned.repeats,
        reused=observed.reused,
        points=[dict(point) for point in size.points],
        seed=experiment.seed,
        code=planned.code,
        versions=versions(),
        seconds=round(time.monotonic() - began, 1),
        cpu_seconds=round(sum(row["cpu_seconds"] for row in observed.rows), 1),
        digest=observed.digest,
        failures=observed.failures,
    )
    (folder / "outcome.json").write_bytes(msgspec.json.encode(outcome))
    return outcome


def runs_of(experiment: Experiment, size: Size, repeats: int, code: str) -> list[StudyRun]:
    """The table of runs, those first that will probably take longest."""
    made = []
    for point in size.points:
        for repeat, seed in enumerate(seeds_from(experiment.seed, repeats)):
            what = {"experiment": experiment.name, "parameters": dict(point)}
            made.append(
                StudyRun(
                    run=digest_of({**what, "seed": seed, "code": code}),
                    point=digest_of(dict(point)),
                    parameters=dict(point),
                    scenario=what,
                    repeat=repeat,
                    seed=seed,
                    check=False,
                    measure_from=0.0,
                    code=code,
                    cost=experiment.cost(point),
                )
            )
    return sorted(made, key=lambda one: -one.cost)


def measure_run(run: StudyRun) -> dict[str, Any]:
    """Do one run, on a worker."""
    experiment = registry.named(run.scenario["experiment"])
    observed = [tuple(one) for one in experiment.measure(run.parameters, run.seed)]
    return {"values": msgspec.json.encode(observed).decode()}


def samples_of(experiment: Experiment, rows: Sequence[dict[str, Any]]) -> list[Sample]:
    """All values of all runs, and the differences of lines that are compared run by run."""
    order = {digest_of(dict(one)): at for at, one in enumerate(experiment.full.points)}
    order |= {digest_of(dict(one)): at for at, one in enumerate(experiment.quick.points)}
    samples = [
        Sample(measure, line, float(x), row["repeat"], float(value))
        for row in sorted(rows, key=lambda row: (order[row["point"]], row["repeat"]))
        for measure, line, x, value in msgspec.json.decode(row["values"])
    ]
    return samples + differences(samples, experiment.pairs)


def summed_up(spark: Any, samples: Sequence[Sample], folder: Path, *, is_printed: bool) -> Curves:
    """Means and intervals, in the order in which lines were observed; all values are kept."""
    rows = intervals(spark, Point._fields[:3], samples, str(folder.absolute() / "values"))
    return Curves([Point(**row) for row in rows], is_printed=is_printed)


def code_of(experiment: Experiment) -> str:
    """The version of the code that simulates, and a digest of the experiment's own module."""
    path = sys.modules[experiment.measure.__module__].__file__ or ""
    digest = hashlib.blake2b(Path(path).read_bytes(), digest_size=4)
    return f"{code_version()}-{digest.hexdigest()}"


def versions() -> dict[str, str]:
    """Of all that has a part in the results."""
    found = {"python": platform.python_version()}
    for name in _VERSIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


__all__ = ["Outcome", "Plan", "measure_run", "plan", "run", "runs_of", "samples_of"]
