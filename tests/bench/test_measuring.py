"""Clocks and figures of benchmarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.bench import measuring
from sapwood.bench.measuring import (
    Stopwatch,
    batches_of,
    in_chunks,
    in_turns,
    microseconds_each,
    most_resident_megabytes,
    per_second,
    percentile,
    resident_megabytes,
)


class Clock:
    """Processor time that passes only when something is done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        monkeypatch.setattr(measuring, "process_time", lambda: self.seconds)
        monkeypatch.setattr(measuring, "process_time_ns", lambda: round(self.seconds * 1e9))

    def work(self, items: list[int]) -> None:
        self.seconds += 0.01 * len(items)


def test_batches_have_one_size() -> None:
    assert batches_of(range(7), 3) == [[0, 1, 2], [3, 4, 5]]
    assert batches_of(range(2), 3) == []


def test_a_rate_is_items_by_the_time_they_took(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    assert per_second(clock.work, [[1, 2], [3, 4, 5]], seconds=0.5) == pytest.approx(100)
    assert 0.5 <= clock.seconds < 0.54
    with pytest.raises(ValueError, match="no batches"):
        per_second(clock.work, [], seconds=0.5)


def test_contenders_have_their_turn_in_every_round() -> None:
    order: list[str] = []

    def contender(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = in_turns({"a": lambda: contender("a"), "b": lambda: contender("b")}, rounds=2)
    assert order == ["a", "b", "a", "b"]
    assert found == {"a": [1.0, 3.0], "b": [2.0, 4.0]}


def test_each_item_is_timed_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    assert microseconds_each(clock.work, [[1], [1, 2]]) == pytest.approx([10_000, 20_000])


def test_a_stopwatch_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, watch = Clock(monkeypatch), Stopwatch()
    for items in ([1], [1, 2]):
        with watch:
            clock.work(items)
        clock.work([1, 2, 3])
    assert watch.seconds == pytest.approx(0.03)


def test_percentiles_are_by_nearest_rank() -> None:
    figures = [float(number) for number in range(100, 0, -1)]
    assert percentile(figures, 0.5) == 50
    assert percentile(figures, 0.99) == 99
    assert percentile(figures, 1.0) == 100
    assert percentile([7.0], 0.99) == 7
    assert percentile([1.0, 2.0, 3.0], 0.5) == 2


def test_chunks_take_no_more_than_asked_for() -> None:
    items = iter(range(10))
    assert list(in_chunks(items, 5, 2)) == [[0, 1], [2, 3], [4]]
    assert next(items) == 5
    assert list(in_chunks(items, 100, 3)) == [[6, 7, 8], [9]]


def test_memory_is_that_of_this_process() -> None:
    before = resident_megabytes()
    ballast = bytearray(b"x" * 50_000_000)
    grown = resident_megabytes() - before
    assert 40 < grown < 150
    assert most_resident_megabytes() >= before + 40
    assert len(ballast) == 50_000_000


def test_memory_is_told_without_the_proc_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_STATUS", Path("no such file"))
    assert resident_megabytes() == most_resident_megabytes() > 5
