"""The ring of buckets in which traffic is counted."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.protocol.optimize.gain import Concerned
from sapwood.protocol.optimize.traffic import BUCKETS, SETS_MAX, Bucket, Traffic

LONGEST = 80.0
AB = ("a", "b")
A = ("", "a")


def counted(traffic: Traffic, since: float, now: float) -> dict[tuple[str, ...], float]:
    window = traffic.window(since, now, LONGEST)
    return {} if window is None else window.sets


def test_buckets_follow_each_other_and_age() -> None:
    traffic = Traffic()
    for now in range(200):
        traffic.turn(float(now), LONGEST)
        traffic.fold({AB: (1, 10)}, float(now))
        assert len(traffic.buckets) <= BUCKETS + 1
    window = traffic.window(0.0, 200.0, LONGEST)
    assert window is not None
    assert window.begin == 120.0
    assert window.sets == {AB: 80}
    assert [seconds for seconds, _ in window.parts()] == [10.0] * 8


def test_a_window_begins_where_a_bucket_does() -> None:
    traffic = Traffic()
    traffic.turn(0.0, LONGEST)
    traffic.fold({AB: (5, 50)}, 0.0)
    traffic.turn(3.0, LONGEST, at_once=True)
    traffic.fold({A: (2, 20)}, 3.0)
    assert counted(traffic, 3.0, 9.0) == {A: 2}
    assert counted(traffic, 2.0, 9.0) == {A: 2}
    assert counted(traffic, 0.0, 9.0) == {A: 2, AB: 5}
    assert counted(traffic, 4.0, 9.0) == {}


def test_many_changes_make_buckets_coarser_and_lose_nothing() -> None:
    traffic = Traffic()
    for now in range(40):
        traffic.turn(float(now), LONGEST, at_once=True)
        traffic.fold({AB: (1, 1)}, float(now))
    assert len(traffic.buckets) == BUCKETS + 1
    assert counted(traffic, 0.0, 40.0) == {AB: 40}
    assert traffic.buckets[-1].begin == 39.0


def test_the_rarest_sets_are_given_up_and_counted() -> None:
    traffic = Traffic()
    counts: dict[Concerned, tuple[int, int]] = {AB: (1, 1)}
    counts |= {("", f"n{number:05}"): (2 + number, 1) for number in range(SETS_MAX)}
    traffic.fold(counts, 0.0)
    window = traffic.window(0.0, 1.0, LONGEST)
    assert window is not None
    assert len(window.sets) == SETS_MAX
    assert AB not in window.sets
    total = sum(number for number, _ in counts.values())
    assert window.lost_share == 1 / total


def test_counts_are_rewritten_after_a_swap() -> None:
    traffic = Traffic()
    traffic.fold({AB: (5, 50), A: (2, 20), ("", "b"): (1, 10)}, 0.0)
    middle, mover = Traffic(), Traffic()
    middle.fold({AB: (5, 50), A: (2, 20), ("", "b"): (1, 10)}, 0.0)
    middle.swapped("a", "b")
    assert middle.buckets[0].sets == {("", "b"): [3, 30]}
    mover.fold({("", "v"): (5, 50), ("v", "x"): (1, 1)}, 0.0)
    mover.renamed("v", "b")
    assert mover.buckets[0].sets == {("", "b"): [5, 50], ("b", "x"): [1, 1]}


SPOILT: list[Any] = [
    Bucket(float("nan")),
    Bucket(1e9),
    Bucket(0.0, {AB: [-1, 0]}),
    Bucket(0.0, {AB: [1]}),
    Bucket(0.0, {"ab": [1, 1]}),  # type: ignore[dict-item]
    Bucket(0.0, {}, -1),
    None,
]


@pytest.mark.parametrize("spoilt", SPOILT)
def test_what_a_fault_made_of_a_bucket_is_forgotten(spoilt: Any) -> None:
    traffic = Traffic()
    traffic.buckets = [spoilt, Bucket(5.0, {AB: [1, 1]})]
    traffic.turn(6.0, LONGEST)
    assert traffic.buckets == [Bucket(5.0, {AB: [1, 1]})]


def test_wrong_counts_have_left_after_the_longest_window() -> None:
    traffic = Traffic()
    traffic.fold({AB: (10**9, 1)}, 0.0)
    for now in range(0, 101, 5):
        traffic.turn(float(now), LONGEST)
    assert counted(traffic, 0.0, 100.0) == {}
