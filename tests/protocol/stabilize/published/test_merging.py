"""Merging-based routing with leases: who renews a merger (T3.9)."""

from __future__ import annotations

import pytest

from protocol.stabilize.published.publishing import (
    PERIOD,
    entries,
    new_broker,
    subscribe,
    tick,
    unsubscribe,
)
from sapwood.filters.filter import Filter
from sapwood.protocol.stabilize.published.merging import LeasedMerging1

MERGED = ["N + x in (1, 2)", "M + x in (1, 2)"]
CORRECTED = ["lease-merging-1", "lease-merging-2"]
PRINTED = ["lease-merging-1-printed", "lease-merging-2-printed"]


@pytest.mark.parametrize("scheme", CORRECTED + PRINTED)
def test_a_merger_travels_in_place_of_its_constituents(scheme: str) -> None:
    broker = new_broker(scheme)
    assert subscribe(broker, "a", "x = 1", 1.0) == ["N + x = 1", "M + x = 1"]
    assert subscribe(broker, "b", "x = 2", 2.0) == [
        "N + x in (1, 2)",
        "N - x = 1",
        "M + x in (1, 2)",
        "M - x = 1",
    ]


@pytest.mark.parametrize("scheme", CORRECTED + PRINTED)
def test_perfectly_mergeable_filters_of_one_destination_are_one_entry_next_door(
    scheme: str,
) -> None:
    here, there = new_broker(scheme), new_broker(scheme)
    for number, client in enumerate("abc"):
        subscribe(here, client, f"x = {number}", 1.0 + number)
    for text in ("x in (0, 1, 2)",):
        subscribe(there, "N", text, 5.0)
    assert len(entries(here)) == 3
    assert entries(there) == ["N x in (0, 1, 2)"]
    assert subscribe(here, "a", "x = 0", 6.0) + subscribe(here, "b", "x = 1", 6.5) in (
        ["N + x in (0, 1, 2)", "M + x in (0, 1, 2)"],
        [],
    )


@pytest.mark.parametrize("scheme", CORRECTED)
def test_one_constituent_renews_the_merger_and_another_takes_over(scheme: str) -> None:
    broker = new_broker(scheme)
    subscribe(broker, "a", "x = 1", 1.0)
    subscribe(broker, "b", "x = 2", 2.0)  # told by b, who renews it
    assert subscribe(broker, "a", "x = 1", 5.0) == []
    assert subscribe(broker, "b", "x = 2", 6.0) == MERGED
    assert subscribe(broker, "c", "x in (1, 2)", 7.0) == MERGED  # covers them: they are none now
    assert subscribe(broker, "b", "x = 2", 7.5) == []
    assert unsubscribe(broker, "c", "x in (1, 2)", 8.0) == []
    assert subscribe(broker, "b", "x = 2", 8.5) == []
    assert subscribe(broker, "a", "x = 1", 9.0) == MERGED  # was renewed before c was, last time


def test_the_first_variant_passes_constituents_on_while_the_merger_was_not_renewed() -> None:
    for scheme, aside in (("lease-merging-1", ["N + x = 1", "M + x = 1"]), ("lease-merging-2", [])):
        broker = new_broker(scheme)
        subscribe(broker, "a", "x = 1", 1.0)
        subscribe(broker, "b", "x = 2", 2.0)
        tick(broker, 10.0)
        assert subscribe(broker, "a", "x = 1", 12.0) == aside
        assert subscribe(broker, "b", "x = 2", 13.0) == MERGED
        assert subscribe(broker, "a", "x = 1", 14.0) == []


def test_what_was_passed_on_aside_is_no_constituent_next_door() -> None:
    """It is not renewed in time, so it must not renew anything."""
    broker = new_broker("lease-merging-1")
    subscribe(broker, "N", "x in (1, 2)", 1.0)
    subscribe(broker, "N", "x = 1", 1.5)  # aside
    subscribe(broker, "a", "x = 3", 2.0)
    assert unsubscribe(broker, "a", "x = 3", 2.5)
    assert subscribe(broker, "N", "x = 1", 3.0) == []
    assert subscribe(broker, "N", "x in (1, 2)", 4.0) == ["M + x in (1, 2)"]
    assert isinstance(broker.published, LeasedMerging1)
    lines = [broker.published.lines("subscribed", "M", one) for one in broker.subscriptions.of("N")]
    assert lines == [[Filter("x in (1, 2)").id], []]


@pytest.mark.parametrize("scheme", PRINTED)
def test_printed_a_merger_is_renewed_with_its_last_constituent(scheme: str) -> None:
    broker = new_broker(scheme)
    subscribe(broker, "a", "x = 1", 1.0)
    subscribe(broker, "b", "x = 2", 2.0)
    tick(broker, 10.0)
    aside = ["N + x = 1", "M + x = 1"] if "1-" in scheme else []
    assert subscribe(broker, "a", "x = 1", 12.0) == aside
    assert subscribe(broker, "b", "x = 2", 13.0) == MERGED
    assert subscribe(broker, "a", "x = 1", 14.0) == []


def test_printed_two_renewals_of_a_merger_are_almost_two_periods_apart() -> None:
    """Both clients renew every 9 seconds, within a lease of 10; the merger waits for 18."""
    waits = {}
    for scheme in (*CORRECTED, *PRINTED):
        broker = new_broker(scheme)
        subscribe(broker, "a", "x = 1", 1.0)
        subscribe(broker, "b", "x = 2", 1.5)
        told_at, longest = 1.5, 0.0
        clocks = [(PERIOD * count, "") for count in range(1, 30)]
        renewals = [(1.0 + 9 * count, "a") for count in range(1, 33)]
        renewals += [(1.5 + 9 * count, "b") for count in range(1, 33)]
        for now, who in sorted(clocks + renewals):
            if not who:
                tick(broker, now)
            elif MERGED[0] in subscribe(broker, who, "x = 1" if who == "a" else "x = 2", now):
                longest, told_at = max(longest, now - told_at), now
        waits[scheme] = longest
    assert waits == {
        "lease-merging-1": 9.0,
        "lease-merging-2": 9.0,
        "lease-merging-1-printed": 18.0,
        "lease-merging-2-printed": 18.0,
    }
