"""The benchmark of the simulator: the load, and that all contestants make the same hops."""

from __future__ import annotations

import pytest

from sapwood.bench.registry import Options
from sapwood.bench.sim import (
    Size,
    class_load,
    content_load,
    measure_sapwood,
    measure_simpy_callbacks,
    measure_simpy_processes,
    run,
    tables_of,
)

SMALL = Size(brokers=8, classes=10, subscriptions=30, publications=60, rounds=1)


def test_a_seed_gives_one_load() -> None:
    assert class_load(SMALL, 3) == class_load(SMALL, 3)
    assert class_load(SMALL, 3) != class_load(SMALL, 4)


def test_all_contestants_make_the_same_hops() -> None:
    load = class_load(SMALL, 1)
    hops = {
        measure(load, SMALL)[0]
        for measure in (measure_sapwood, measure_simpy_callbacks, measure_simpy_processes)
    }
    assert len(hops) == 1
    assert hops.pop() > 0


def test_tables_lead_towards_every_interest() -> None:
    load = class_load(SMALL, 2)
    tables = tables_of(load)
    for broker, wanted in load.interests:
        number = int(str(wanted).removeprefix("class = "))
        for other in load.topology.brokers:
            if other != broker:
                assert load.topology.path(other, broker)[1] in tables[other][number]


def test_content_is_simulated_too() -> None:
    hops, seconds = measure_sapwood(content_load(SMALL, 1), SMALL)
    assert hops >= 0
    assert seconds > 0


@pytest.mark.slow
def test_the_report_names_the_target_and_is_right() -> None:
    messages: list[str] = []
    report = run(Options(quick=True), messages.append)
    assert report.is_right
    assert report.figures["target"] == 150_000
    assert set(report.figures["hops_per_second"]) == {
        "Sapwood",
        "SimPy, callbacks",
        "SimPy, processes",
    }
    assert messages
