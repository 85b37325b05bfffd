"""Who publishes and subscribes in the demonstration."""

from __future__ import annotations

from collections import Counter
from random import Random

from sapwood.demo.workload import SYMBOLS, choose, publishers, subscribers
from sapwood.filters import Filter, Notification

BROKERS = tuple(f"B{number}" for number in range(1, 9))


def test_popular_ones_are_chosen_most() -> None:
    random = Random(1)
    counts = Counter(choose(SYMBOLS, random) for _ in range(20_000))
    first, second, third = (counts[symbol] for symbol in SYMBOLS[:3])
    assert 1.8 < first / second < 2.2
    assert 2.7 < first / third < 3.3


def test_publishers_are_spread_and_share_the_rate() -> None:
    found = publishers(BROKERS, 100.0)
    assert sum(one.rate for one in found) == 100.0
    assert len({one.broker for one in found}) == len(found)
    random = Random(1)
    for one in found:
        Notification(one.draw(random))


def test_every_broker_has_subscribers_with_filters_that_parse() -> None:
    found = subscribers(BROKERS, 16, Random(1))
    assert {one.broker for one in found} == set(BROKERS)
    assert len({one.name for one in found}) == 16
    for one in found:
        Filter(one.filter)


def test_something_matches_most_filters() -> None:
    random = Random(1)
    drawn = [one.draw(random) for one in publishers(BROKERS, 1.0) for _ in range(2000)]
    filters = [Filter(one.filter) for one in subscribers(BROKERS, 30, random)]
    hit = sum(any(filter.matches(one) for one in drawn) for filter in filters)
    assert hit >= 28


def test_the_same_seed_gives_the_same_cast() -> None:
    assert subscribers(BROKERS, 16, Random(7)) == subscribers(BROKERS, 16, Random(7))
