"""The cheapest tree of a network with cycles, against all trees there are."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import TopologyError
from sapwood.protocol.spanning import Candidate, spanning_tree
from sapwood.protocol.tree import Topology

BROKERS = ("B1", "B2", "B3", "B4", "B5")
PAIRS = tuple(combinations(BROKERS, 2))


def networks() -> st.SearchStrategy[list[Candidate]]:
    """Some of the possible links, with few different costs so that there are ties."""
    link = st.builds(
        lambda pair, cost: Candidate(pair[0], pair[1], cost), st.sampled_from(PAIRS), COSTS
    )
    return st.lists(link, max_size=10, unique_by=lambda candidate: candidate[:2])


COSTS = st.sampled_from([0.0, 1.0, 2.0, 2.5])


def all_trees(candidates: list[Candidate]) -> list[tuple[float, Topology]]:
    found = []
    for chosen in combinations(candidates, len(BROKERS) - 1):
        try:
            tree = Topology(BROKERS, tuple((left, right) for left, right, _ in chosen))
        except TopologyError:
            continue
        found.append((sum(cost for _, _, cost in chosen), tree))
    return found


@given(networks(), st.integers(0, 1000))
def test_no_tree_is_cheaper_and_the_order_does_not_matter(
    candidates: list[Candidate], seed: int
) -> None:
    trees = all_trees(candidates)
    if not trees:
        with pytest.raises(TopologyError, match="not connected: no path from B1 to"):
            spanning_tree(BROKERS, candidates)
        return
    chosen = spanning_tree(BROKERS, candidates)
    cost = {frozenset(candidate[:2]): candidate.cost for candidate in candidates}
    assert sum(cost[frozenset(link)] for link in chosen.links) == min(trees, key=lambda t: t[0])[0]
    turned = [Candidate(right, left, cost) for left, right, cost in candidates]
    Random(seed).shuffle(turned)
    shuffled = tuple(reversed(BROKERS))
    again = spanning_tree(shuffled, turned)
    assert {frozenset(link) for link in again.links} == {frozenset(link) for link in chosen.links}


def test_ties_go_to_the_smaller_ids() -> None:
    everything = [(left, right, 3.0) for left, right in reversed(PAIRS)]
    assert spanning_tree(BROKERS, everything).links == tuple(("B1", b) for b in BROKERS[1:])


def test_of_parallel_links_the_cheapest_counts() -> None:
    tree = spanning_tree(
        ("A", "B", "C"), [("A", "B", 9), ("B", "A", 1), ("A", "C", 2), ("B", "C", 3)]
    )
    assert tree == Topology(("A", "B", "C"), (("A", "B"), ("A", "C")))


@pytest.mark.parametrize(
    ("candidates", "problem"),
    [
        ([("A", "Z", 1.0)], "the link A-Z names an unknown broker 'Z'"),
        ([("A", "A", 1.0)], "the link A-A is a self-loop: it joins A to itself"),
        ([("A", "B", -1.0)], "the link A-B costs -1.0; a cost is a finite number, 0 or more"),
        (
            [("A", "B", float("nan"))],
            "the link A-B costs nan; a cost is a finite number, 0 or more",
        ),
        ([], "not connected: no path from A to B (1 of 2 brokers)"),
    ],
)
def test_what_is_wrong_is_named(candidates: list[tuple[str, str, float]], problem: str) -> None:
    with pytest.raises(TopologyError) as caught:
        spanning_tree(("A", "B"), candidates)
    assert str(caught.value) == problem


def test_a_single_broker_needs_no_links_and_no_broker_is_an_error() -> None:
    assert spanning_tree(["A"], []) == Topology(("A",), ())
    with pytest.raises(TopologyError, match="at least one broker"):
        spanning_tree([], [])
