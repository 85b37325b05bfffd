"""A table and its neighbours: owed to X is a function of the entries from all others."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

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
    """Adds, removes, opens, closes, switches, withholds and rescopes, and follows what is told."""

    def __init__(self) -> None:
        super().__init__()
        self.scope: RoutingTable | None = None
        self.table = RoutingTable()
        self.entries: dict[tuple[str, str], Filter] = {}
        self.open: dict[str, str] = {}
        self.told: dict[str, dict[str, Filter]] = {}
        self.withheld: set[str] = set()

    @initialize(scoped=st.booleans())
    def begin(self, scoped: bool) -> None:
        self.scope = RoutingTable() if scoped else None
        self.table = RoutingTable(self.scope)

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

    @rule(neighbour=neighbours, algorithm=st.sampled_from(list(DEFINITIONS)))
    def open_neighbour(self, neighbour: str, algorithm: str) -> None:
        self.table.open(neighbour, algorithm)
        self.open[neighbour] = algorithm
        self.told[neighbour] = {}

    @rule(neighbour=neighbours)
    def close(self, neighbour: str) -> None:
        self.table.close(neighbour)
        self.open.pop(neighbour, None)
        self.told.pop(neighbour, None)

    @precondition(lambda self: self.scope is not None)
    @rule(neighbour=neighbours, number=st.none() | numbers)
    def rescope(self, neighbour: str, number: int | None) -> None:
        assert self.scope is not None
        if number is None:
            self.scope.remove(neighbour, "scope")
        else:
            self.scope.add(Entry(neighbour, "scope", POOL[number]))
        self.table.rescope(neighbour)

    @rule(neighbour=neighbours, algorithm=st.sampled_from(list(DEFINITIONS)))
    def switch(self, neighbour: str, algorithm: str) -> None:
        self.table.switch(neighbour, algorithm)
        if neighbour in self.open:
            self.open[neighbour] = algorithm

    @rule(neighbour=neighbours)
    def renew(self, neighbour: str) -> None:
        if neighbour in self.open:
            self.table.ledgers[neighbour].renew()
            self.told[neighbour] = {}

    @rule(neighbour=neighbours)
    def withhold_or_not(self, neighbour: str) -> None:
        self.withheld ^= {neighbour}

    @rule()
    def tell(self) -> None:
        wanted = {name: one for name, one in self.table.differences() if name not in self.withheld}
        said = dict(self.table.take_differences(self.withheld))
        assert said == wanted
        for neighbour, difference in said.items():
            told = self.told[neighbour]
            assert difference
            for told_id, filter in difference.subscribe:
                assert told.get(told_id) != filter
                told[told_id] = filter
            for told_id in difference.unsubscribe:
                del told[told_id]
        for neighbour in self.open:
            if neighbour not in self.withheld:
                assert self.told[neighbour] == self.owed(neighbour)
            assert self.table.told(neighbour) == self.told[neighbour]
        assert dict(self.table.take_differences(self.withheld)) == {}

    @invariant()
    def holds_the_entries(self) -> None:
        assert {entry[:2]: entry.filter for entry in self.table} == self.entries
        assert len(self.table) == len(self.entries)
        for destination in DESTINATIONS:
            own = {key[1]: one for key, one in self.entries.items() if key[0] == destination}
            assert {entry.id: entry.filter for entry in self.table.of(destination)} == own
            assert self.table.filters(destination) == list(own.values())
            assert all(self.table.get(destination, one) == own[one] for one in own)

    @invariant()
    def owes_what_follows_from_the_entries_of_others(self) -> None:
        for neighbour in self.open:
            assert self.table.owed(neighbour) == self.owed(neighbour)
        assert list(self.table.problems()) == []

    def owed(self, neighbour: str) -> dict[str, Filter]:
        return DEFINITIONS[self.open[neighbour]](
            Entry(destination, entry_id, filter)
            for (destination, entry_id), filter in self.entries.items()
            if destination != neighbour and self.is_within(neighbour, filter)
        )

    def is_within(self, neighbour: str, filter: Filter) -> bool:
        if self.scope is None:
            return True
        return any(entry.filter.overlaps(filter) for entry in self.scope.of(neighbour))


TestTable = Table.TestCase

ONE, TWO, BOTH = Filter("a = 1"), Filter("a = 2"), Filter("a in (1, 2)")


def test_nobody_is_owed_what_it_asked_for_itself() -> None:
    table = RoutingTable()
    for neighbour in ("X", "Y"):
        table.open(neighbour, "identity")
    table.add(Entry("X", ONE.id, ONE))
    assert list(table.take_differences()) == [("Y", Difference([(ONE.id, ONE)], []))]
    assert table.owed("X") == {}


def test_a_neighbour_that_opens_is_told_everything_and_one_that_closes_nothing() -> None:
    table = RoutingTable()
    table.add(Entry("c", "1", ONE))
    table.open("X", "identity")
    assert list(table.take_differences()) == [("X", Difference([(ONE.id, ONE)], []))]
    table.close("X")
    table.close("X")
    table.remove("c", "1")
    assert list(table.take_differences()) == []
    assert table.owed("X") == {}


def test_an_entry_replaces_the_one_under_its_id() -> None:
    table = RoutingTable()
    table.open("X", "identity")
    table.open("Y", "simple")
    table.add(Entry("c", "1", ONE))
    list(table.take_differences())
    table.add(Entry("c", "1", ONE))
    assert list(table.take_differences()) == []
    table.add(Entry("c", "1", TWO))
    assert list(table.take_differences()) == [
        ("X", Difference([(TWO.id, TWO)], [ONE.id])),
        ("Y", Difference([("1", TWO)], [])),
    ]
    assert table.of("c") == [Entry("c", "1", TWO)]


def test_the_text_is_kept_as_it_was_received() -> None:
    table = RoutingTable()
    table.open("X", "simple")
    table.add(Entry("c", "1", ONE), "1 = a")
    list(table.take_differences())
    assert (table.text("c", "1"), table.texts("c")) == ("1 = a", {"1": "1 = a"})
    table.add(Entry("c", "1", ONE), "a=1")  # the same in other words: nobody need be told
    assert (table.text("c", "1"), list(table.take_differences())) == ("a=1", [])
    table.add(Entry("c", "2", TWO))
    assert table.text("c", "2") == str(TWO)
    assert table.destinations() == ["c"]
    table.remove("c", "1")
    table.remove("c", "2")
    assert (table.text("c", "1"), table.texts("c"), list(table.destinations())) == (None, {}, [])


def test_a_later_advertisement_pulls_what_it_needs_and_no_more() -> None:
    advertised = RoutingTable()
    table = RoutingTable(scope=advertised)
    table.open("X", "simple")
    for number, filter in enumerate((ONE, TWO, BOTH)):
        table.add(Entry("c", str(number), filter))
    assert list(table.take_differences()) == []
    advertised.add(Entry("X", "1", ONE))
    table.rescope("X")
    assert list(table.take_differences()) == [("X", Difference([("0", ONE), ("2", BOTH)], []))]
    advertised.add(Entry("X", "2", TWO))
    table.rescope("X")
    assert list(table.take_differences()) == [("X", Difference([("1", TWO)], []))]
    advertised.remove("X", "1")
    table.rescope("X")
    assert list(table.take_differences()) == [("X", Difference([], ["0"]))]


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
