"""Deliveries are compared over the same lengths, and what crosses the new link is told apart."""

from __future__ import annotations

import pytest

from bench.live.living import delivered, swapped
from sapwood.bench.live import measuring
from sapwood.bench.live.clients import Sample
from sapwood.bench.live.measuring import Length, figures, weighted_percentile

CHANGES = [swapped(10.0, 11.0)]


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "SAMPLES_MIN", 1)


UNTIL = 13.0
"""When the quiet time after the change ends; the one before it ends at 9.9."""


def test_a_delivery_belongs_to_a_change_if_it_was_under_way_at_any_moment_of_it() -> None:
    samples = [
        delivered("A", "B", 9.0, 0.5),
        delivered("A", "B", 9.8, 0.3),
        delivered("A", "B", 10.9, 0.2),
        delivered("A", "B", 12.1, 0.1),
    ]
    assert figures(samples, CHANGES, UNTIL).lengths == [Length(1, 3, 2, 0.5, 0.3)]


def test_quiet_deliveries_are_chosen_by_the_same_rule() -> None:
    """Else slow ones would be there more often during changes than else, whatever these do."""
    samples = [
        delivered("A", "B", 8.0, 0.1),
        delivered("A", "B", 8.0, 1.0),
        delivered("A", "B", 10.5, 0.1),
        delivered("A", "B", 11.2, 0.1),
    ]
    assert figures(samples, CHANGES, UNTIL).lengths == [Length(1, 1, 1, 1.0, 0.1)]


def test_the_longer_of_both_ways_is_the_length_during_a_change() -> None:
    """B to C is one link before and two after, A to C two before and one after."""
    samples: list[Sample] = []
    for source in "AB":
        samples += [delivered(source, "C", at, 0.1) for at in (9.0, 12.5)]
        samples.append(delivered(source, "C", 10.5, 0.3))
    found = figures(samples, CHANGES, UNTIL)
    assert found.lengths == [Length(2, 2, 2, 0.1, 0.3)]
    assert found.lengths[0].ratio == pytest.approx(3.0)
    assert found.seconds == (1.0, 1.0)


def test_what_crosses_the_new_link_is_told_apart() -> None:
    samples = [delivered("A", other, at, 0.1) for other in "BC" for at in (9.0, 10.5, 12.5)]
    assert figures(samples, CHANGES, UNTIL).not_crossing == [Length(1, 3, 1, 0.1, 0.1)]


def test_all_lengths_together_are_weighted_as_they_are_during_changes() -> None:
    """Many short ones in quiet times do not make the long ones seem slow."""
    samples = [delivered("A", "B", 9.0 + at / 1000, 0.1) for at in range(100)]
    samples += [delivered("A", "C", 9.0, 0.5)]
    samples += [delivered("A", "B", 10.5, 0.1), delivered("A", "C", 10.5, 0.5)]
    found = figures(samples, CHANGES, UNTIL).together
    assert found == Length(0, 101, 2, 0.5, 0.5)
    assert not figures([samples[0]], CHANGES, UNTIL).together.during


def test_one_bad_moment_spoils_one_ratio() -> None:
    changes = [swapped(10.0 * at, 10.0 * at + 1.0) for at in range(1, 4)]
    samples = [delivered("A", "B", 10.0 * at + by, 0.1) for at in range(1, 5) for by in (-1.0, 0.5)]
    samples.append(delivered("A", "B", 20.4, 0.4))
    found = figures(samples, changes, 39.5)
    assert found.ratios == pytest.approx((1.0, 1.0, 4.0))
    assert found.together.ratio == pytest.approx(4.0)


def test_weights_count() -> None:
    assert weighted_percentile([(1.0, 98.0), (2.0, 1.0), (3.0, 1.0)], 0.99) == 2.0
    assert weighted_percentile([(1.0, 1.0), (2.0, 1.0), (2.0, 98.0)], 0.99) == 2.0
    assert weighted_percentile([(1.0, 99.0), (2.0, 1.0)], 0.99) == 1.0


def test_throughput_is_that_of_pairs_that_do_not_cross() -> None:
    changes = [swapped(11.0, 12.0), swapped(13.0, 14.0)]
    steady = [delivered("A", "B", 10.0 + at / 10, 0.05) for at in range(50)]
    held = [one for one in steady if not 12.9 <= one.published_at <= 13.9]
    crossing = [delivered("A", "C", 12.5, 0.0)]
    assert figures([*steady, *crossing], changes, 15.0).throughput == pytest.approx(1.0, abs=0.05)
    assert figures([*held, *crossing], changes, 15.0).throughput == pytest.approx(0.5, abs=0.05)
