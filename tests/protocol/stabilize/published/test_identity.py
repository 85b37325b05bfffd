"""Identity-based routing with leases: one renews for all, and another takes over (T3.7)."""

from __future__ import annotations

from protocol.stabilize.published.publishing import (
    entries,
    new_broker,
    subscribe,
    tick,
    unsubscribe,
)

BOTH = ["N + x = 1", "M + x = 1"]


def test_one_renews_for_all() -> None:
    broker = new_broker("lease-identity")
    assert subscribe(broker, "a", "x = 1", 1.0) == BOTH
    assert subscribe(broker, "b", "x = 1", 2.0) == []
    assert subscribe(broker, "b", "x = 1", 6.0) == []
    assert subscribe(broker, "a", "x = 1", 7.0) == BOTH


def test_the_clock_does_not_change_who_renews() -> None:
    broker = new_broker("lease-identity")
    subscribe(broker, "a", "x = 1", 1.0)
    subscribe(broker, "b", "x = 1", 2.0)
    tick(broker, 10.0)
    assert subscribe(broker, "b", "x = 1", 11.0) == []
    assert subscribe(broker, "a", "x = 1", 12.0) == BOTH


def test_printed_the_first_after_the_clock_renews() -> None:
    broker = new_broker("lease-identity-printed")
    assert subscribe(broker, "a", "x = 1", 1.0) == BOTH
    assert subscribe(broker, "b", "x = 1", 2.0) == []
    tick(broker, 10.0)
    assert subscribe(broker, "b", "x = 1", 11.0) == BOTH
    assert subscribe(broker, "a", "x = 1", 12.0) == []


def test_a_neighbour_is_not_told_of_what_it_wants_itself_and_others_are_told_once() -> None:
    """Algorithm 1: with one other destination, which is a neighbour, only that one is told."""
    for scheme in ("lease-identity", "lease-identity-printed"):
        broker = new_broker(scheme)
        assert subscribe(broker, "N", "x = 1", 1.0) == ["M + x = 1"]
        assert subscribe(broker, "M", "x = 1", 2.0) == ["N + x = 1"]
        assert subscribe(broker, "a", "x = 1", 3.0) == []


def test_who_was_renewed_before_takes_over_silently() -> None:
    broker = new_broker("lease-identity")
    subscribe(broker, "a", "x = 1", 1.0)
    subscribe(broker, "b", "x = 1", 2.0)
    subscribe(broker, "a", "x = 1", 5.0)
    assert unsubscribe(broker, "a", "x = 1", 6.0) == []
    assert subscribe(broker, "b", "x = 1", 8.0) == BOTH


def test_if_nobody_was_one_renewal_is_sent_at_once() -> None:
    broker = new_broker("lease-identity")
    subscribe(broker, "a", "x = 1", 1.0)
    subscribe(broker, "b", "x = 1", 2.0)
    assert unsubscribe(broker, "a", "x = 1", 6.0) == BOTH
    assert subscribe(broker, "b", "x = 1", 7.0) == BOTH


def test_what_expires_is_handed_over_too() -> None:
    broker = new_broker("lease-identity")
    subscribe(broker, "a", "x = 1", 1.0)
    subscribe(broker, "b", "x = 1", 2.0)
    tick(broker, 10.0)
    subscribe(broker, "b", "x = 1", 12.0)
    assert tick(broker, 20.0) == BOTH  # a is gone, and was the one to renew
    assert entries(broker) == ["b x = 1"]


def test_printed_expiry_is_silent_and_hides_the_end_of_what_is_real() -> None:
    """A bogus entry keeps the end of a real one from the neighbours; then it expires (N5)."""
    answers = {}
    for scheme in ("lease-identity", "lease-identity-printed"):
        broker = new_broker(scheme)
        subscribe(broker, "a", "x = 1", 1.0)
        subscribe(broker, "b", "x = 1", 1.0)  # b never asked for it
        assert unsubscribe(broker, "a", "x = 1", 2.0) == []
        tick(broker, 10.0)
        answers[scheme] = tick(broker, 20.0)
    assert answers["lease-identity"] == ["N - x = 1", "M - x = 1"]
    assert answers["lease-identity-printed"] == []
