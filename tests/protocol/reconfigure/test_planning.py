"""Plans: fewest steps, a tree after each, rounds that do not meet, and what is refused."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import PlanError
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.planning import moving_out, plan, target_of
from sapwood.protocol.tree import Link, Topology
from sapwood.sim.topology import chain, random_tree, star

SEEDS = st.integers(0, 10**6)


def links(tree: Topology) -> set[frozenset[str]]:
    return set(map(frozenset, tree.links))


@given(st.integers(2, 14), SEEDS, SEEDS)
def test_every_tree_becomes_every_other_in_the_fewest_steps(
    count: int, seed: int, other: int
) -> None:
    current, target = random_tree(count, Random(seed)), random_tree(count, Random(other))
    distance = len(links(current) - links(target))
    if not distance:
        with pytest.raises(PlanError, match="nothing to do"):
            plan(current, target)
        return
    found = plan(current, target)
    assert len(found.steps) == distance
    tree = current
    for step in found.steps:
        assert tree.path(step.ring[0], step.ring[-1]) == step.ring
        tree = step.applied(tree)  # refuses what is no tree
    assert links(tree) == links(target)


@given(st.integers(2, 14), SEEDS, SEEDS, st.randoms(use_true_random=False))
def test_those_of_a_round_share_no_broker_and_end_in_any_order(
    count: int, seed: int, other: int, random: Random
) -> None:
    current, target = random_tree(count, Random(seed)), random_tree(count, Random(other))
    if links(current) == links(target):
        return
    tree = current
    for one in plan(current, target).rounds:
        assert one
        for left, right in combinations(one, 2):
            assert not set(left.ring) & set(right.ring)
        for step in random.sample(one, len(one)):
            assert tree.path(step.ring[0], step.ring[-1]) == step.ring
            tree = step.applied(tree)
    assert links(tree) == links(target)


@given(st.integers(3, 14), SEEDS, SEEDS)
def test_nothing_could_run_earlier_than_its_round(count: int, seed: int, other: int) -> None:
    current, target = random_tree(count, Random(seed)), random_tree(count, Random(other))
    if links(current) == links(target):
        return
    rounds = plan(current, target).rounds
    for before, after in pairwise(rounds):
        busy = {broker for step in before for broker in step.ring}
        assert all(busy & set(step.ring) for step in after)


@given(st.integers(3, 14), SEEDS, SEEDS)
def test_a_region_of_the_strict_cut_is_a_tree_before_and_after(
    count: int, seed: int, other: int
) -> None:
    current, target = random_tree(count, Random(seed)), random_tree(count, Random(other))
    if links(current) == links(target):
        return
    cut = plan(current, target).cut
    assert sum(map(len, cut.regions)) == len(set().union(*cut.regions))
    moved = (links(current) ^ links(target)).copy()
    for region in cut.regions:
        for tree in (current, target):
            inside = tuple(link for link in tree.links if set(link) <= set(region))
            assert Topology(region, inside).diameter <= cut.hold_hops
        moved = {link for link in moved if not link <= set(region)}
    assert not moved
    assert cut.messages == sum(7 * (len(region) - 1) for region in cut.regions)


def test_far_apart_changes_run_at_the_same_time() -> None:
    current = chain(8)
    target = target_of(
        current.brokers,
        [link for link in current.links if link not in {("B2", "B3"), ("B6", "B7")}]
        + [("B1", "B3"), ("B6", "B8")],
    )
    found = plan(current, target)
    assert found.rounds == ((Exchange(("B1", "B2", "B3"), 2), Exchange(("B8", "B7", "B6"), 2)),)
    assert found.messages == 18
    assert found.hold_hops == 2
    assert found.cut.regions == (("B1", "B2", "B3"), ("B6", "B7", "B8"))
    assert found.cut.messages == 28
    assert not found.is_cut_cheaper


def test_many_links_are_cheaper_in_one_cut_that_pauses_everybody() -> None:
    found = plan(chain(12), star(12))
    assert len(found.steps) == 10
    assert found.cut.messages == 77
    assert found.is_cut_cheaper
    assert found.cut.hold_hops == 11


def test_the_shortest_ring_goes_first() -> None:
    """B1-B5 closes a ring of five at once, but one of four when B1-B3 has come."""
    current = chain(5)
    target = Topology(current.brokers, (("B1", "B3"), ("B1", "B5"), ("B2", "B3"), ("B3", "B4")))
    assert [(str(step), step.n) for step in plan(current, target).steps] == [
        ("B2-B1 → B1-B3", 3),
        ("B4-B5 → B5-B1", 4),
    ]


@pytest.mark.parametrize(
    ("brokers", "wanted", "problem"),
    [
        (
            ("B1", "B2", "B3", "B9"),
            (("B1", "B2"), ("B2", "B3"), ("B3", "B9")),
            "the target has brokers that do not exist: B9; let them join first, then plan",
        ),
        (
            ("B1", "B2"),
            (("B1", "B2"),),
            "the target lacks B3; a plan keeps all brokers: take one out by removing it, before "
            "or after",
        ),
        (
            ("B1", "B2", "B3"),
            (("B1", "B2"), ("B2", "B3")),
            "there is nothing to do: the target is the tree as it is",
        ),
    ],
)
def test_a_target_that_cannot_be_is_refused(
    brokers: tuple[str, ...], wanted: tuple[Link, ...], problem: str
) -> None:
    with pytest.raises(PlanError) as caught:
        plan(chain(3), Topology(brokers, wanted))
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ([("B1", "B2")], "not connected: no path from B1 to B3 (1 of 3 brokers)"),
        ([("B1", "B2"), ("B2", "B1")], "the link B2-B1 is given twice"),
        ([("B1", "B1"), ("B2", "B1")], "the link B1-B1 is a self-loop: it joins B1 to itself"),
    ],
)
def test_links_that_are_no_tree_are_refused(wanted: list[Link], problem: str) -> None:
    with pytest.raises(PlanError) as caught:
        target_of(("B1", "B2", "B3"), wanted)
    assert str(caught.value) == f"the target is no tree: {problem}"


def test_all_links_that_nobody_can_open_are_named() -> None:
    with pytest.raises(PlanError) as caught:
        plan(chain(4), star(4), lambda caller, called: "B4" not in (caller, called))
    assert str(caught.value) == (
        "no end of B1-B4 can open a connection to the other; let one of them listen where the "
        "other can reach it, or choose another link"
    )


def test_who_can_only_be_dialled_is_asked() -> None:
    steps = plan(chain(3), star(3), lambda caller, called: caller == "B3").steps
    assert steps == (Exchange(("B1", "B2", "B3"), 2, is_prepared=True),)


def test_a_ring_that_is_too_long_is_refused() -> None:
    current = chain(6)
    target = target_of(current.brokers, [*current.links[1:], ("B1", "B6")])
    assert plan(current, target, ring_max=6).steps[0].n == 6
    with pytest.raises(PlanError) as caught:
        plan(current, target, ring_max=5)
    assert str(caught.value) == (
        "B2-B1 → B1-B6 would lock a ring of 6 brokers, and 5 are the most; go there by way of a "
        "tree in between, with shorter rings"
    )


# Moving a broker out


@given(st.integers(2, 12), SEEDS, st.data())
def test_a_broker_is_a_leaf_after_as_many_swaps_as_it_has_further_neighbours(
    count: int, seed: int, data: st.DataObject
) -> None:
    tree = random_tree(count, Random(seed))
    broker = data.draw(st.sampled_from(tree.brokers))
    heir = data.draw(st.sampled_from(tree.neighbours(broker)))
    steps = moving_out(tree, broker, heir)
    assert len(steps) == tree.degree(broker) - 1
    for step in steps:
        assert step.n == 3
        assert tree.path(step.ring[0], step.ring[-1]) == step.ring
        tree = step.applied(tree)
    assert tree.neighbours(broker) == (heir,)


def test_without_a_word_the_neighbour_with_the_fewest_links_takes_over() -> None:
    tree = Topology(tuple("ABCDE"), (("A", "B"), ("A", "C"), ("A", "D"), ("B", "E")))
    assert [str(step) for step in moving_out(tree, "A")] == ["A-D → D-C", "A-B → B-C"]


def test_neighbours_that_cannot_reach_the_heir_join_each_other() -> None:
    """B can only be dialled by C: it is linked to C first, while C is a neighbour still."""
    tree = star(5)
    reach = {("B3", "B2"), ("B3", "B4"), ("B5", "B4")}
    steps = moving_out(tree, "B1", "B2", lambda caller, called: (caller, called) in reach)
    assert [str(step) for step in steps] == ["B1-B5 → B5-B4", "B1-B4 → B4-B3", "B1-B3 → B3-B2"]
    for step in steps:
        assert tree.path(step.ring[0], step.ring[-1]) == step.ring
        tree = step.applied(tree)
    assert tree.neighbours("B1") == ("B2",)


@pytest.mark.parametrize(
    ("tree", "broker", "heir", "problem"),
    [
        (chain(3), "B7", "", "there is no broker 'B7'; there are B1, B2, B3"),
        (chain(1), "B1", "", "B1 is the only broker: there is nobody to hand over to"),
        (
            chain(3),
            "B1",
            "B3",
            "B3 is no neighbour of B1, so it cannot take over; neighbours are B2",
        ),
    ],
)
def test_who_cannot_be_moved_out_is_refused(
    tree: Topology, broker: str, heir: str, problem: str
) -> None:
    with pytest.raises(PlanError) as caught:
        moving_out(tree, broker, heir)
    assert str(caught.value) == problem


def test_neighbours_with_no_other_way_to_each_other_are_named() -> None:
    with pytest.raises(PlanError) as caught:
        moving_out(star(4), "B1", "B2", lambda caller, called: {caller, called} == {"B2", "B3"})
    assert str(caught.value) == (
        "B1 cannot be moved out: no connection can be opened between B4 and B2, B3, whose only "
        "way to each other it is"
    )


def test_small_trees_are_planned_for_every_pair_of_trees() -> None:
    """All 16 trees of four brokers into all others."""
    names = ("B1", "B2", "B3", "B4")
    pairs = list(combinations(names, 2))
    trees = []
    for chosen in combinations(pairs, 3):
        try:
            trees.append(target_of(names, chosen))
        except PlanError:
            continue
    assert len(trees) == 16
    for current, target in permutations(trees, 2):
        assert len(plan(current, target).steps) == len(links(current) - links(target))
