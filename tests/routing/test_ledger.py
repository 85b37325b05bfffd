"""A ledger says only the difference, when it is asked, whatever happened in between."""

from __future__ import annotations

import pytest

from sapwood.filters import Filter
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.strategy import Difference, Entry

ONE, TWO, WIDE = Filter("a = 1"), Filter("a = 2"), Filter("a > 0")
ENTRIES = [Entry("c", "1", ONE), Entry("c", "2", TWO), Entry("c", "w", WIDE)]


def filled(algorithm: str) -> EdgeLedger:
    ledger = EdgeLedger("X", algorithm)
    for entry in ENTRIES:
        ledger.add(entry)
    return ledger


def test_looking_does_not_count_as_telling() -> None:
    ledger = filled("covering")
    wanted = Difference([(WIDE.id, WIDE)], [])
    assert ledger.difference() == ledger.difference() == ledger.take() == wanted
    assert ledger.told == {WIDE.id: WIDE}
    assert ledger.take() == Difference([], [])


def test_what_comes_and_goes_while_nothing_is_taken_leaves_nothing_behind() -> None:
    ledger = filled("simple")
    ledger.take()
    for number in range(1000):
        churn = Entry("d", f"churn{number}", Filter(f"b = {number}"))
        ledger.add(churn)
        ledger.note_changes()
        ledger.remove(churn)
        ledger.note_changes()
    assert len(ledger._differing) == 0
    ledger.remove(ENTRIES[0])
    assert ledger.take() == Difference([], ["1"])


def test_a_switch_says_no_more_than_the_difference() -> None:
    ledger = filled("identity")
    ledger.take()
    ledger.switch("covering", ENTRIES)
    assert ledger.algorithm == "covering"
    assert ledger.take() == Difference([], [ONE.id, TWO.id])
    ledger.switch("identity", ENTRIES)
    assert ledger.take() == Difference([(ONE.id, ONE), (TWO.id, TWO)], [])
    ledger.switch("flooding", ENTRIES)
    assert ledger.take() == Difference([], [WIDE.id, ONE.id, TWO.id])


def test_a_scoped_ledger_switches_with_what_it_took_in() -> None:
    ledger = EdgeLedger("X", "identity", is_scoped=True)
    ledger.add(ENTRIES[0])
    ledger.switch("simple", ENTRIES)
    assert ledger.owed() == {"1": ONE}
    ledger.remove(ENTRIES[1])  # was never taken in
    assert ledger.owed() == {"1": ONE}


def test_a_neighbour_that_lost_everything_is_told_everything() -> None:
    ledger = filled("identity")
    ledger.take()
    ledger.remove(ENTRIES[0])
    ledger.renew()
    assert ledger.told == {}
    assert ledger.take() == Difference([(TWO.id, TWO), (WIDE.id, WIDE)], [])


def test_presuming_that_all_is_told_puts_right_what_was_remembered() -> None:
    ledger = filled("identity")
    ledger.take()
    del ledger.told[ONE.id]
    ledger.told["surplus"] = TWO
    ledger.add(Entry("d", "new", Filter("b = 1")))
    ledger.presume()
    assert ledger.told == ledger.owed()
    assert ledger.told is not ledger.owed()
    assert (ledger.take(), ledger.problems()) == (Difference([], []), [])
    ledger.remove(ENTRIES[0])
    assert ledger.take() == Difference([], [ONE.id])


@pytest.mark.parametrize("told_id", [ONE.id, "surplus"])
def test_damage_to_what_was_told_is_found(told_id: str) -> None:
    ledger = filled("identity")
    ledger.take()
    assert ledger.problems() == []
    if ledger.told.pop(told_id, None) is None:
        ledger.told[told_id] = ONE
    assert ledger.problems() == [f"the ledger of X is wrong about {told_id}"]
