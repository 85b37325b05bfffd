"""Covering-based routing with leases: which covers count (T3.8)."""

from __future__ import annotations

import pytest

from protocol.stabilize.published.publishing import new_broker, subscribe, tick, unsubscribe

ONES = ["lease-covering-1", "lease-covering-1-printed"]
TWOS = ["lease-covering-2", "lease-covering-2-printed"]


@pytest.mark.parametrize("scheme", ONES + TWOS)
def test_what_is_covered_does_not_travel(scheme: str) -> None:
    broker = new_broker(scheme)
    assert subscribe(broker, "a", "x > 0", 1.0) == ["N + x > 0", "M + x > 0"]
    assert subscribe(broker, "b", "x > 5", 2.0) == []
    assert subscribe(broker, "b", "x > 5", 3.0) == []


@pytest.mark.parametrize("scheme", ONES)
def test_the_first_variant_passes_on_what_a_cover_hides_that_was_not_renewed(scheme: str) -> None:
    broker = new_broker(scheme)
    subscribe(broker, "a", "x > 0", 1.0)
    subscribe(broker, "b", "x > 5", 2.0)
    tick(broker, 10.0)
    assert subscribe(broker, "b", "x > 5", 12.0) == ["N + x > 5", "M + x > 5"]
    assert subscribe(broker, "a", "x > 0", 13.0) == ["N + x > 0", "M + x > 0"]
    assert subscribe(broker, "b", "x > 5", 14.0) == []


@pytest.mark.parametrize("scheme", TWOS)
def test_the_second_does_not(scheme: str) -> None:
    broker = new_broker(scheme)
    subscribe(broker, "a", "x > 0", 1.0)
    subscribe(broker, "b", "x > 5", 2.0)
    tick(broker, 10.0)
    assert subscribe(broker, "b", "x > 5", 12.0) == []


def test_what_was_passed_on_aside_is_taken_back_when_it_ends() -> None:
    broker = new_broker("lease-covering-1")
    subscribe(broker, "a", "x > 0", 1.0)
    subscribe(broker, "b", "x > 5", 2.0)
    tick(broker, 10.0)
    subscribe(broker, "b", "x > 5", 12.0)
    assert unsubscribe(broker, "b", "x > 5", 13.0) == ["N - x > 5", "M - x > 5"]


@pytest.mark.parametrize("scheme", ONES + TWOS)
def test_what_a_cover_hid_is_told_before_the_cover_is_taken_back(scheme: str) -> None:
    broker = new_broker(scheme)
    subscribe(broker, "a", "x > 0", 1.0)
    subscribe(broker, "b", "x > 5", 2.0)
    assert unsubscribe(broker, "a", "x > 0", 3.0) == [
        "N + x > 5",
        "N - x > 0",
        "M + x > 5",
        "M - x > 0",
    ]


def test_a_cover_that_expires_lets_go_at_once_but_printed_only_with_the_next_renewal() -> None:
    said = {}
    for scheme in TWOS:
        broker = new_broker(scheme)
        subscribe(broker, "a", "x > 0", 1.0)
        subscribe(broker, "b", "x > 5", 2.0)
        tick(broker, 10.0)
        subscribe(broker, "b", "x > 5", 12.0)
        said[scheme] = (tick(broker, 20.0), subscribe(broker, "b", "x > 5", 21.0))
    told = ["N + x > 5", "M + x > 5"]
    assert said["lease-covering-2"] == (
        ["N + x > 5", "N - x > 0", "M + x > 5", "M - x > 0"],
        told,
    )
    assert said["lease-covering-2-printed"] == ([], told)
