"""The kernels leave trees as they found them, or make them cheaper."""

from __future__ import annotations

from random import Random

from analysis.overlay.drawing import drawn, random_tree
from sapwood.analysis.overlay.kernels import cost_of
from sapwood.analysis.overlay.situation import arrays_of, as_arrays, as_tree


def test_links_that_do_not_join_all_have_no_cost() -> None:
    around, _ = drawn(4, 0)
    neighbours, degrees = as_arrays(((0, 1), (2, 3)), 4)
    assert cost_of(neighbours, degrees, *arrays_of(around)) == -1.0


def test_asking_for_the_cost_changes_nothing() -> None:
    around, _ = drawn(8, 1)
    tree = random_tree(8, Random(1))
    neighbours, degrees = as_arrays(tree, 8)
    first = cost_of(neighbours, degrees, *arrays_of(around))
    assert as_tree(neighbours, degrees) == tuple(sorted(tree))
    assert cost_of(neighbours, degrees, *arrays_of(around)) == first
