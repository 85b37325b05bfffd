"""The counting baseline gives the answers of a scan: otherwise it would be no baseline."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given

from matching.drawing import any_filter, events, randoms
from matching.model import Model, assert_same
from sapwood.bench import counting
from sapwood.bench.counting import CountingIndex
from sapwood.filters import Filter
from sapwood.matching.workload import WORKLOADS, Workload


@pytest.mark.slow
@given(randoms)
def test_it_finds_what_a_scan_finds(random: Random) -> None:
    index, model = CountingIndex(), Model()
    for key in range(random.randint(0, 60)):
        filter_ = any_filter(random)
        index.add(key, filter_)
        model.entries[key] = filter_, None
    batch = events(random, 12)
    for event, found in zip(batch, index.match_batch(batch), strict=True):
        assert_same(found, model.match(event), event)
        assert index.match(event) == found


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKLOADS)
def test_it_finds_what_a_scan_finds_on_workloads(name: str) -> None:
    workload = Workload(name)
    index, model = CountingIndex(), Model()
    for key, filter_ in enumerate(workload.filters(400)):
        index.add(key, filter_)
        model.entries[key] = filter_, None
    batch = workload.events(60)
    found = index.match_batch(batch)
    assert any(found)
    for event, keys in zip(batch, found, strict=True):
        assert_same(keys, model.match(event), event)


@pytest.mark.slow
def test_a_batch_that_finds_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_FOUND_MIN", 1)
    index = CountingIndex()
    for key in range(10):
        index.add(key, Filter("a = 1 or b > 2"))
    assert index.match_batch([{"a": 1, "b": 3}] * 50) == [list(range(10))] * 50


def test_it_is_complete_once_it_has_matched() -> None:
    index = CountingIndex()
    assert index.match({"a": 1}) == []
    with pytest.raises(AssertionError, match="complete once it has matched"):
        index.add(1, Filter("true"))
