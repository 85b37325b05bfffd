"""Somebody who is being examined: what can have been noted, and what only a fault can have left."""

from __future__ import annotations

import pytest

from protocol.joined import hello_of
from sapwood.protocol.link.applicant import Applicant, Stage, is_applicant
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.states import LineState


def applicant() -> Applicant:
    return Applicant(Line(1, LineState.GREETING, 0.0), hello_of("B2"))


def test_an_examination_begins_with_a_challenge() -> None:
    one = applicant()
    assert is_applicant(one)
    assert (one.stage, one.survey, one.challenged, one.who) == (Stage.CHALLENGE, 0, 0, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [("line", None), ("hello", "B2"), ("stage", 3), ("survey", None), ("until", "soon")],
)
def test_what_a_fault_has_left_is_none(field: str, value: object) -> None:
    one = applicant()
    setattr(one, field, value)
    assert not is_applicant(one)
    assert not is_applicant(value)
