"""The tree of brokers: what is refused, and what follows from the links."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import TopologyError
from sapwood.protocol.tree import Link, Topology
from sapwood.sim.topology import random_tree

FIVE = Topology(
    ("B1", "B2", "B3", "B4", "B5"), (("B1", "B2"), ("B1", "B3"), ("B3", "B4"), ("B3", "B5"))
)


def trees() -> st.SearchStrategy[Topology]:
    return st.builds(
        lambda count, seed: random_tree(count, Random(seed)),
        st.integers(1, 12),
        st.integers(0, 10**6),
    )


@pytest.mark.parametrize(
    ("brokers", "links", "problem"),
    [
        ((), (), "a topology needs at least one broker"),
        (("A", "B", "A"), (), "two brokers are named 'A'"),
        (("A", "B"), (("A", "C"),), "the link A-C names an unknown broker 'C'"),
        (("A", "B"), (("B", "B"),), "the link B-B is a self-loop: it joins B to itself"),
        (("A", "B"), (("A", "B"), ("B", "A")), "the link B-A is given twice"),
        (
            ("A", "B", "C"),
            (("A", "B"), ("B", "C"), ("C", "A")),
            "the link B-C closes a cycle: B and C are joined already",
        ),
        (("A", "B", "C"), (("C", "B"),), "not connected: no path from A to B, C (2 of 3 brokers)"),
        (
            tuple("ABCDEFGH"),
            (),
            "not connected: no path from A to B, C, D, E, F, … (7 of 8 brokers)",
        ),
    ],
    ids=["empty", "twice", "unknown", "loop", "duplicate", "cycle", "apart", "far apart"],
)
def test_what_is_no_tree_is_refused(
    brokers: tuple[str, ...], links: tuple[Link, ...], problem: str
) -> None:
    with pytest.raises(TopologyError) as caught:
        Topology(brokers, links)
    assert str(caught.value) == problem


def test_what_follows_from_the_links() -> None:
    assert FIVE.neighbours("B3") == ("B1", "B4", "B5")
    assert (FIVE.degree("B3"), FIVE.degree_max) == (3, 3)
    assert FIVE.parents("B1") == {"B2": "B1", "B3": "B1", "B4": "B3", "B5": "B3"}
    assert FIVE.depths("B4") == {"B4": 0, "B3": 1, "B1": 2, "B5": 2, "B2": 3}
    assert (FIVE.height("B1"), FIVE.height("B4"), FIVE.diameter) == (2, 3, 3)
    assert FIVE.leaves() == ("B2", "B4", "B5")
    assert FIVE.leaves("B2") == ("B4", "B5")
    assert FIVE.path("B2", "B5") == ("B2", "B1", "B3", "B5")
    assert FIVE.path("B2", "B2") == ("B2",)


def test_a_single_broker_is_a_tree() -> None:
    alone = Topology(("B1",), ())
    assert (alone.diameter, alone.height("B1"), alone.leaves(), alone.leaves("B1")) == (
        0,
        0,
        ("B1",),
        ("B1",),
    )


@pytest.mark.parametrize(
    "ask",
    [
        lambda: FIVE.neighbours("B9"),
        lambda: FIVE.parents("B9"),
        lambda: FIVE.path("B9", "B1"),
        lambda: FIVE.path("B1", "B9"),
    ],
)
def test_a_stranger_is_refused(ask: Callable[[], object]) -> None:
    with pytest.raises(TopologyError, match="no broker 'B9' in this topology; its 5 brokers are"):
        ask()


def test_how_links_are_written_makes_no_difference() -> None:
    turned = tuple((right, left) for left, right in reversed(FIVE.links))
    assert Topology(FIVE.brokers, turned) == FIVE
    assert hash(Topology(FIVE.brokers, turned)) == hash(FIVE)


@given(trees())
def test_a_topology_survives_pickling(tree: Topology) -> None:
    tree.neighbours("B1")
    assert pickle.loads(pickle.dumps(tree)) == tree


def distances(tree: Topology) -> dict[Link, int]:
    """Floyd and Warshall, as an oracle."""
    brokers = tree.brokers
    far = len(brokers)
    away = {(a, b): 0 if a == b else far for a in brokers for b in brokers}
    for left, right in tree.links:
        away[left, right] = away[right, left] = 1
    for via in brokers:
        for a in brokers:
            for b in brokers:
                away[a, b] = min(away[a, b], away[a, via] + away[via, b])
    return away


@given(trees())
def test_paths_heights_and_diameter_agree_with_all_distances(tree: Topology) -> None:
    away = distances(tree)
    assert tree.diameter == max(away.values())
    for source in tree.brokers:
        assert tree.height(source) == max(away[source, target] for target in tree.brokers)
        assert tree.depths(source) == {target: away[source, target] for target in tree.brokers}
        for target in tree.brokers:
            path = tree.path(source, target)
            assert (path[0], path[-1], len(path) - 1) == (source, target, away[source, target])
            assert all(b in tree.neighbours(a) for a, b in pairwise(path))


@given(trees(), st.data())
def test_a_link_less_or_one_more_is_refused(tree: Topology, data: st.DataObject) -> None:
    if len(tree.brokers) < 3:
        return
    less = data.draw(st.sampled_from(tree.links))
    with pytest.raises(TopologyError, match="not connected"):
        Topology(tree.brokers, tuple(link for link in tree.links if link != less))
    apart = [pair for pair, away in distances(tree).items() if away > 1]
    more = data.draw(st.sampled_from(apart))
    with pytest.raises(TopologyError, match="closes a cycle"):
        Topology(tree.brokers, (*tree.links, more))
