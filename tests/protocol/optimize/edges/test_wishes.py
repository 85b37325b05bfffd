"""What it would cost to tell a neighbour: the same as what its ledger really says."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.filters.filter import Filter
from sapwood.protocol.optimize.edges.wishes import Wishes
from sapwood.routing.strategy import Entry
from sapwood.routing.table import RoutingTable

FILTERS = [Filter(text) for text in ("x = 1", "x = 2", "x > 0", "x > 5", "x = 7")]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("how", ["simple", "identity", "covering", "merging"])
def test_costs_are_what_the_ledger_says(how: str, seed: int) -> None:
    """A table with two neighbours and a client; what neighbour A is told is counted both ways."""
    random = Random(seed)
    table, wishes = RoutingTable(), Wishes()
    table.open("A", how)
    if how not in ("simple", "identity"):
        wishes.cast([("A", how)], table)
    told = 0
    for _ in range(200):
        destination = random.choice("ABC")
        entry_id = f"{destination}{random.randrange(6)}"
        before = table.remove(destination, entry_id)
        if before is not None:
            wishes.remove(before)
        else:
            entry = Entry(destination, entry_id, random.choice(FILTERS))
            table.add(entry)
            wishes.add(entry)
        for _, said in table.take_differences():
            told += len(said.subscribe) + len(said.unsubscribe)
        wishes.note([])
    found = {
        "simple": wishes.simple("A"),
        "identity": wishes.identity("A"),
        "covering": wishes.unsaid["A", "covering"],
        "merging": wishes.unsaid["A", "merging"],
    }
    assert found[how] == told > 0
    rebuilt = Wishes()
    rebuilt.build(table)
    assert rebuilt.holders == wishes.holders
    assert wishes.filters("A") == len({one.filter.id for one in table if one.destination != "A"})


def test_counts_begin_anew_when_they_were_taken() -> None:
    wishes = Wishes()
    wishes.add(Entry("B", "1", FILTERS[0]))
    wishes.note(["A", "A"])
    assert (wishes.simple("A"), wishes.identity("A"), wishes.told["A"]) == (1, 1, 2)
    wishes.clear()
    assert (wishes.simple("A"), wishes.identity("A"), wishes.told["A"]) == (0, 0, 0)
