"""What a recorded gap may hide; its consequences for the counts are in test_checkers.py."""

from __future__ import annotations

import pytest

from sapwood.trace.judge.gaps import BEGINNING, Gaps
from tracing.files import bare_row


def gaps() -> Gaps:
    """A gap of B1 from 10 to 20."""
    found = Gaps()
    found.record(bare_row(at=20.0, kind="trace_gap"), 10.0)
    found.seen("ann.1", "B1")
    found.seen("ann.1", "B2")
    found.seen("bob.1", "B2")
    return found


@pytest.mark.parametrize(
    ("since", "until", "hidden"),
    [(0, 9.9, False), (0, 10, True), (12, 13, True), (20, 30, True), (20.1, 30, False)],
)
def test_the_span_of_a_gap(since: float, until: float, hidden: bool) -> None:
    assert gaps().hide("ann.1", since, until) is hidden


def test_a_gap_hides_what_its_own_clients_did() -> None:
    assert not gaps().hide("bob.1", BEGINNING, 99)


def test_a_stranger_may_have_been_anywhere() -> None:
    assert gaps().hide("cec.1", BEGINNING, 99)


def test_a_clock_set_back_over_a_gap() -> None:
    found = Gaps()
    found.record(bare_row(at=5.0, kind="trace_gap"), 10.0)
    assert (found.hide("ann.1", 0, 4.9), found.hide("ann.1", 5, 5)) == (False, True)


def test_no_gaps() -> None:
    assert (bool(Gaps()), bool(gaps())) == (False, True)
    assert not Gaps().hide("ann.1", BEGINNING, 99)
