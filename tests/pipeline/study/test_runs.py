"""The table of runs: seeds that depend on nothing else, and names that depend on everything."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.samples import TINY, changed, tiny, write
from sapwood.pipeline.study import runs
from sapwood.pipeline.study.runs import code_version, digest_of, expected_cost, runs_of, seeds_of
from sapwood.pipeline.study.study_file import Study, parse, scenario_at


def names(study: Study, code: str = "1") -> set[str]:
    return {run.run for run in runs_of(study, code)}


def test_every_point_is_run_with_every_seed() -> None:
    study = tiny()
    runs = runs_of(study, "1")
    counted = Counter((digest_of(run.parameters), run.seed) for run in runs)
    assert len(runs) == len(names(study)) == len(counted) == 12
    assert {run.seed for run in runs} == set(seeds_of(study))


def test_seeds_are_these_for_ever() -> None:
    """Kept results would be of no use if they changed."""
    assert seeds_of(tiny()) == [4215923173971654960, 2021340933837429789, 637987770806161565]


@given(st.integers(0, 2**40), st.integers(1, 50), st.integers(1, 50))
def test_more_repeats_keep_the_seeds_of_fewer(seed: int, some: int, others: int) -> None:
    fewer, more = (
        seeds_of(Study(name="s", seed=seed, repeats=count, scenario={}))
        for count in sorted((some, others))
    )
    assert more[: len(fewer)] == fewer
    assert len(set(more)) == len(more)
    assert all(0 <= one < 2**63 for one in more)


@pytest.mark.parametrize(
    "text",
    [
        TINY.replace("duration = 2.0", "duration = 2.5"),
        TINY.replace("publication_rate = 20.0", "publication_rate = 21.0"),
        changed(check="false"),
        changed(measure_from="0.6"),
        changed(seed="2"),
        changed(name='"other"'),
    ],
)
def test_a_run_of_something_else_has_another_name(text: str) -> None:
    assert names(parse(text)) & names(tiny()) == set()


def test_a_run_of_other_code_has_another_name() -> None:
    assert names(tiny(), "1") & names(tiny(), "2") == set()


@pytest.mark.parametrize(
    "text",
    [
        changed(repeats="5"),
        TINY.replace("[0, 1]", "[0, 1, 2]"),
        TINY.replace('"simple", "covering"', '"covering", "simple"'),
        TINY.replace('hops = "', 'hops = "1 + '),
    ],
)
def test_a_study_that_grows_keeps_its_runs(text: str) -> None:
    assert names(parse(text)) >= names(tiny())


def test_the_longest_go_first() -> None:
    text = TINY.replace('"workload.overlap"', '"workload.publication_rate"').replace(
        "[0, 1]", "[1, 50]"
    )
    rates = [run.parameters["workload.publication_rate"] for run in runs_of(parse(text), "1")]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"duration": 4.0},
        {"topology.brokers": 6},
        {"workload.publication_rate": 40.0},
        {"workload.publication_rate": {"points": [[0.0, 10.0], [2.0, 60.0]]}},
        {"workload.initial_subscriptions": 100},
        {"routing.algorithm": "merging"},
    ],
)
def test_more_to_do_is_expected_to_take_longer(changes: dict[str, Any]) -> None:
    study = tiny()
    assert expected_cost(scenario_at(study, changes)) > expected_cost(scenario_at(study, {}))


def test_every_workload_has_a_cost() -> None:
    jobs = {"topology": {"links": [["A", "B"]]}, "workload": {"type": "jobs", "subscribers": 1}}
    study = Study(name="s", scenario=jobs)
    assert expected_cost(scenario_at(study, {"workload.jobs": 3})) > 0


LOADED = """
import sys
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import load
from pathlib import Path
Simulation(load(Path(sys.argv[1])), 1).run()
print(*sorted({name.split(".")[1] for name in sys.modules if name.startswith("sapwood.")}))
"""


@pytest.mark.slow
def test_all_that_a_run_loads_is_part_of_the_version(tmp_path: Path) -> None:
    scenario = TINY.partition("[scenario]")[2].partition("[parameters]")[0]
    path = write(tmp_path, scenario.replace("[scenario.", "["))
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, path], capture_output=True, text=True, check=True
    )
    loaded = set(ran.stdout.split())
    assert {"filters", "protocol", "routing", "sim", "trace"} < loaded
    assert loaded & {name.removesuffix(".py") for name in runs._NOT_SIMULATING} == set()


def test_the_version_of_the_code_is_that_of_its_sources() -> None:
    assert code_version() == code_version()
    number, _, digest = code_version().rpartition("-")
    assert number[0].isdigit()
    assert len(digest) == 12
