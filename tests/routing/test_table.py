"""A table and its neighbours: owed to X is a function of the entries from all others."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from routing.definitions import DEFINITIONS
from routing.near import draw_pool
from sapwood.filters import Filter
from sapwood.routing.strategy import Difference, Entry
from sapwood.routing.table import RoutingTable

DESTINATIONS = ("client", "X", "Y", "Z")
NEIGHBOURS = DESTINATIONS[1:]
POOL = draw_pool(11, patterns=False) + draw_pool(12, patterns=False)

destinations = st.sampled_from(DESTINATIONS)
neighbours = st.sampled_from(NEIGHBOURS)
numbers = st.integers(0, len(POOL) - 1)


class Table(RuleBasedStateMachine):
    """Adds, removes, opens, closes and rescopes at will, and follows what is told."""

    def __init__(self) -> None:
        super().__init__()
        self.table = RoutingTable()
        self.entries: dict[tuple[str, str], Filter] = {}
        self.open: dict[str, str] = {}
        self.scopes: dict[str, Filter] = {}
        self.told: dict[str, dict[str, Filter]] = {}

    @rule(destination=destinations, number=numbers)
    def add(self, destination: str, number: int) -> None:
        entry = Entry(destination, f"s{number}", POOL[number])
        self.table.add(entry)
        self.entries[entry[:2]] = entry.filter

    @rule(destination=destinations, number=numbers)
    def remove(self, destination: str, number: int) -> None:
        known = self.entries.pop((destination, f"s{number}"), None)
        removed = self.table.remove(destination, f"s{number}")
        expected = None if known is None else Entry(destination, f"s{number}", known)
        assert removed == expected

    @rule(
        neighbour=neighbours,
        algorithm=st.sampled_from(list(DEFINITIONS)),
        scope=st.none() | numbers,
    )
    def open_neighbour(self, neighbour: str, algorithm: str, scope: int | None) -> None:
        self.scopes.pop(neighbour, None)
        if scope is None:
            self.table.open(neighbour, algorithm)
        else:
            self.scopes[neighbour] = POOL[scope]
            self.table.open(neighbour, algorithm, lambda filter: self.is_within(neighbour, filter))
        self.open[neighbour] = algorithm
        self.told[neighbour] = {}

    @rule(neighbour=neighbours)
    def close(self, neighbour: str) -> None:
        self.table.close(neighbour)
        self.open.pop(neighbour, None)
        self.told.pop(neighbour, None)

    @precondition(lambda self: self.scopes)
    @rule(number=numbers, data=st.data())
    def rescope(self, number: int, data: st.DataObject) -> None:
        neighbour = data.draw(st.sampled_from(sorted(self.scopes)))
        self.scopes[neighbour] = POOL[number]
        self.table.rescope(neighbour)

    @rule()
    def tell(self) -> None:
        for neighbour, difference in self.table.differences():
            told = self.told[neighbour]
            assert difference
            for told_id, filter in difference.subscribe:
                assert told.get(told_id) != filter
                told[told_id] = filter
            for told_id in difference.unsubscribe:
                del told[told_id]
        assert self.told == {neighbour: self.owed(neighbour) for neighbour in self.open}
        assert list(self.table.differences()) == []

    @invariant()
    def holds_the_entries(self) -> None:
        assert {entry[:2]: entry.filter for entry in self.table} == self.entries
        assert len(self.table) == len(self.entries)
        for destination in DESTINATIONS:
            own = {key[1]: one for key, one in self.entries.items() if key[0] == destination}
            assert {entry.id: entry.filter for entry in self.table.of(destination)} == own
            assert all(self.table.get(destination, one) == own[one] for one in own)

    @invariant()
    def owes_what_follows_from_the_entries_of_others(self) -> None:
        for neighbour in self.open:
            assert self.table.owed(neighbour) == self.owed(neighbour)

    def owed(self, neighbour: str) -> dict[str, Filter]:
        return DEFINITIONS[self.open[neighbour]](
            Entry(destination, entry_id, filter)
            for (destination, entry_id), filter in self.entries.items()
            if destination != neighbour and self.is_within(neighbour, filter)
        )

    def is_within(self, neighbour: str, filter: Filter) -> bool:
        scope = self.scopes.get(neighbour)
        return scope is None or scope.overlaps(filter)


TestTable = Table.TestCase

ONE, TWO, BOTH = Filter("a = 1"), Filter("a = 2"), Filter("a in (1, 2)")


def test_nobody_is_owed_what_it_asked_for_itself() -> None:
    table = RoutingTable()
    for neighbour in ("X", "Y"):
        table.open(neighbour, "identity")
    table.add(Entry("X", ONE.id, ONE))
    assert list(table.differences()) == [("Y", Difference([(ONE.id, ONE)], []))]
    assert table.owed("X") == {}


def test_a_neighbour_that_opens_is_told_everything_and_one_that_closes_nothing() -> None:
    table = RoutingTable()
    table.add(Entry("c", "1", ONE))
    table.open("X", "identity")
    assert list(table.differences()) == [("X", Difference([(ONE.id, ONE)], []))]
    table.close("X")
    table.close("X")
    table.remove("c", "1")
    assert list(table.differences()) == []
    with pytest.raises(KeyError):
        table.owed("X")


def test_an_entry_replaces_the_one_under_its_id() -> None:
    table = RoutingTable()
    table.open("X", "identity")
    table.open("Y", "simple")
    table.add(Entry("c", "1", ONE))
    list(table.differences())
    table.add(Entry("c", "1", ONE))
    assert list(table.differences()) == []
    table.add(Entry("c", "1", TWO))
    assert list(table.differences()) == [
        ("X", Difference([(TWO.id, TWO)], [ONE.id])),
        ("Y", Difference([("1", TWO)], [])),
    ]
    assert table.of("c") == [Entry("c", "1", TWO)]


def test_a_later_advertisement_pulls_what_it_needs_and_no_more() -> None:
    advertised: list[Filter] = []
    table = RoutingTable()
    table.open("X", "simple", lambda filter: any(map(filter.overlaps, advertised)))
    for number, filter in enumerate((ONE, TWO, BOTH)):
        table.add(Entry("c", str(number), filter))
    assert list(table.differences()) == []
    advertised.append(ONE)
    table.rescope("X")
    assert list(table.differences()) == [("X", Difference([("0", ONE), ("2", BOTH)], []))]
    advertised.append(TWO)
    table.rescope("X")
    assert list(table.differences()) == [("X", Difference([("1", TWO)], []))]
    advertised.remove(ONE)
    table.rescope("X")
    assert list(table.differences()) == [("X", Difference([], ["0"]))]


def test_rescoping_whoever_has_no_scope_changes_nothing() -> None:
    table = RoutingTable()
    table.add(Entry("c", "1", ONE))
    table.open("X", "simple")
    table.rescope("X")
    table.rescope("unknown")
    assert table.owed("X") == {"1": ONE}


def test_an_unknown_algorithm_leaves_the_table_as_it_was() -> None:
    table = RoutingTable()
    table.open("X", "simple")
    table.add(Entry("c", "1", ONE))
    with pytest.raises(ValueError, match="no routing algorithm 'magic'"):
        table.open("X", "magic")
    assert table.owed("X") == {"1": ONE}
