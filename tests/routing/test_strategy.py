"""What every routing algorithm promises: told is owed, owed is what is wanted, and no gaps."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.definitions import DEFINITIONS
from routing.near import apply_message_by_message, meaning_of_all, patterned_pools, pools, seeds
from sapwood.filters import Filter
from sapwood.routing.algorithms import strategy
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.strategy import Difference, Entry

FILTERING = [name for name in DEFINITIONS if name != "flooding"]
DESTINATIONS = "ABC"


class Neighbour:
    """Keeps entries, a strategy that sees them come and go, and what it said so far."""

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self.ledger = EdgeLedger("X", algorithm)
        self.entries: dict[tuple[str, str], Entry] = {}
        self.told: dict[str, Filter] = {}
        self.messages = 0

    def toggle(self, entry: Entry) -> None:
        """Add an entry, or remove it if it is there."""
        if self.entries.pop(entry[:2], None) is None:
            self.entries[entry[:2]] = entry
            self.ledger.add(entry)
        else:
            self.ledger.remove(entry)

    def tell(self) -> None:
        """Take the difference, and see that it is told without a gap."""
        owed = dict(self.ledger.owed())
        difference = self.ledger.take()
        self.messages += len(difference.subscribe) + len(difference.unsubscribe)
        after = meaning_of_all(owed.values())
        apply_message_by_message(self.told, difference, after)
        assert self.told == owed
        assert self.ledger.owed() == owed
        assert self.ledger.difference() == Difference([], [])
        if self.algorithm != "flooding":
            assert after == self.wanted()

    def wanted(self) -> int:
        """What the entries mean together."""
        return meaning_of_all(entry.filter for entry in self.entries.values())


def run(neighbour: Neighbour, pool: list[Filter], seed: int) -> None:
    """Add and remove entries of several destinations, and tell the neighbour now and then."""
    random = Random(seed)
    for _ in range(random.choice([5, 20, 60])):
        number = random.randrange(len(pool))
        neighbour.toggle(Entry(random.choice(DESTINATIONS), f"s{number}", pool[number]))
        if random.random() < 0.4:
            neighbour.tell()
    neighbour.tell()


@pytest.mark.parametrize("algorithm", DEFINITIONS)
@given(pool=pools, seed=seeds)
def test_what_was_told_is_what_the_definition_says(
    algorithm: str, pool: list[Filter], seed: int
) -> None:
    neighbour = Neighbour(algorithm)
    run(neighbour, pool, seed)
    assert neighbour.told == DEFINITIONS[algorithm](neighbour.entries.values())


@pytest.mark.parametrize("algorithm", FILTERING)
@given(pool=patterned_pools, seed=seeds)
def test_with_text_patterns_nothing_is_missed_and_order_does_not_matter(
    algorithm: str, pool: list[Filter], seed: int
) -> None:
    neighbour = Neighbour(algorithm)
    run(neighbour, pool, seed)
    entries = list(neighbour.entries.values())
    Random(seed).shuffle(entries)
    afresh = strategy(algorithm)
    for entry in entries:
        afresh.add(entry)
    assert afresh.owed() == neighbour.told


@given(pool=patterned_pools, numbers=st.lists(st.integers(0, 11), max_size=20))
def test_tables_shrink_from_simple_to_merging(pool: list[Filter], numbers: list[int]) -> None:
    sizes = []
    for algorithm in ("merging", "covering", "identity", "simple"):
        told = strategy(algorithm)
        for at, number in enumerate(numbers):
            told.add(Entry("A", f"s{at}", pool[number % len(pool)]))
        sizes.append(len(told.owed()))
    assert sizes == sorted(sizes)


@given(pool=pools, seed=seeds)
def test_identity_never_says_more_than_simple(pool: list[Filter], seed: int) -> None:
    neighbours = [Neighbour("identity"), Neighbour("simple")]
    for neighbour in neighbours:
        run(neighbour, pool, seed)
    assert neighbours[0].messages <= neighbours[1].messages


@pytest.mark.parametrize("algorithm", FILTERING)
def test_what_one_event_takes_back_is_not_told(algorithm: str) -> None:
    entry = Entry("A", "s", Filter("a = 1"))
    told = EdgeLedger("X", algorithm)
    told.add(entry)
    told.remove(entry)
    assert told.take() == Difference([], [])
    told.add(entry)
    told.take()
    told.remove(entry)
    told.add(entry)
    assert told.take() == Difference([], [])


@pytest.mark.parametrize("algorithm", ["identity", "covering", "merging"])
def test_subscriptions_come_before_unsubscriptions(algorithm: str) -> None:
    wide, narrow = Filter("a > 0"), Filter("b = 1")
    told = EdgeLedger("X", algorithm)
    told.add(Entry("A", "1", wide))
    assert told.take() == Difference([(wide.id, wide)], [])
    told.remove(Entry("A", "1", wide))
    told.add(Entry("A", "2", narrow))
    assert told.take() == Difference([(narrow.id, narrow)], [wide.id])


def test_a_difference_is_true_if_there_is_something_to_tell() -> None:
    assert not Difference([], [])
    assert Difference([], ["a"])
    assert Difference([("a", Filter("true"))], [])


@pytest.mark.slow
def test_order_of_messages_does_not_depend_on_the_hash_seed() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(said) == 1
    assert said.pop().count("Difference(") == 4 * 200


_SCRIPT = """
from random import Random
from sapwood.filters import Filter
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.strategy import Entry

pool = [Filter(f"{a} = {i} and {b} > {j}") for i in range(3) for j in range(3)
        for a, b in ("xy", "xz", "yz")] + [Filter(f"x = {i} or y = {i}") for i in range(5)]
for algorithm in ("simple", "identity", "covering", "merging"):
    told, there, random = EdgeLedger('X', algorithm), set(), Random(7)
    for _ in range(200):
        number, destination = random.randrange(len(pool)), random.choice("AB")
        entry = Entry(destination, f"s{number}", pool[number])
        if (number, destination) in there:
            there.remove((number, destination))
            told.remove(entry)
        else:
            there.add((number, destination))
            told.add(entry)
        print(told.take())
"""
