"""The table of runs of a study: which there are, their seeds, and the names they are known by.

A run is known by a digest of its scenario, its seed and the code that simulates it. So a run that
is done is found again whatever else of the study has changed, and is done again when the code has.
Seeds depend on the study's seed and the number of the repeat alone: not on how runs are spread over
machines, nor on how often one was tried. All points share the seeds of their repeats, so that
algorithms are compared under the same clients and the same delays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from sapwood.pipeline.study.study_file import Study, scenario_at
from sapwood.sim.workloads.rates import schedule_of

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from sapwood.sim.scenario import Scenario

_NOT_SIMULATING = frozenset(
    {
        "__init__.py", "__main__.py", "__pycache__", "bench", "cli", "demo", "experiments",
        "gateway", "pipeline", "runtime", "sync.py", "testing.py",
    }
)  # fmt: skip
"""What of Sapwood has no part in the outcome of a run; a test looks what a run loads."""


class StudyRun(msgspec.Struct, frozen=True, kw_only=True):
    """One simulation: everything its outcome depends on, and the names it goes by."""

    run: str
    """The digest it is known by."""
    point: str
    """A digest of the parameters: the same for all repeats."""
    parameters: dict[str, Any]
    scenario: dict[str, Any]
    repeat: int
    seed: int
    check: bool
    measure_from: float
    code: str
    cost: float = 1.0
    """How long it may take, in no unit."""


def runs_of(study: Study, code: str | None = None) -> list[StudyRun]:
    """All runs of a study, those first that will probably take longest."""
    code = code or code_version()
    seeds = seeds_of(study)
    made: list[StudyRun] = []
    for point in study.points():
        scenario = study.mapping(point)
        cost = expected_cost(scenario_at(study, point))
        for repeat, seed in enumerate(seeds):
            what: dict[str, Any] = {
                "scenario": scenario,
                "seed": seed,
                "check": study.check,
                "measure_from": study.measure_from,
                "code": code,
            }
            run = StudyRun(
                run=digest_of(what),
                point=digest_of(point),
                parameters=point,
                repeat=repeat,
                cost=cost,
                **what,
            )
            made.append(run)
    return sorted(made, key=lambda run: -run.cost)


def seeds_of(study: Study) -> list[int]:
    """The seed of each repeat; a study with more repeats has those of one with fewer first."""
    return seeds_from(study.seed, study.repeats)


def seeds_from(seed: int, repeats: int) -> list[int]:
    """The seeds of so many repeats, from one seed."""
    return [
        int(np.random.SeedSequence(seed, spawn_key=(repeat,)).generate_state(1, np.uint64)[0])
        >> 1  # so that it fits into 64 bits with sign
        for repeat in range(repeats)
    ]


def expected_cost(scenario: Scenario) -> float:
    """How long a run may take, in no unit: only the order counts."""
    brokers = len(scenario.topology.links or scenario.topology.candidates or ())
    brokers = scenario.topology.brokers or brokers + 1
    workload = scenario.workload
    published = _events(getattr(workload, "publication_rate", 0.0), scenario.duration)
    jobs, interval = getattr(workload, "jobs", 0), getattr(workload, "publication_interval", 1.0)
    asked = _events(getattr(workload, "arrival_rate", 0.0), scenario.duration)
    asked += getattr(workload, "initial_subscriptions", 0)
    weight = _WEIGHTS.get(scenario.routing.algorithm, 1.0)
    return float(brokers * (published + jobs * scenario.duration / interval + weight * asked))


_WEIGHTS = {"flooding": 0.1, "merging": 10.0}
"""What a subscription costs under an algorithm, beside the others."""


def _events(rate: Any, seconds: float) -> float:
    """How many events a rate gives in a time, roughly."""
    schedule = schedule_of("rate", rate)
    return sum(schedule.rate((part + 0.5) / 8 * seconds) for part in range(8)) / 8 * seconds


def code_version() -> str:
    """The version of Sapwood, and a digest of the sources that simulate."""
    digest = hashlib.blake2b(digest_size=6)
    parts = sorted(resources.files("sapwood").iterdir(), key=lambda part: part.name)
    for part in parts:
        if part.name in _NOT_SIMULATING:
            continue
        for path, data in _sources(part, part.name):
            digest.update(f"{path} {len(data)}\n".encode())
            digest.update(data)
    try:
        number = version("sapwood")
    except PackageNotFoundError:
        number = "0"
    return f"{number}-{digest.hexdigest()}"


def _sources(node: Traversable, path: str) -> Iterable[tuple[str, bytes]]:
    if node.is_file():
        if path.endswith((".py", ".lark")):
            yield path, node.read_bytes()
        return
    for child in sorted(node.iterdir(), key=lambda child: child.name):
        yield from _sources(child, f"{path}/{child.name}")


def digest_of(value: object) -> str:
    """A short digest of a value that JSON can hold, by which it is known."""
    data = msgspec.json.encode(value, order="deterministic")
    return hashlib.blake2b(data, digest_size=10).hexdigest()


__all__ = ["StudyRun", "code_version", "digest_of", "runs_of", "seeds_from", "seeds_of"]
