"""A wide filter over thousands of narrow ones: in parts, and never less than is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from routing.storm import KINDS
from sapwood.filters import Filter
from sapwood.routing import covering
from sapwood.routing.covering import Covering, hides
from sapwood.routing.ledger import AT_ONCE, EdgeLedger
from sapwood.routing.strategy import Entry
from sapwood.routing.table import RoutingTable

WIDE = Filter("true")
MANY = 4_000


def narrow(count: int) -> Iterator[Entry]:
    return (Entry("B", str(one), KINDS["values"](Random(1), one)) for one in range(count))


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One for every question whether a filter hides another."""
    asked: list[None] = []

    def counted(cover: Filter, filter: Filter) -> bool:
        asked.append(None)
        return hides(cover, filter)

    monkeypatch.setattr(covering, "hides", counted)
    return asked


def test_a_wide_filter_that_comes_and_goes_takes_bounded_work(compared: list[None]) -> None:
    """What is beyond is left, and done in parts as large as is asked for."""
    ledger = EdgeLedger("X", "covering")
    for entry in narrow(400):
        ledger.add(entry)
    ledger.take()
    for change in (ledger.add, ledger.remove) * 3:
        compared.clear()
        change(Entry("A", "wide", WIDE))
        assert len(compared) <= AT_ONCE
        said = ledger.take()
        assert len(said.subscribe) + len(said.unsubscribe) <= AT_ONCE + 1
        while ledger.left:
            before = ledger.left
            compared.clear()
            ledger.carry_on(10)
            said = ledger.take()
            assert before > ledger.left
            assert len(said.subscribe) + len(said.unsubscribe) <= 11
            assert len(compared) <= 10 * AT_ONCE
    assert len(ledger.told) == 400


@pytest.mark.slow
def test_one_toggle_over_thousands_leaves_nearly_all_of_it(compared: list[None]) -> None:
    """By which a broker of forty neighbours looks at no more than before."""
    table = RoutingTable()
    for neighbour in ("X", "Y"):
        table.open(neighbour, "covering")
    for entry in narrow(MANY):
        table.add(entry)
    list(table.take_differences())
    compared.clear()
    table.add(Entry("A", "wide", WIDE))
    assert len(compared) <= 2 * AT_ONCE
    assert table.left == 2 * (MANY + 1)
    table.carry_on(50)  # finds out which they are, for one neighbour
    assert table.left == 2 * MANY + 1
    table.carry_on(50)
    assert table.left == 2 * MANY + 1 - 50
    assert len(compared) <= 2 * AT_ONCE + 50
    assert sum(len(said.unsubscribe) for _, said in table.take_differences()) == 50


@pytest.mark.parametrize("seed", range(20))
def test_nobody_is_owed_less_than_is_wanted_at_any_time(seed: int) -> None:
    """And when nothing is left, just what is owed where nothing is ever left."""
    random = Random(seed)
    print(f"replay: seed {seed}")
    bounded, whole = Covering(), Covering()
    bounded.at_once = random.choice([0, 1, 3])
    present: dict[str, Filter] = {}
    for step in range(200):
        low, width = random.randrange(12), random.choice([0, 1, 2, 5, 30])
        filter = WIDE if width == 30 else Filter(f"x >= {low} and x <= {low + width}")
        entry_id = str(random.randrange(12)) if width < 30 else "wide"
        if entry_id in present:
            gone = Entry("A", entry_id, present.pop(entry_id))
            bounded.remove(gone)
            whole.remove(gone)
        if random.random() < 0.7:
            present[entry_id] = filter
            bounded.add(Entry("A", entry_id, filter))
            whole.add(Entry("A", entry_id, filter))
        if random.random() < 0.5:
            assert bounded.carry_on(random.randrange(1, 4)) is (bounded.left == 0)
        owed = list(bounded.owed().values())
        for wanted in present.values():
            assert any(one.covers(wanted) for one in owed), (step, str(wanted))
        if random.random() < 0.1:
            while not bounded.carry_on(1):
                pass
            assert bounded.owed().keys() == whole.owed().keys()
