"""What clients do, by broker and class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analysis.traffic.strategies import SEVEN, random_rates
from sapwood.analysis.traffic.rates import rates, uniform_rates
from sapwood.analysis.traffic.tree import complete_tree
from sapwood.errors import ParameterError

TREE = complete_tree(3, 5)


def test_the_setting_of_the_thesis() -> None:
    found = uniform_rates(
        TREE, subscriptions=81_000, lifetime=600, publication_rate=1000, classes=1000
    )
    leaves = np.array(TREE.is_leaf)
    assert found.live[leaves] == pytest.approx(1.0)
    assert not found.live[~leaves].any()
    assert found.subscriptions == pytest.approx(81_000)
    assert found.publications == pytest.approx(1000)


def test_clients_anywhere_and_publishers_at_the_root() -> None:
    found = uniform_rates(
        SEVEN, subscriptions=14, lifetime=10, publication_rate=6, classes=2,
        clients_at_leaves=False, publishers_at_root=True,
    )  # fmt: skip
    assert found.live[:, 0].tolist() == pytest.approx([1.0] * 7)
    assert found.publication_rate[:, 0].tolist() == [3.0] + [0.0] * 6


def test_scaled_to_so_many_subscriptions() -> None:
    before = random_rates(SEVEN, 1)
    after = before.scaled(3 * before.subscriptions)
    assert after.live == pytest.approx(3 * before.live)
    assert after.publications == before.publications
    with pytest.raises(ParameterError, match="nobody subscribes"):
        rates(SEVEN, arrival_rate=0, departure_rate=1, publication_rate=0).scaled(5)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"arrival_rate": -1}, "arrival_rate: is -1; wanted a finite rate"),
        ({"departure_rate": 0}, "departure_rate: is 0; wanted a finite number above 0"),
        ({"publication_rate": float("inf")}, "publication_rate: is inf; wanted a finite rate"),
        ({"arrival_rate": np.zeros((7, 0))}, "arrival_rate: there is no class"),
        ({"arrival_rate": np.zeros((3, 2))}, "arrival_rate: has the shape 3 x 2; wanted 7 x 2"),
        ({"copies": 0}, "copies: is 0; wanted 1 or more"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], said: str) -> None:
    given = {"arrival_rate": 1.0, "departure_rate": 1.0, "publication_rate": 1.0} | changed
    with pytest.raises(ParameterError, match=said):
        rates(SEVEN, **given)


def test_no_class_for_anybody() -> None:
    with pytest.raises(ParameterError, match="classes: is 0; wanted 1 or more"):
        uniform_rates(SEVEN, subscriptions=1, lifetime=1, publication_rate=1, classes=0)
