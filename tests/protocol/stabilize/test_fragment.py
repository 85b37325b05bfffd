"""What a survey of a fragment shows."""

from __future__ import annotations

import pytest

from sapwood.protocol.messages import BrokerReport
from sapwood.protocol.stabilize.fragment import Fragment, Purpose, Subject

HELD = Subject("A", "P")
"""The link to the parent P is held, for the root A."""
NEWS = Subject("A", "B")
"""A is better than B, which is the root here."""


def report(name: str, parent: str, root: str = "A") -> BrokerReport:
    return BrokerReport(name, 1, root=root, parent=parent)


def asked(purpose: Purpose, subject: Subject) -> Fragment:
    fragment = Fragment("B")
    assert fragment.ask(purpose, subject, 5.0, 30.0)
    return fragment


ONLY_WAY = [report("B", "P"), report("C", "B"), report("D", "C")]


def test_all_lead_here() -> None:
    fragment = asked(Purpose.HOLD, HELD)
    assert fragment.answered(Purpose.HOLD, ONLY_WAY)
    assert fragment.has_shown(Purpose.HOLD, HELD)
    assert not fragment.has_shown(Purpose.HOLD, Subject("A", "Q"))
    fragment.forget(Purpose.HOLD)
    assert not fragment.has_shown(Purpose.HOLD, HELD)


@pytest.mark.parametrize(
    "other",
    [
        report("E", "Q"),
        report("E", ""),
        report("E", "E"),
        report("E", "B", root="Z"),
        report("E", "B", root=""),
    ],
    ids=["by another way", "a root", "its own parent", "another root", "no root"],
)
def test_somebody_does_not_lead_here(other: BrokerReport) -> None:
    fragment = asked(Purpose.HOLD, HELD)
    assert not fragment.answered(Purpose.HOLD, [*ONLY_WAY, other])
    assert not fragment.has_shown(Purpose.HOLD, HELD)


def test_parents_in_a_circle_lead_nowhere() -> None:
    fragment = asked(Purpose.HOLD, HELD)
    circle = [report("X", "Y"), report("Y", "X")]
    assert not fragment.answered(Purpose.HOLD, [*ONLY_WAY, *circle])


def test_a_parent_within_the_fragment_is_no_way_out() -> None:
    fragment = asked(Purpose.HOLD, HELD)
    assert not fragment.answered(Purpose.HOLD, [*ONLY_WAY, report("P", "D")])


def test_nobody_knows_a_better_root() -> None:
    fragment = asked(Purpose.NEWS, NEWS)
    assert fragment.answered(Purpose.NEWS, [report("B", "", "B"), report("C", "B", "B")])
    assert fragment.has_shown(Purpose.NEWS, NEWS)


def test_somebody_knows_it_already() -> None:
    fragment = asked(Purpose.NEWS, NEWS)
    assert not fragment.answered(Purpose.NEWS, [report("B", "", "B"), report("C", "P", "A")])
    assert not fragment.has_shown(Purpose.NEWS, NEWS)


def test_nobody_asked() -> None:
    fragment = Fragment("B")
    assert not fragment.answered(Purpose.HOLD, ONLY_WAY)
    assert not fragment.answered(99, ONLY_WAY)
    assert fragment.shown == {}


def test_one_survey_at_a_time_for_one_subject() -> None:
    fragment = asked(Purpose.HOLD, HELD)
    assert not fragment.ask(Purpose.HOLD, HELD, 6.0, 30.0)
    assert fragment.ask(Purpose.NEWS, NEWS, 6.0, 30.0)
    assert fragment.ask(Purpose.HOLD, Subject("A", "Q"), 6.0, 30.0)


@pytest.mark.parametrize("now", [35.0, 4.0])
def test_one_that_does_not_come_back_is_asked_again(now: float) -> None:
    assert asked(Purpose.HOLD, HELD).ask(Purpose.HOLD, HELD, now, 30.0)
