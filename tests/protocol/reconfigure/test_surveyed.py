"""The tree as a survey found it, with those who did not answer."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.errors import PlanError
from sapwood.protocol.messages import BrokerReport
from sapwood.protocol.reconfigure.exchange import exchange
from sapwood.protocol.reconfigure.surveyed import check_present, dialling_of, tree_of

REPORTS = [
    BrokerReport("B", 1, neighbours=("A", "C"), addresses=("test://B",), can_change=True),
    BrokerReport("A", 1, neighbours=("B",), candidates=("C",), can_change=True),
    BrokerReport("C", 1, neighbours=("B", "D"), candidates=("A",), can_change=True),
]
"""D is away; only B says where it listens, and A and C stand by for each other."""


def test_who_is_away_keeps_its_place() -> None:
    tree = tree_of(REPORTS)
    assert tree.brokers == ("A", "B", "C", "D")
    assert tree.links == (("A", "B"), ("B", "C"), ("C", "D"))


def test_reports_that_are_no_tree_are_refused() -> None:
    circle = [*REPORTS[:1], BrokerReport("A", 1, neighbours=("B", "C")), REPORTS[2]]
    with pytest.raises(PlanError, match="closes a cycle"):
        tree_of(circle)


def test_who_says_where_it_listens_can_be_dialled_and_a_link_that_stands_by_is_there() -> None:
    can_dial = dialling_of(REPORTS)
    pairs = [("A", "B"), ("B", "A"), ("A", "C"), ("C", "A"), ("C", "D"), ("D", "C")]
    assert [can_dial(*pair) for pair in pairs] == [True, False, True, True, False, False]


def test_a_step_with_somebody_who_is_away_is_refused() -> None:
    tree = tree_of(REPORTS)
    check_present(REPORTS, [exchange(tree, ("A", "B"), ("A", "C"))])
    with pytest.raises(PlanError, match="needs D, who cannot be reached"):
        check_present(REPORTS, [exchange(tree, ("B", "C"), ("A", "D"))])


def test_a_step_for_which_a_release_is_too_old_is_refused() -> None:
    step = exchange(tree_of(REPORTS), ("A", "B"), ("A", "C"))
    old = [msgspec.structs.replace(REPORTS[0], can_change=False, release="0.1"), *REPORTS[1:]]
    with pytest.raises(PlanError, match=r"needs B \(0.1\), whose release cannot take part"):
        check_present(old, [step])


def test_a_step_over_a_congested_link_is_refused() -> None:
    step = exchange(tree_of(REPORTS), ("A", "B"), ("A", "C"))
    elsewhere = [*REPORTS[:2], msgspec.structs.replace(REPORTS[2], congested=("D",))]
    check_present(elsewhere, [step])
    slow = [msgspec.structs.replace(REPORTS[0], congested=("C",)), *REPORTS[1:]]
    with pytest.raises(PlanError, match="C does not keep up with what B sends"):
        check_present(slow, [step])
