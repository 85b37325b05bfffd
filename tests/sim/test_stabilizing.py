"""Runs in which clients renew and faults happen: how long they go on, and what is judged."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.sim.run import Simulation
from sapwood.sim.scenario import Scenario, from_mapping
from sapwood.sim.stabilizing import Pardon
from sapwood.trace.schema import Row


def scenario(**more: Any) -> Scenario:
    values: dict[str, Any] = {
        "duration": 30.0,
        "topology": {"shape": "chain", "brokers": 3},
        "stabilization": {"scheme": "lease-simple", "refresh_period": 5.0, "lease_period": 6.0},
        "workload": {
            "type": "classes",
            "classes": 4,
            "arrival_rate": 0.0,
            "departure_rate": 0.0,
            "publication_rate": 2.0,
            "initial_subscriptions": 4,
        },
    }
    return from_mapping(values | more)


FAULT = {"type": "tables", "at": 12.0}


def test_a_run_without_faults_says_nothing_about_them() -> None:
    result = Simulation(scenario()).run()
    assert not {"faults", "bound", "recovered_after"} & result.summary().keys()
    assert result.violations == 0
    assert result.virtual_seconds == 34.0


def test_a_run_with_faults_goes_on_for_twice_the_bound_and_says_when_it_was_right() -> None:
    result = Simulation(scenario(faults=[FAULT])).run()
    summary = result.summary()
    assert summary["bound"] == pytest.approx(2 * 6.0 + 2 * 0.025)
    assert 0 <= summary["recovered_after"] <= summary["bound"]
    assert result.virtual_seconds == pytest.approx(12.0 + 2 * summary["bound"] + 4.0)


def test_without_a_scheme_the_bound_is_null_and_it_does_not_recover() -> None:
    result = Simulation(scenario(faults=[FAULT], stabilization={"scheme": "off"})).run()
    summary = result.summary()
    assert (summary["bound"], summary["recovered_after"]) == (None, None)


def test_a_fault_that_does_nothing_is_recovered_from_at_once() -> None:
    harmless = {"type": "messages", "at": 12.0, "seconds": 1.0}
    result = Simulation(scenario(faults=[harmless])).run()
    assert result.recovered_after == 0.0


def test_every_client_renews_once_in_a_period_and_none_that_is_gone() -> None:
    simulation = Simulation(scenario())
    simulation.run()
    sent = sum(one.control["Subscribe"] for one in simulation.network.directions.values())
    assert sent == pytest.approx(4 * 2 * (1 + 34.0 / 5.0), abs=8)


def test_periods_of_their_own_at_some_brokers() -> None:
    own = {"brokers": ["B1", "B2", "B3"], "refresh_period": 1.0, "lease_period": 1.2}
    section = {"scheme": "lease-simple", "refresh_period": 5.0, "periods": [own]}
    simulation = Simulation(scenario(stabilization=section))
    assert simulation.run().violations == 0
    sent = sum(one.control["Subscribe"] for one in simulation.network.directions.values())
    assert sent == pytest.approx(4 * 2 * (1 + 34.0), abs=8)
    assert simulation.stabilizing is not None
    assert simulation.stabilizing.bound == pytest.approx(2 * 5.05 + 0.05)


def row(kind: str, at: float, sequence: int) -> Row:
    return Row(
        run="r",
        broker="B1",
        session=1,
        step=1,
        at=at,
        kind=kind,
        publisher="p.1",
        sequence=sequence,
        client="c.1",
    )


def test_what_is_published_while_anything_may_happen_is_not_judged() -> None:
    simulation = Simulation(scenario(faults=[FAULT]))
    assert simulation.stabilizing is not None
    kept: list[tuple[str, float]] = []
    pardon = Pardon(simulation.stabilizing, lambda one: kept.append((one.kind, one.at)))
    bound = simulation.stabilizing.bound
    assert bound is not None
    times = [1.0, 9.0, 11.0, 12.0 + bound + 1.0, 12.0 + bound + 3.0]
    for sequence, at in enumerate(times):
        pardon.add(row("published", at, sequence))
        pardon.add(row("delivered", at + 100.0, sequence))
    pardon.add(Row(run="r", broker="B1", session=1, step=1, at=12.0, kind="clock"))
    assert kept == [
        ("published", 1.0),
        ("delivered", 101.0),
        ("published", 9.0),
        ("delivered", 109.0),
        ("published", times[4]),
        ("delivered", times[4] + 100.0),
        ("clock", 12.0),
    ]
