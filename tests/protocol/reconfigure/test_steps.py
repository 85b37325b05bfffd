"""What clients ask for, as steps; whole runs of them are in ``test_conducting``."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sapwood.errors import PlanError
from sapwood.protocol.messages import BrokerReport
from sapwood.protocol.reconfigure.asking import ChangeTree
from sapwood.protocol.reconfigure.steps import Step, rounds_for

LINE = [("A", "B"), ("B", "C"), ("C", "D")]
REPORTS = [
    BrokerReport(
        name,
        1,
        neighbours=tuple(other for link in LINE if name in link for other in link if other != name),
        addresses=(f"test://{name}",),
        can_change=True,
    )
    for name in "ABCD"
]


def steps(wanted: ChangeTree, ring_max: int = 12) -> list[list[str]]:
    return [[str(one) for one in each] for each in rounds_for(wanted, "A", REPORTS, ring_max)]


def test_each_wish_has_its_steps() -> None:
    swap = (("D", "C"), ("D", "B"))
    assert steps(ChangeTree(1, "swap", swap)) == [["C-D → D-B"]]
    assert steps(ChangeTree(1, "exchange", (("B", "C"), ("A", "D")))) == [["B-C → D-A"]]
    star = (("A", "B"), ("A", "C"), ("A", "D"))
    assert [len(each) for each in steps(ChangeTree(1, "plan", star))] == [1, 1]
    assert steps(ChangeTree(1, "plan", tuple(LINE))) == []
    assert steps(ChangeTree(1, "remove", broker="D")) == [["D leaves, C takes over"]]
    assert steps(ChangeTree(1, "remove", broker="C")) == [
        ["C-D → D-B"],
        ["C leaves, B takes over"],
    ]


def test_the_parent_takes_over_or_a_neighbour_that_clients_can_find() -> None:
    wanted = ChangeTree(1, "remove", broker="C")
    below = [replace(one, parent="D") if one.id == "C" else one for one in REPORTS]
    *_, (last,) = rounds_for(wanted, "A", below, 12)
    assert last.old == ("C", "D")
    hidden = [replace(one, addresses=()) if one.id == "D" else one for one in below]
    *_, (last,) = rounds_for(wanted, "A", hidden, 12)
    assert last.old == ("C", "B")
    nobody = [replace(one, addresses=() if one.id in "BD" else one.addresses) for one in below]
    with pytest.raises(PlanError, match="cannot be moved out"):
        rounds_for(wanted, "A", nobody, 12)


def test_who_leaves_is_told_along_the_tree_as_it_is_then() -> None:
    *_, (last,) = rounds_for(ChangeTree(1, "remove", broker="D"), "A", REPORTS, 12)
    assert last == Step(("D", "C"), route=("A", "B", "C", "D"))
    *_, (last,) = rounds_for(ChangeTree(1, "remove", broker="D"), "D", REPORTS, 12)
    assert last == Step(("D", "C"), route=("D",))


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (ChangeTree(1, "exchange"), "exchange of 0 links; there must be two"),
        (ChangeTree(1, "swap", (("A", "B"), ("C", "D"))), "share no end: that is no swap"),
        (ChangeTree(1, "remove", broker="Z"), "there is no broker 'Z'"),
        (ChangeTree(1, "plan", (("A", "B"), ("B", "C"))), "the target is no tree"),
    ],
)
def test_what_makes_no_sense_is_refused(wanted: ChangeTree, problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        rounds_for(wanted, "A", REPORTS, 12)


def test_rings_have_a_limit() -> None:
    with pytest.raises(PlanError, match="a ring of 4 brokers, and 3 are the most"):
        steps(ChangeTree(1, "plan", (("A", "B"), ("C", "D"), ("A", "D"))), ring_max=3)
