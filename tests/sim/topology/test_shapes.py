"""Shapes of trees: degrees and diameters, and random trees that are drawn evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.sim.topology.shapes import (
    SHAPES,
    Topology,
    _from_pruefer,
    binary_tree,
    broker_names,
    chain,
    complete_tree,
    make_topology,
    random_tree,
    random_tree_of_degree,
    star,
)

COUNTS = st.integers(1, 40)
SEEDS = st.integers(0, 10**6)


def degrees(tree: Topology) -> list[int]:
    return sorted(map(tree.degree, tree.brokers))


@given(COUNTS)
def test_a_chain(count: int) -> None:
    tree = chain(count)
    assert tree.brokers == broker_names(count)
    assert tree.links == tuple((f"B{i}", f"B{i + 1}") for i in range(1, count))
    assert tree.diameter == tree.height("B1") == count - 1


@given(COUNTS)
def test_a_star(count: int) -> None:
    tree = star(count)
    assert tree.degree("B1") == count - 1
    assert tree.diameter == min(2, count - 1)
    assert set(degrees(tree)[:-1]) <= {1}


@given(COUNTS)
def test_a_binary_tree_is_numbered_as_a_heap(count: int) -> None:
    tree = binary_tree(count)
    assert tree.parents("B1") == {f"B{i}": f"B{i // 2}" for i in range(2, count + 1)}


@given(st.integers(1, 4), st.integers(1, 5))
def test_a_complete_tree(arity: int, levels: int) -> None:
    tree = complete_tree(arity, levels=levels)
    inner = sum(arity**level for level in range(levels - 1))
    assert len(tree.brokers) == inner + arity ** (levels - 1)
    assert tree.height("B1") == levels - 1
    children = Counter(tree.parents("B1").values())
    assert children == dict.fromkeys(broker_names(inner) if inner else (), arity)
    assert tree == complete_tree(arity, count=len(tree.brokers))


def test_the_trees_of_the_papers() -> None:
    ternary = complete_tree(3, levels=5)
    assert (len(ternary.brokers), len(ternary.links), len(ternary.leaves("B1"))) == (121, 120, 81)
    assert (ternary.height("B1"), ternary.diameter) == (4, 8)
    binary = complete_tree(2, levels=7)
    assert (binary, len(binary.links)) == (binary_tree(127), 126)


@given(COUNTS, SEEDS)
def test_a_random_tree_comes_from_its_seed(count: int, seed: int) -> None:
    tree = random_tree(count, Random(seed))
    assert len(tree.links) == count - 1
    assert tree == random_tree(count, Random(seed))


@given(COUNTS, st.integers(2, 6), SEEDS)
def test_a_random_tree_keeps_to_its_degree(count: int, degree_max: int, seed: int) -> None:
    tree = random_tree_of_degree(count, degree_max, Random(seed))
    assert len(tree.links) == count - 1
    assert tree.degree_max <= degree_max
    assert tree == random_tree_of_degree(count, degree_max, Random(seed))


@pytest.mark.parametrize("degree_max", [2, 3, 999, 5000])
def test_a_large_tree_of_given_degree(degree_max: int) -> None:
    tree = random_tree_of_degree(1000, degree_max, Random(1))
    assert tree.degree_max <= degree_max
    assert (tree.diameter == 999) == (degree_max == 2)


def all_trees(count: int, degree_max: int) -> list[Topology]:
    """Every tree, by way of every Prüfer sequence."""
    sequences = product(range(count), repeat=count - 2)
    trees = [_from_pruefer(broker_names(count), sequence) for sequence in sequences]
    return [tree for tree in trees if tree.degree_max <= degree_max]


def test_every_sequence_is_a_tree_of_its_own() -> None:
    assert len(set(all_trees(5, 4))) == 5**3


def chi_square(draw: Callable[[Random], Topology], trees: list[Topology]) -> float:
    """How far the numbers of 40 draws per tree are from even, in standard deviations."""
    random = Random(20)
    seen = Counter(draw(random) for _ in range(40 * len(trees)))
    assert set(seen) <= set(trees)
    freedom = len(trees) - 1
    statistic = sum((seen[tree] - 40) ** 2 / 40 for tree in trees)
    return float((statistic - freedom) / (2 * freedom) ** 0.5)


def test_random_trees_are_drawn_evenly() -> None:
    assert abs(chi_square(lambda random: random_tree(5, random), all_trees(5, 4))) < 3


@pytest.mark.slow
@pytest.mark.parametrize("degree_max", [2, 3])
def test_random_trees_of_given_degree_are_drawn_evenly(degree_max: int) -> None:
    trees = all_trees(5, degree_max)
    assert len(trees) == {2: 60, 3: 120}[degree_max]
    distance = chi_square(lambda random: random_tree_of_degree(5, degree_max, random), trees)
    assert abs(distance) < 3


def test_an_uneven_draw_would_be_seen() -> None:
    def recursive(random: Random) -> Topology:
        links = [(f"B{random.randrange(1, i)}", f"B{i}") for i in range(2, 6)]
        return Topology(broker_names(5), tuple(links))

    assert chi_square(recursive, all_trees(5, 4)) > 30


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: chain(0), "brokers: is 0; wanted a finite number, 1 or more"),
        (lambda: complete_tree(0, levels=2), "arity: is 0; wanted a finite number, 1 or more"),
        (lambda: complete_tree(2, levels=0), "levels: is 0; wanted a finite number, 1 or more"),
        (lambda: complete_tree(2), "complete_tree: give either levels or count"),
        (lambda: complete_tree(2, levels=2, count=3), "complete_tree: give either levels or count"),
        (
            lambda: random_tree_of_degree(3, 1, Random(1)),
            "degree_max: is 1; wanted a finite number, 2 or more",
        ),
        (
            lambda: make_topology("ring", 3, Random(1)),
            "shape: is 'ring'; choose from tree, chain, star, random",
        ),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[], Topology], problem: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == problem


def test_shapes_by_name() -> None:
    made = {shape: make_topology(shape, 9, Random(4)) for shape in SHAPES}
    assert made == {
        "tree": binary_tree(9),
        "chain": chain(9),
        "star": star(9),
        "random": random_tree(9, Random(4)),
    }
