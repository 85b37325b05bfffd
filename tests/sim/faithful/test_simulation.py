"""Scenarios over faithful links: the same deliveries as over perfect ones."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from live.playing import Script, deliveries
from sapwood.errors import ScenarioError
from sapwood.sim.faithful.simulation import FAITHFUL, PERFECT, FaithfulSimulation, simulation
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import Scenario, load, parse
from sapwood.trace.schema import Row

SCENARIOS = Path(__file__).resolve().parent.parent.parent.parent / "scenarios"


def short() -> Scenario:
    return msgspec.structs.replace(load(SCENARIOS / "branches.toml"), duration=6.0)


@pytest.mark.slow
def test_faithful_links_deliver_the_same_on_settled_pairs() -> None:
    scenario = short()
    settled = Script(scenario).settled_pairs()
    assert len(settled) > 50
    for links in (PERFECT, FAITHFUL):
        rows: list[Row] = []
        result = simulation(scenario, links=links, sinks=[rows.append]).run()
        assert (result.violations, result.brokers) == (0, 5)
        assert result.delivered == len(deliveries(rows)) > len(settled)
        assert deliveries(rows) & settled == settled
        assert result.notification_hops > 0
        assert result.control_hops > 0


@pytest.mark.slow
def test_one_seed_gives_one_run() -> None:
    first, second = (simulation(short(), links=FAITHFUL).run() for _ in range(2))
    other = simulation(short(), seed=9, links=FAITHFUL).run()
    assert first.digest == second.digest != other.digest


def test_the_scenario_says_which_links() -> None:
    scenario = short()
    assert type(simulation(scenario)) is Simulation
    faithful = msgspec.structs.replace(scenario, links=FAITHFUL)
    assert type(simulation(faithful, check=False, digest=False)) is FaithfulSimulation
    assert type(simulation(faithful, links=PERFECT)) is Simulation


@pytest.mark.slow
def test_without_anybody_who_looks_no_row_is_made() -> None:
    result = simulation(short(), links=FAITHFUL, check=False, digest=False).run()
    assert (result.digest, result.checked) == ("", False)
    assert result.delivered > 0


def test_nodes_make_no_exception_for_an_edge() -> None:
    text = (SCENARIOS / "branches.toml").read_text()
    edges = '"covering"\nedges = { "B3 -> B1" = "simple" }'
    scenario = parse(text.replace('"covering"', edges, 1))
    with pytest.raises(ScenarioError, match="links is 'faithful': nodes route peer to peer or"):
        simulation(scenario, links=FAITHFUL)


@pytest.mark.slow
def test_hierarchical_routing_goes_to_the_root_that_is_wanted() -> None:
    """A notification goes to the root and from there where it is wanted, as over perfect links."""
    text = (SCENARIOS / "branches.toml").read_text()
    scenario = parse(
        text.replace('"covering"', '"covering"\nvariant = "hierarchical"\nroot = "B3"', 1)
    )
    scenario = msgspec.structs.replace(scenario, duration=6.0)
    settled = Script(scenario).settled_pairs()
    hops = {}
    for links in (PERFECT, FAITHFUL):
        rows: list[Row] = []
        run = simulation(scenario, links=links, sinks=[rows.append])
        result = run.run()
        assert result.violations == 0
        assert deliveries(rows) & settled == settled
        hops[links] = result.notification_hops
    assert isinstance(run, FaithfulSimulation)
    assert {node.broker.tree.root for node in run.faithful.nodes.values()} == {"B3"}
    assert hops[FAITHFUL] == pytest.approx(hops[PERFECT], rel=0.1)
