"""Trees with a root, and sums over both sides of their links."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.traffic.strategies import SEVEN, trees
from sapwood.analysis.traffic.tree import RootedTree, complete_tree, rooted_tree
from sapwood.errors import ParameterError, TopologyError


def below(tree: RootedTree, broker: int) -> set[int]:
    """The brokers of a subtree, by the definition."""
    inside = {broker}
    for kid in tree.children[broker]:
        inside |= below(tree, kid)
    return inside


@given(trees(), st.integers(0, 2**32))
def test_sums_are_those_of_the_definition(tree: RootedTree, seed: int) -> None:
    own = np.random.default_rng(seed).random((len(tree.brokers), 2))
    sums = tree.below(own)
    others = tree.outside(own, sums)
    for broker in range(len(tree.brokers)):
        inside = sorted(below(tree, broker))
        outside = sorted(set(range(len(tree.brokers))) - set(inside))
        assert sums[broker] == pytest.approx(own[inside].sum(axis=0))
        assert others[broker] == pytest.approx(own[outside].sum(axis=0))


@given(trees())
def test_the_order_is_level_by_level(tree: RootedTree) -> None:
    assert list(tree.depths) == sorted(tree.depths)
    assert tree.parents[0] == -1
    for broker, kids in enumerate(tree.children):
        assert all(tree.parents[kid] == broker for kid in kids)
        assert tree.is_leaf[broker] == (not kids)
    assert sum(map(len, tree.children)) == tree.links


def test_next_to_nothing_beside_nearly_everything_is_not_lost() -> None:
    """Total minus subtree would be 0 here."""
    tree = rooted_tree([("A", "B"), ("A", "C")])
    own = np.array([[1e-30], [1e30], [1e-30]])
    assert tree.outside(own, tree.below(own))[1, 0] == pytest.approx(2e-30)


@pytest.mark.slow
def test_a_tree_may_be_long_or_wide() -> None:
    names = [f"B{number}" for number in range(20_000)]
    for links in (pairwise(names), ((names[0], name) for name in names[1:])):
        tree = rooted_tree(links)
        ones = np.ones((len(names), 1))
        sums = tree.below(ones)
        assert sums[0, 0] == len(names)
        assert (sums + tree.outside(ones, sums) == len(names)).all()


def test_complete_trees() -> None:
    tree = complete_tree(2, 3)
    assert tree.parents == (-1, 0, 0, 1, 1, 2, 2)
    assert tree.brokers[-1] == "B7"
    assert complete_tree(1, 4).parents == (-1, 0, 1, 2)
    assert complete_tree(5, 1).is_leaf == (True,)


def test_edges_have_names() -> None:
    assert SEVEN.name_edge(False, SEVEN.position["B5"]) == "B3 -> B5"
    assert SEVEN.name_edge(True, SEVEN.position["B5"]) == "B5 -> B3"


@pytest.mark.parametrize(
    ("links", "root", "said"),
    [
        ([("A", "B"), ("B", "C"), ("C", "A")], None, "the link .* closes a cycle"),
        ([("A", "B"), ("C", "D")], None, "not connected: no path from A to C .2 of 4 brokers."),
        ([("A", "A")], None, "the link A-A joins a broker to itself"),
        ([("A", "B"), ("B", "A")], None, "the link B-A is given twice"),
        ([], None, "a tree needs at least one broker"),
        ([("A", "B")], "X", "the root 'X' is no broker of the tree"),
    ],
)
def test_what_is_no_tree_is_refused(
    links: list[tuple[str, str]], root: str | None, said: str
) -> None:
    with pytest.raises(TopologyError, match=said):
        rooted_tree(links, root)


def test_a_size_that_is_a_slip_is_refused() -> None:
    with pytest.raises(ParameterError, match="levels: is 50; with arity 3 that is more than"):
        complete_tree(3, 50)
    with pytest.raises(ParameterError, match="arity: is 0; wanted 1 or more"):
        complete_tree(0, 5)
