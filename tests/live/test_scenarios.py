"""The same scenario in all modes: the same deliveries, and a trace without fault.

Perfect links and faithful ones are simulated; live, every broker is a process.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from live.playing import Play, Script, deliveries
from sapwood.sim.faithful.simulation import FAITHFUL, PERFECT, simulation
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import load
from sapwood.trace import Row, check, read

SCENARIOS = Path(__file__).resolve().parent.parent.parent / "scenarios"
LIVE = [path for path in sorted(SCENARIOS.glob("*.toml")) if "live" in load(path).drivers]


@pytest.mark.slow
@pytest.mark.parametrize("links", [PERFECT, FAITHFUL])
@pytest.mark.parametrize("path", LIVE, ids=lambda path: path.stem)
def test_a_scenario_meant_for_both_is_right_over_all_links(path: Path, links: str) -> None:
    scenario = load(path)
    rows: list[Row] = []
    assert simulation(scenario, links=links, sinks=[rows.append]).run().violations == 0
    settled = Script(scenario).settled_pairs()
    assert len(settled) > 500
    assert deliveries(rows) & settled == settled


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("path", LIVE, ids=lambda path: path.stem)
def test_both_drivers_deliver_the_same_on_settled_pairs(path: Path, tmp_path: Path) -> None:
    scenario = load(path)
    script = Script(scenario)
    simulated: list[Row] = []
    assert Simulation(scenario, sinks=[simulated.append]).run().violations == 0

    play = Play(script, scale=0.5)
    asyncio.run(play.run(scenario.routing.algorithm, tmp_path))
    live = list(read(tmp_path))

    settled = script.settled_pairs()
    assert len(settled) > 500
    assert deliveries(simulated) & settled == settled
    assert deliveries(live, play.names) & settled == settled
    verdict = check(read(tmp_path))
    assert (verdict.violations, verdict.unjudged) == ([], 0)
    assert verdict.published == sum(row.kind == "published" for row in simulated)
    assert verdict.expected > 500


def test_some_scenarios_are_meant_for_both() -> None:
    assert [path.stem for path in LIVE] == ["branches"]
