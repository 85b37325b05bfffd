"""Who is a neighbour, and what follows from it."""

from __future__ import annotations

import pytest

from sapwood.protocol.neighbours import Neighbour, Neighbours


def neighbour(*, in_tree: bool = True, **fields: object) -> Neighbour:
    return Neighbour(in_tree, "covering", "covering", **fields)  # type: ignore[arg-type]


def test_neighbours_are_told_apart_by_what_can_be_done_with_them() -> None:
    neighbours = Neighbours()
    neighbours["N"] = neighbour(features=("restart",))
    neighbours["away"] = neighbour(is_away=True)
    neighbours["frozen"] = neighbour(is_frozen=True)
    neighbours["aside"] = neighbour(in_tree=False, is_away=True, features=("restart",))
    assert neighbours.tree() == ["N", "away", "frozen"]
    assert neighbours.away() == ["away"]
    assert neighbours.withheld() == ["away", "frozen"]
    assert [name for name in (*neighbours, "nobody") if neighbours.is_in_tree(name)] == (
        neighbours.tree()
    )
    assert [name for name in (*neighbours, "nobody") if neighbours.is_restartable(name)] == ["N"]


@pytest.mark.parametrize(
    ("sends", "announced", "may"),
    [
        ("covering", "covering", False),
        ("flooding", "covering", True),
        ("covering", "flooding", True),
    ],
)
def test_a_neighbour_may_flood_until_it_was_told_otherwise(
    sends: str, announced: str, may: bool
) -> None:
    one = Neighbour(True, sends, "flooding", announced=announced)
    assert one.may_flood is may
    assert one.is_flooded
