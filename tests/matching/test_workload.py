"""Workloads are what they say: as popular, as selective, and the same every time."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random

import pytest

from sapwood.filters import Filter, check_attributes
from sapwood.matching.workload import WORKLOADS, Popularity, Workload, zipf


def test_a_seed_gives_one_workload() -> None:
    for name in WORKLOADS:
        one, same, other = Workload(name, 1), Workload(name, 1), Workload(name, 2)
        assert list(one.filters(50)) == list(same.filters(50)) != list(other.filters(50))
        assert one.events(50) == same.events(50) != other.events(50)
        assert list(one.filters(20)) == list(islice(one.filters(50), 20))
        assert one.events(20) == one.events(50)[:20]


def test_there_is_no_other_workload() -> None:
    with pytest.raises(ValueError, match="no workload 'odd'; there are plain, mixed"):
        Workload("odd")


def predicates(filters: list[Filter]) -> Counter[str]:
    """How often each operator stands in the text of the filters."""
    words = ("<>", " in ", "prefix", "suffix", "contains", "is not null", "between", " or ", " = ")
    texts = [str(filter_) for filter_ in filters]
    return Counter({word.strip(): sum(text.count(word) for text in texts) for word in words})


def test_plain_has_the_shares_it_should_have() -> None:
    filters = list(Workload("plain").filters(3000))
    sizes = Counter(len(box) for filter_ in filters for box in filter_.boxes)
    assert set(sizes) == {3, 4, 5}
    assert all(900 < size < 1100 for size in sizes.values())
    found = predicates(filters)
    total = sum(size * count for size, count in sizes.items())
    assert found["="] / total == pytest.approx(0.5, abs=0.02)
    assert found["between"] / total == pytest.approx(0.4, abs=0.02)
    assert found["prefix"] / total == pytest.approx(0.1, abs=0.02)
    assert found["="] + found["between"] + found["prefix"] == total


def test_mixed_has_every_operator() -> None:
    filters = list(Workload("mixed").filters(1000))
    found = predicates(filters)
    assert min(found.values()) > 20, found
    assert 150 < sum(len(filter_.boxes) > 1 for filter_ in filters) < 250


def test_events_have_five_to_twenty_of_twenty_attributes() -> None:
    events = Workload("plain").events(4000)
    assert Counter(len(event) for event in events).keys() == set(range(5, 21))
    popularity = Counter(name for event in events for name in event)
    assert len(popularity) == 20
    assert popularity.most_common(1)[0][1] > 3900
    assert min(popularity.values()) < 2200
    for event in events[:100]:
        check_attributes(event)
    kinds = Counter(type(value) for value in events_with_all(events).values())
    assert kinds == {str: 12, int: 4, float: 4}


def events_with_all(events: list[dict[str, bool | int | float | str]]) -> dict[str, object]:
    return dict(next(event for event in events if len(event) == 20))


def test_the_larger_weight_is_drawn_more_often() -> None:
    random = Random(1)
    drawn = Counter(Popularity("abc", [3, 1, 0]).draw(random) for _ in range(4000))
    assert drawn["a"] == pytest.approx(3000, rel=0.1)
    assert drawn["c"] == 0
    ranks = Counter(zipf(range(4), 1.0).draw(random) for _ in range(4000))
    assert ranks[0] / ranks[3] == pytest.approx(4, rel=0.3)
