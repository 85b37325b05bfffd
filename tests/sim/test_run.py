"""Runs of scenarios: the same seed gives the same run, whoever looks."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from sapwood.protocol.forwarding import Forwarding
from sapwood.sim.run import Result, Simulation
from sapwood.sim.scenario import Scenario, from_mapping
from sapwood.sim.workloads.action import Action, ActionKind
from sapwood.trace.digest import digest
from sapwood.trace.judge.checkers import check
from sapwood.trace.schema import Row

ALL: dict[str, Any] = {
    "name": "small",
    "duration": 5.0,
    "topology": {"shape": "random", "brokers": 7},
    "delay": {"type": "uniform", "delay_min": 0.001, "delay_max": 0.1},
    "workload": {
        "type": "classes",
        "classes": 10,
        "overlap": 2,
        "arrival_rate": 4.0,
        "departure_rate": 0.3,
        "publication_rate": 20.0,
        "initial_subscriptions": 5,
        "advertise": True,
        "publisher_lifetime": 3.0,
    },
}


def scenario(algorithm: str = "covering", **routing: Any) -> Scenario:
    return from_mapping({**ALL, "routing": {"algorithm": algorithm, **routing}})


def counted(result: Result) -> dict[str, Any]:
    """What happened, without what was found by looking at it."""
    counts = result.summary()
    kept = ("seed", "published", "delivered", "notification_hops", "control_hops", "settling_hops")
    return {name: counts[name] for name in (*kept, "table_entries", "virtual_seconds", "steps")}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["flooding", "simple", "identity", "covering", "merging"])
@pytest.mark.parametrize(
    "routing",
    [
        {},
        {"variant": "hierarchical", "root": "B3"},
        {"advertisements": "required"},
        {"advertisements": "required", "variant": "hierarchical"},
    ],
)
def test_every_algorithm_is_correct(algorithm: str, routing: dict[str, Any]) -> None:
    result = Simulation(scenario(algorithm, **routing)).run()
    assert result.verdict.counts() == {
        **result.verdict.counts(),
        "published": result.published,
        "delivered": result.delivered,
        "lost": 0,
        "duplicated": 0,
        "unexpected": 0,
        "out_of_order_fifo": 0,
        "out_of_order_causal": 0,
        "unjudged": 0,
    }
    assert (result.violations, result.checked) == (0, True)
    assert result.delivered >= result.expected > 50
    assert result.brokers == 7


@pytest.mark.slow
def test_a_seed_gives_one_run() -> None:
    first, again, other = (Simulation(scenario(), seed).run() for seed in (1, 1, 2))
    assert first == again
    assert first.digest != other.digest
    assert counted(first) != counted(other)


@pytest.mark.slow
def test_looking_changes_nothing() -> None:
    rows: list[Row] = []
    checked = Simulation(scenario()).run()
    traced = Simulation(scenario(), sinks=[rows.append]).run()
    unchecked = Simulation(scenario(), check=False).run()
    blind = Simulation(scenario(), check=False, digest=False).run()
    assert counted(checked) == counted(traced) == counted(unchecked) == counted(blind)
    assert checked.digest == traced.digest == unchecked.digest == digest(rows)
    assert (blind.digest, blind.checked, blind.expected, blind.violations) == ("", False, 0, 0)
    assert "lost" not in blind.summary()


def test_the_rows_give_the_same_verdict() -> None:
    rows: list[Row] = []
    simulation = Simulation(scenario(), sinks=[rows.append])
    result = simulation.run()
    settings = {simulation.run_name: simulation.settings}
    assert check(rows, settings=settings) == result.verdict


@pytest.mark.slow
def test_the_hash_seed_makes_no_difference() -> None:
    script = (
        "import msgspec, sys\n"
        "from sapwood.sim.run import Simulation\n"
        "from sapwood.sim.scenario import from_mapping\n"
        "values = msgspec.json.decode(sys.argv[1])\n"
        "for algorithm in ('simple', 'merging'):\n"
        "    values['routing'] = {'algorithm': algorithm, 'advertisements': 'required'}\n"
        "    print(Simulation(from_mapping(values)).run().digest)\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", script, msgspec.json.encode(ALL).decode()],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        ).stdout
        for hash_seed in ("0", "1", "2")
    ]
    assert len(set(printed)) == 1
    assert len(printed[0].split()) == 2


def test_progress_is_told_at_every_action() -> None:
    times: list[float] = []
    Simulation(scenario()).run(times.append)
    assert times == sorted(times)
    assert 4.5 < times[-1] < 5.0


def test_a_client_that_comes_back_has_another_session() -> None:
    simulation = Simulation(scenario())
    for kind in (ActionKind.CONNECT, ActionKind.DISCONNECT, ActionKind.CONNECT):
        simulation.perform(Action(0.0, "X", "B1", kind))
    assert list(simulation.network.clients) == ["X.2"]


def test_a_violation_that_shows_at_once_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Simulation(scenario()).run()
    plan = Forwarding._plan

    def everyone_twice(self: Forwarding, wanted: list[str]) -> Any:
        made = plan(self, wanted)
        return made._replace(everyone=made.everyone * 2)

    monkeypatch.setattr(Forwarding, "_plan", everyone_twice)
    result = Simulation(scenario()).run()
    assert (result.violations, result.verdict.duplicated) == (1, 1)
    assert [violation.kind for violation in result.verdict.violations] == ["duplicated"]
    assert result.steps < whole.steps


def test_what_is_lost_shows_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Forwarding, "invalidate", lambda self: None)
    result = Simulation(scenario()).run()
    assert result.violations > 0
    assert result.summary()["violations"] == result.violations
