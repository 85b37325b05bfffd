"""A leaf comes, a leaf goes."""

from __future__ import annotations

import pytest

from sapwood.errors import PlanError
from sapwood.protocol.reconfigure.published.changes import Join, Leave
from sapwood.sim.topology import chain


def test_a_leaf_comes_and_goes() -> None:
    tree = chain(3)
    larger = Join("X", "B2").applied(tree)
    assert larger.neighbours("X") == ("B2",)
    assert Leave("X", "B2").applied(larger) == tree
    assert Join("X", "B2").ring == ("X", "B2")


def test_who_is_no_leaf_stays() -> None:
    with pytest.raises(PlanError, match="B2 is no leaf beside B1; move it out by swaps first"):
        Leave("B2", "B1").applied(chain(3))
