"""Scenario files: what they may say, and what is said about those that are wrong."""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest

from sapwood.errors import ScenarioError
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import Scenario, from_mapping, load, parse
from sapwood.sim.topology import complete_tree
from sapwood.sim.topology.delays import UniformDelay
from sapwood.sim.workloads.classes import ClassWorkload
from sapwood.sim.workloads.content import ContentWorkload
from sapwood.sim.workloads.jobs import JobWorkload
from sapwood.sim.workloads.narrowing import NarrowingWorkload
from sapwood.trace.schema import RunSettings

SHIPPED = sorted((Path(__file__).parents[3] / "scenarios").glob("*.toml"))

RATES = "arrival_rate = 1.0\ndeparture_rate = 0.1\npublication_rate = 1.0\n"
WORKLOAD = f'[workload]\ntype = "classes"\nclasses = 5\n{RATES}'
TREE = '[topology]\nshape = "tree"\nbrokers = 7\n'
CHAIN = '[topology]\nlinks = [["A", "B"], ["B", "C"]]\n'


def problem(text: str) -> str:
    """What is said about a wrong scenario; one line, always."""
    with pytest.raises(ScenarioError) as found:
        parse(text, "f.toml")
    assert "\n" not in str(found.value)
    return str(found.value)


# --- what is right --------------------------------------------------------------------------


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_what_is_shipped_is_right(path: Path) -> None:
    scenario = load(path)
    assert scenario.name == path.stem
    assert scenario.topology.build(Random(1)).brokers


def test_little_has_to_be_said() -> None:
    scenario = parse(TREE + WORKLOAD)
    assert (scenario.name, scenario.seed, scenario.duration, scenario.settle) == ("run", 1, 60, 2)
    assert scenario.run_name(7) == "run-7"
    assert scenario.run_settings() == RunSettings(settle_seconds=2.0, advertisements_required=False)
    topology = scenario.topology.build(Random(1))
    assert set(scenario.routing.build(topology).values()) == {"covering"}
    delays = scenario.delays(topology, Random(1))
    assert delays.link("B1", "B2").sample(Random(1)) == 0.025


def test_a_tree_may_be_ternary_with_clients_at_its_leaves() -> None:
    text = 'clients_at = "leaves"\n[topology]\nshape = "tree"\nbrokers = 121\narity = 3\n'
    scenario = parse(text + WORKLOAD)
    topology = scenario.topology.build(Random(1))
    assert topology == complete_tree(3, levels=5)
    actions = list(scenario.clients(topology).actions(Random(1), 600.0))
    assert {action.broker for action in actions} == set(topology.leaves("B1"))


def test_links_are_a_tree() -> None:
    topology = parse(CHAIN + WORKLOAD).topology.build(Random(1))
    assert topology.links == (("A", "B"), ("B", "C"))


def test_the_cheapest_tree_is_chosen_from_candidates() -> None:
    candidates = '[topology]\ncandidates = [["A","B",1.0], ["B","C",2.0], ["A","C",3.0]]\n'
    topology = parse(candidates + WORKLOAD).topology.build(Random(1))
    assert topology.links == (("A", "B"), ("B", "C"))


def test_edges_may_differ() -> None:
    text = f'{CHAIN}[routing]\nalgorithm = "simple"\nedges = {{"A -> B" = "flooding"}}\n{WORKLOAD}'
    scenario = parse(text)
    assert scenario.routing.build(scenario.topology.build(Random(1))) == {
        ("A", "B"): "flooding",
        ("B", "A"): "simple",
        ("B", "C"): "simple",
        ("C", "B"): "simple",
    }


def test_a_hierarchy_has_a_root() -> None:
    text = f'{CHAIN}[routing]\nvariant = "hierarchical"\nroot = "B"\n{WORKLOAD}'
    scenario = parse(text)
    assert scenario.routing.build(scenario.topology.build(Random(1))) == {
        ("B", "A"): "covering",
        ("A", "B"): "flooding",
        ("B", "C"): "covering",
        ("C", "B"): "flooding",
    }


def test_delays_may_be_uniform() -> None:
    text = f'{TREE}[delay]\ntype = "uniform"\ndelay_min = 0.01\ndelay_max = 0.02\n{WORKLOAD}'
    scenario = parse(text)
    delays = scenario.delays(scenario.topology.build(Random(1)), Random(1))
    assert delays == UniformDelay(0.01, 0.02)


def test_delays_may_be_those_of_a_physical_network() -> None:
    underlay = 'type = "underlay"\ndomains = 6\nnodes_per_domain = 8\njitter = 0.5\n'
    scenario = parse(f"settle = 20.0\n{TREE}[delay]\n{underlay}{WORKLOAD}")
    topology = scenario.topology.build(Random(1))
    drawn = [scenario.delays(topology, Random(seed)).link("B1", "B2") for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert 0 < drawn[0].delay_min < 0.1 < drawn[0].delay_max < 0.6
    assert Simulation(scenario).run().violations == 0
    short = msgspec.structs.replace(scenario, settle=1.0)
    with pytest.raises(ScenarioError, match=r"^settle is 1\.0; on this tree a change may take"):
        Simulation(short)


@pytest.mark.parametrize(
    ("workload", "kind"),
    [
        (f'type = "classes"\n{RATES}', ClassWorkload),
        ('type = "narrowing"', NarrowingWorkload),
        ('type = "jobs"\nsubscribers = 3', JobWorkload),
        (f'type = "content"\nfilters = 20\nevents = 20\n{RATES}', ContentWorkload),
    ],
)
def test_workloads_are_told_by_their_type(workload: str, kind: type) -> None:
    scenario = parse(f"{TREE}[workload]\n{workload}")
    assert isinstance(scenario.clients(scenario.topology.build(Random(1))), kind)


# --- what is wrong --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = ", "f.toml is not TOML: Invalid value (at end of document)"),
        (f"durations = 3\n{TREE}{WORKLOAD}",
         "f.toml: durations is no key here; did you mean 'duration'? "
         "Allowed are name, seed, duration, settle, drivers, links, topology, routing, delay, "
         "workload, clients_at, settle_requests, stabilization, faults"),
        (f"{TREE}shapes = 1\n{WORKLOAD}",
         "f.toml: topology.shapes is no key here; did you mean "
         "'shape'? Allowed are shape, brokers, arity, links, candidates"),
        (f'{TREE}[delay]\ntype = "constant"\ndelay_min = 1\n{WORKLOAD}',
         "f.toml: delay.delay_min is "
         "no key here; did you mean 'delay'? Allowed are type, delay"),
        (f"{TREE}{WORKLOAD}clases = 1\n",
         "f.toml: workload.clases is no key here; did you mean "
         "'classes'? Allowed are type, arrival_rate, departure_rate, publication_rate, "
         "initial_subscriptions, publications_from, publishers, publisher_lifetime, advertise, "
         "classes, overlap, classes_per_publisher"),
        (WORKLOAD, "f.toml: topology is missing"),
        (f"{TREE}[workload]\nclasses = 1",
         "f.toml: workload.type is missing; allowed are classes, "
         "narrowing, jobs, content"),
        (f'{TREE}[workload]\ntype = "class"',
         "f.toml: workload.type is 'class'; did you mean "
         "'classes'? Allowed are classes, narrowing, jobs, content"),
        (f'{TREE}[workload]\ntype = "classes"',
         "f.toml: workload.arrival_rate is missing"),
        (f'{TREE}[delay]\ntype = "poisson"\n{WORKLOAD}',
         "f.toml: delay.type is 'poisson'; allowed "
         "are constant, uniform, underlay"),
        (f'{TREE}[routing]\nvariant = "peer-2-peer"\n{WORKLOAD}',
         "f.toml: routing.variant is 'peer-2-peer'; did "
         "you mean 'peer-to-peer'? Allowed are hierarchical, peer-to-peer"),
        (f'drivers = ["sims"]\n{TREE}{WORKLOAD}',
         "f.toml: drivers[0] is 'sims'; did you mean 'sim'? "
         "Allowed are live, sim"),
        (f'seed = "one"\n{TREE}{WORKLOAD}',
         "f.toml: seed is text; wanted a whole number"),
        (f"duration = 2026-01-01\n{TREE}{WORKLOAD}",
         "f.toml: duration is a date; wanted a number"),
        (f"topology = 3\n{WORKLOAD}",
         "f.toml: topology is a whole number; wanted a table"),
        (f'[topology]\nlinks = [["A", "B"], ["B", 3]]\n{WORKLOAD}',
         "f.toml: topology.links[1][1] is "
         "a whole number; wanted text"),
        (f'{TREE}[routing]\nedges = {{"A" = 3}}\n{WORKLOAD}',
         "f.toml: routing.edges[...] is a whole "
         "number; wanted text"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_types(text: str, expected: str) -> None:
    assert problem(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"duration = 0\n{TREE}{WORKLOAD}",
         "duration is 0.0; wanted a finite number above 0"),
        (f"duration = inf\n{TREE}{WORKLOAD}",
         "duration is inf; wanted a finite number above 0"),
        (f"settle = -1\n{TREE}{WORKLOAD}",
         "settle is -1.0; wanted a finite number above 0"),
        (f"settle = 0.1\n{TREE}{WORKLOAD}",
         "settle is 0.1; on this tree a change may take 0.2 seconds to be in effect everywhere, so "
         "it must be that at least"),
        (f'name = ""\n{TREE}{WORKLOAD}', "name is empty; traces are kept under it"),
        (f'{TREE}[delay]\ntype = "constant"\ndelay = -1\n{WORKLOAD}',
         "delay.delay is -1.0; wanted a finite number, 0 or more"),
        (f'{TREE}[delay]\ntype = "underlay"\njitter = -1\n{WORKLOAD}',
         "delay.jitter is -1.0; wanted a finite number, 0 or more"),
        (f'{TREE}[delay]\ntype = "underlay"\ndomains = 0\n{WORKLOAD}',
         "delay.domains is 0; wanted a finite number, 1 or more"),
        (f"{TREE}{WORKLOAD}overlap = 5\n",
         "workload.overlap is 5; wanted a number from 0 to 4"),
        (f'{TREE}[workload]\ntype = "jobs"\nsubscribers = 7',
         "workload.brokers has 7 brokers; at least 8 wanted"),
        (f'{TREE}[workload]\ntype = "jobs"\nsubscribers = 3\nlocality = 0.5',
         "workload.locality is 0.5, but there are no costs of links to tell what is close"),
        (f'{TREE}[routing]\nadvertisements = "required"\n{WORKLOAD}',
         "routing.advertisements is 'required', but the workload does not advertise, so all it "
         "publishes would be refused: set workload.advertise = true (classes, jobs, content), or "
         "'off' here"),
    ],
)  # fmt: skip
def test_impossible_values(text: str, expected: str) -> None:
    assert problem(text) == f"f.toml: {expected}"


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        ("", " needs one of shape, links, candidates; it has none of them"),
        ('shape = "tree"\nlinks = [["A", "B"]]',
         " needs one of shape, links, candidates; it has shape and links"),
        ('shape = "tree"', ".brokers is missing: how many brokers the shape has"),
        ('links = [["A", "B"]]\nbrokers = 2', ".brokers goes with shape; here the links say it"),
        ('shape = "chains"\nbrokers = 3',
         ".shape is 'chains'; did you mean 'chain'? Allowed are tree, chain, star, random"),
        ('shape = "tree"\nbrokers = 0', ".brokers is 0; wanted a finite number, 1 or more"),
        ('links = [["A", "B"], ["B", "C"], ["C", "A"]]',
         ".links form no tree: the link B-C closes a cycle: B and C are joined already"),
        ('links = [["A", "B"], ["C", "D"]]',
         ".links form no tree: not connected: no path from A to C, D (2 of 4 brokers)"),
        ('links = [["A", "A"]]',
         ".links form no tree: the link A-A is a self-loop: it joins A to itself"),
        ('candidates = [["A", "B", 1.0], ["C", "D", 1.0]]',
         ".candidates form no tree: not connected: no path from A to C, D (2 of 4 brokers)"),
    ],
)  # fmt: skip
def test_a_tree_that_is_none(topology: str, expected: str) -> None:
    assert problem(f"[topology]\n{topology}\n{WORKLOAD}") == f"f.toml: topology{expected}"


@pytest.mark.parametrize(
    ("routing", "expected"),
    [
        ('algorithm = "cover"',
         ".algorithm is 'cover'; did you mean 'covering'? Allowed are flooding, simple, identity, "
         "covering, merging"),
        ('advertisement_algorithm = "flood"',
         ".advertisement_algorithm is 'flood'; did you mean 'flooding'? Allowed are flooding, "
         "simple, identity, covering, merging"),
        ('edges = {"A -> B" = "covered"}',
         ".edges.'A -> B' is 'covered'; did you mean 'covering'? Allowed are flooding, simple, "
         "identity, covering, merging"),
        ('edges = {"A -> C" = "simple"}',
         ".edges.'A -> C' names no edge of the tree; did you mean 'B -> C'? Allowed are A -> B, "
         "B -> A, B -> C, C -> B"),
        ('root = "A"', ".root goes with variant = 'hierarchical' only"),
        ('variant = "hierarchical"\nroot = "D"',
         ".root is 'D', which is no broker; allowed are A, B, C"),
    ],
)  # fmt: skip
def test_routing_that_is_impossible(routing: str, expected: str) -> None:
    assert problem(f"{CHAIN}[routing]\n{routing}\n{WORKLOAD}") == f"f.toml: routing{expected}"


def test_arity_goes_with_trees() -> None:
    text = '[topology]\nshape = "chain"\nbrokers = 3\narity = 3\n' + WORKLOAD
    assert problem(text) == "f.toml: topology.arity goes with shape = 'tree' only"


def test_a_mix_that_would_lose_notifications() -> None:
    text = f'{CHAIN}[routing]\nedges = {{"B -> C" = "flooding"}}\n{WORKLOAD}'
    said = problem(text)
    assert said.startswith("f.toml: routing.edges would lose notifications: ")
    assert "A -> B" in said
    assert "B -> C" in said


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    missing, directory, binary = tmp_path / "none.toml", tmp_path, tmp_path / "b.toml"
    binary.write_bytes(b"\xff\xfe")
    for path, why in (
        (missing, "cannot be read: No such file or directory"),
        (directory, "cannot be read: Is a directory"),
        (binary, "is not UTF-8 text"),
    ):
        with pytest.raises(ScenarioError) as found:
            load(path)
        assert str(found.value) == f"{path} {why}"


def test_a_mapping_is_as_good_as_a_file() -> None:
    values = {
        "topology": {"shape": "star", "brokers": 4},
        "workload": {"type": "narrowing", "subscriptions": 3},
    }
    assert isinstance(from_mapping(values), Scenario)


# --- the reference --------------------------------------------------------------------------


def test_the_reference_names_every_key() -> None:
    reference = Path(__file__).parents[3] / "docs" / "reference" / "scenarios.md"
    text = reference.read_text(encoding="utf-8")
    structs: list[type] = [Scenario]
    for struct in structs:
        for field in msgspec.structs.fields(struct):
            assert f"`{field.encode_name}`" in text, f"{struct.__name__}.{field.name}"
            parts = getattr(field.type, "__args__", (field.type,))
            structs += [part for part in parts if hasattr(part, "__struct_fields__")]


def test_the_example_of_the_reference_is_right() -> None:
    reference = Path(__file__).parents[3] / "docs" / "reference" / "scenarios.md"
    example = reference.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    assert parse(example).name == "quotes"
