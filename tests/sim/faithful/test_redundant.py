"""Networks with more links than a tree: no circle ever carries, and one tree is left in the end."""

from __future__ import annotations

from random import Random

import pytest

from marking import few, many
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.faithful.redundant import (
    FAMILIES,
    PlanRun,
    command,
    draw_hubs,
    draw_plan,
    draw_ring,
    main,
    problems_of,
)
from sim.faithful.loading import Publisher, client, sequences

FAMILY_STEP = 20
LONG_STEP = 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(range(5)))
def test_a_few_networks(seed: int) -> None:
    assert problems_of(seed) == [], command(seed)


REGRESSIONS = {
    158: "brokers that find each other by hearsay were not waited for",
    229: "a link that the child had not taken up was taken for a way, and closed a circle",
}
"""Seeds that ever failed, and what was wrong."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", REGRESSIONS)
def test_what_once_was_wrong(seed: int) -> None:
    assert problems_of(seed) == [], command(seed)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["rings", "hubs"])
def test_a_ring_and_two_hubs(family: str) -> None:
    assert problems_of(0, family) == [], command(0, family)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["rings", "hubs"])
@pytest.mark.parametrize("first", many(range(0, 200, FAMILY_STEP), slow=3))
def test_rings_and_hubs(family: str, first: int) -> None:
    for seed in range(first, first + FAMILY_STEP):
        assert problems_of(seed, family) == [], command(seed, family)


@pytest.mark.slow
@pytest.mark.parametrize("seed", many(range(100, 250), slow=30))
def test_many_networks(seed: int) -> None:
    assert problems_of(seed) == [], command(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(10_000, 20_000, LONG_STEP))
def test_very_many_networks(first: int) -> None:
    for seed in range(first, first + LONG_STEP):
        assert problems_of(seed) == [], command(seed)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [(0.0, 0.0), (0.0, 0.1)])
def test_a_better_root_that_joins_by_two_links_takes_nothing_out(
    delay: tuple[float, float],
) -> None:
    """Its news come by two ways; the tree turns round, and nothing is lost or told to be."""
    network = FaithfulNetwork(Random(1), delay=delay)
    joins = {"B2": (), "B3": ("B2",), "B4": ("B3",), "B5": ("B4",)}
    links = [(name, other) for name, others in joins.items() for other in others]
    for name, others in joins.items():
        network.add_broker(name, others)
    assert network.driver.run_until(lambda: all(network.is_joined(*one) for one in links), 30)
    readers = [client(network, f"C{name}.1", name, "n >= 0") for name in ("B2", "B5")]
    loads = [Publisher(network, f"C{name}.1", rate=20, count=200) for name in ("B2", "B5")]
    network.driver.run(1.0)
    network.add_broker("B1", ("B3", "B5"))
    network.driver.run(14.0)
    assert {node.broker.tree.root for node in network.nodes.values()} == {"B1"}
    assert all(network.is_joined(*one) for one in links)
    assert [one.is_done for one in loads] == [True, True]
    assert [sequences(reader, "CB2.1") for reader in readers] == [[*range(1, 201)]] * 2
    assert [sequences(reader, "CB5.1") for reader in readers] == [[*range(1, 201)]] * 2
    assert [reader.reports for reader in readers] == [[], []]


def test_a_seed_is_one_plan() -> None:
    assert draw_plan(3) == draw_plan(3)
    assert draw_plan(3) != draw_plan(4)


def test_networks_have_more_links_than_a_tree_and_all_kinds_of_faults() -> None:
    plans = [draw_plan(seed) for seed in range(200)]
    assert sum(len(plan.links) >= len(plan.joins) for plan in plans) > 100
    kinds = {fault.kind for plan in plans for fault in plan.faults}
    assert kinds == {"cut", "part", "freeze", "hang", "crash", "stop", "kill"}
    assert any(plan.hidden for plan in plans)


def test_families_are_what_they_are_called() -> None:
    for seed in range(100):
        ring = draw_ring(seed)
        assert len(ring.links) == len(ring.joins) >= 3
        assert {other for _, other in ring.links} == ring.joins.keys()
        hubs = draw_hubs(seed)
        assert hubs.faults
        assert {len(hubs.joins[name]) for name in hubs.hidden} == {2}
    assert {len(draw_ring(seed).joins) for seed in range(100)} == set(range(3, 9))
    assert FAMILIES["any"] is draw_plan


@pytest.mark.slow
def test_the_command_names_the_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "1", "--family", "rings"]) == 0
    assert capsys.readouterr() == ("", "1 seeds, 0 with problems\n")
    assert command(1, "rings").endswith("--family rings --seed 1")


def test_what_is_wrong_is_said_with_how_to_see_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(PlanRun, "run", lambda self: ["it is wrong"])
    assert main(["--seed", "3", "--count", "2"]) == 1
    out, err = capsys.readouterr()
    assert "  it is wrong\n  again: python -m sapwood.sim.faithful.redundant --seed 4\n" in out
    assert err == "2 seeds, 2 with problems\n"
