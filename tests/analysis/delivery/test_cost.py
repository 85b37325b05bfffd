"""What one notification costs on a tree."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.analysis.delivery.cost import Delivery, Prices, cost, delivery_tree, prices, total_cost
from sapwood.analysis.traffic.tree import rooted_tree
from sapwood.errors import ParameterError

EXAMPLES = [(3, 1, 0, 5, 3, 6), (4, 1, 1, 4, 2, 5), (5, 1, 2, 3, 1, 4), (6, 1, 3, 2, 0, 3)]
"""p1, p2, p3, c12, c13, c23: all integers that fit the example of 5.4.3."""
TRAFFIC = [
    Delivery(("B2", "B3", "B1"), 5),
    Delivery(("B2", "B3"), 5),
    Delivery(("B1", "B2"), 1),
]


def three(p1: int, p2: int, p3: int, c12: int, c13: int, c23: int) -> Prices:
    links = [[0, c12, c13], [c12, 0, c23], [c13, c23, 0]]
    return prices(("B1", "B2", "B3"), processing=[p1, p2, p3], links=links)


@pytest.mark.parametrize("numbers", EXAMPLES)
def test_the_example_of_the_thesis(numbers: tuple[int, ...]) -> None:
    """Eq. 5.5 to 5.7: neither the cheapest tree nor that of the largest shared traffic is best."""
    found = [
        total_cost(rooted_tree(links), three(*numbers), TRAFFIC)
        for links in (
            [("B1", "B2"), ("B1", "B3")],
            [("B1", "B2"), ("B2", "B3")],
            [("B1", "B3"), ("B2", "B3")],
        )
    ]
    assert found == [129, 119, 113]


def test_brokers_on_the_way_take_part() -> None:
    """Figure 5.1: two are concerned, four handle it."""
    line = rooted_tree([("B1", "B2"), ("B2", "B3"), ("B3", "B4"), ("B4", "B5"), ("B5", "B6")])
    brokers, links = delivery_tree(line, ["B2", "B5"])
    assert brokers == ["B2", "B3", "B4", "B5"]
    assert len(links) == 3
    assert delivery_tree(line, ["B4"]) == (["B4"], [])
    ones = prices(line.brokers, processing=1.0, links=np.ones((6, 6)))
    assert cost(line, ones, ["B2", "B5"]) == 7.0


def test_what_is_refused() -> None:
    tree = rooted_tree([("A", "B")])
    with pytest.raises(ParameterError, match="links: differ with the direction"):
        prices(("A", "B"), processing=1.0, links=[[0, 1], [2, 0]])
    with pytest.raises(ParameterError, match="processing: is -1"):
        prices(("A", "B"), processing=-1.0, links=1.0)
    with pytest.raises(ParameterError, match="brokers: is empty"):
        prices((), processing=1.0, links=1.0)
    with pytest.raises(ParameterError, match="concerned: 'X' is no broker of the tree"):
        delivery_tree(tree, ["X"])
    with pytest.raises(ParameterError, match="brokers: 'B' has no price"):
        cost(tree, prices(("A",), processing=1.0, links=1.0), ["B"])
