"""Simple routing: each subscription by itself, also where ids are not what they should be."""

from __future__ import annotations

from random import Random

from hypothesis import given

from routing.near import meaning_of_all, pools, seeds
from sapwood.filters import Filter
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.strategy import Difference, Entry

ONE, TWO = Filter("a = 1"), Filter("a = 2")


def test_every_subscription_is_told_under_its_id() -> None:
    told = EdgeLedger("X", "simple")
    told.add(Entry("A", "1", ONE))
    told.add(Entry("A", "2", ONE))
    assert told.take() == Difference([("1", ONE), ("2", ONE)], [])
    told.remove(Entry("A", "1", ONE))
    assert told.take() == Difference([], ["1"])


def test_one_id_with_one_filter_is_one_subscription_wherever_it_comes_from() -> None:
    told = EdgeLedger("X", "simple")
    told.add(Entry("A", ONE.id, ONE))
    told.add(Entry("B", ONE.id, ONE))
    told.remove(Entry("A", ONE.id, ONE))
    assert told.take() == Difference([(ONE.id, ONE)], [])
    told.remove(Entry("B", ONE.id, ONE))
    assert told.take() == Difference([], [ONE.id])


def test_a_filter_replaced_under_its_id_is_told_in_place() -> None:
    told = EdgeLedger("X", "simple")
    told.add(Entry("A", "1", ONE))
    told.take()
    told.remove(Entry("A", "1", ONE))
    told.add(Entry("A", "1", TWO))
    told.add(Entry("A", "2", ONE))
    assert told.take() == Difference([("2", ONE), ("1", TWO)], [])


def test_different_filters_under_one_id_are_told_apart() -> None:
    told = EdgeLedger("X", "simple")
    told.add(Entry("A", "1", ONE))
    assert told.take() == Difference([("1", ONE)], [])
    told.add(Entry("B", "1", TWO))
    apart = [(f"1/{ONE.id}", ONE), (f"1/{TWO.id}", TWO)]
    assert told.take() == Difference(apart, ["1"])
    told.remove(Entry("A", "1", ONE))
    assert told.take() == Difference([("1", TWO)], [f"1/{ONE.id}", f"1/{TWO.id}"])


@given(pool=pools, seed=seeds)
def test_ids_chosen_to_collide_lose_nothing(pool: list[Filter], seed: int) -> None:
    """Also if someone chooses as id what another is told under because of a collision."""
    random = Random(seed)
    told, entries = EdgeLedger("X", "simple"), dict[tuple[str, str], Entry]()
    for _ in range(40):
        filter, other = random.choice(pool), random.choice(pool)
        entry_id = random.choice(["1", f"1/{other.id}", f"1/{other.id}/{filter.id}"])
        entry = Entry(random.choice("ABC"), entry_id, filter)
        known = entries.pop(entry[:2], None)
        if known is None:
            entries[entry[:2]] = entry
            told.add(entry)
        else:
            told.remove(known)
        wanted = meaning_of_all(entry.filter for entry in entries.values())
        assert meaning_of_all(told.owed().values()) == wanted
        afresh = EdgeLedger("X", "simple")
        for entry in sorted(entries.values(), key=lambda entry: entry[:2]):
            afresh.add(entry)
        assert afresh.owed() == told.owed()
