"""Leased tables of one broker: what is renewed, what expires, and who is told."""

from __future__ import annotations

import pytest

from protocol.stabilize.published.publishing import (
    entries,
    new_broker,
    subscribe,
    tick,
    told,
    unsubscribe,
)
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Send
from sapwood.protocol.events import ClientDown, LinkDown, LinkUp
from sapwood.protocol.messages import Refused, Subscribe, Unsubscribe
from sapwood.protocol.stabilize.published.schemes import SCHEMES

LEASES = [name for name in SCHEMES if name.startswith("lease")]
TELLING = [name for name in LEASES if "printed" not in name and name != "lease-flooding"]


@pytest.mark.parametrize("scheme", TELLING)
def test_a_subscription_is_told_and_its_renewal_passed_on(scheme: str) -> None:
    broker = new_broker(scheme)
    assert subscribe(broker, "a", "x = 1", 1.0) == ["N + x = 1", "M + x = 1"]
    assert subscribe(broker, "a", "x = 1", 5.0) == ["N + x = 1", "M + x = 1"]
    assert unsubscribe(broker, "a", "x = 1", 6.0) == ["N - x = 1", "M - x = 1"]


@pytest.mark.parametrize("scheme", TELLING)
def test_what_is_not_renewed_expires_and_those_who_were_told_are_told(scheme: str) -> None:
    broker = new_broker(scheme)
    subscribe(broker, "a", "x = 1", 1.0)
    subscribe(broker, "N", "y = 5", 1.0)
    assert broker.next_at == 10.0
    assert tick(broker, 10.0) == []
    subscribe(broker, "a", "x = 1", 12.0)
    assert tick(broker, 20.0) == ["M - y = 5"]
    assert entries(broker) == ["a x = 1"]
    assert broker.published.report()["expired"] == 1


@pytest.mark.parametrize("scheme", LEASES)
def test_a_tick_before_its_time_changes_nothing(scheme: str) -> None:
    broker = new_broker(scheme)
    subscribe(broker, "a", "x = 1", 1.0)
    before = broker.published.remember()
    assert tick(broker, 9.0) == []
    assert broker.published.remember() == before


@pytest.mark.parametrize("scheme", TELLING)
def test_a_client_that_goes_takes_its_entries_along(scheme: str) -> None:
    broker = new_broker(scheme)
    subscribe(broker, "a", "x = 1", 1.0)
    subscribe(broker, "b", "x = 1", 2.0)
    broker.handle(ClientDown("a"), 3.0)
    assert entries(broker) == ["b x = 1"]
    assert subscribe(broker, "b", "x = 1", 5.0)[-2:] == ["N + x = 1", "M + x = 1"]


def test_a_neighbour_that_goes_takes_its_entries_along() -> None:
    broker = new_broker("lease-identity")
    subscribe(broker, "N", "x = 1", 1.0)
    subscribe(broker, "a", "x = 1", 2.0)  # told to N only: M knows it
    broker.handle(LinkDown("N"), 3.0)
    assert entries(broker) == ["a x = 1"]
    assert subscribe(broker, "a", "x = 1", 5.0) == ["M + x = 1"]
    broker.handle(LinkUp("N"), 6.0)
    assert subscribe(broker, "a", "x = 1", 7.0) == ["M + x = 1", "N + x = 1"]


def test_a_filter_that_cannot_be_read_renews_nothing() -> None:
    broker = new_broker("lease-simple")
    (effect,) = told(broker, "a", Subscribe("1", "x ="), 1.0)
    assert isinstance(effect, Send)
    assert isinstance(effect.message, Refused)
    assert broker.drops.counts[Drop.MALFORMED] == 1
    assert len(broker.published.remember().entries) == 0


def test_the_end_of_what_is_not_there_is_told_to_nobody() -> None:
    broker = new_broker("lease-identity")
    assert told(broker, "N", Unsubscribe("?"), 1.0) == []
    assert broker.drops.counts[Drop.UNSUBSCRIBED] == 1


def test_unsubscriptions_may_be_left_to_expire() -> None:
    broker = new_broker("lease-identity", ends=False)
    subscribe(broker, "a", "x = 1", 1.0)
    assert unsubscribe(broker, "a", "x = 1", 2.0) == []
    assert entries(broker) == []
    subscribe(broker, "N", "x = 2", 3.0)
    assert unsubscribe(broker, "N", "x = 2", 4.0) == ["M - x = 2"]  # a broker has said so


def test_unsubscriptions_left_to_expire_uncover_at_once() -> None:
    broker = new_broker("lease-covering-2", ends=False)
    subscribe(broker, "a", "x > 0", 1.0)
    assert subscribe(broker, "b", "x > 5", 1.0) == []
    assert unsubscribe(broker, "a", "x > 0", 2.0) == ["N + x > 5", "M + x > 5"]


@pytest.mark.parametrize("scheme", TELLING)
def test_a_lease_of_its_own_travels_with_every_renewal(scheme: str) -> None:
    broker = new_broker(scheme)
    assert subscribe(broker, "a", "x = 1", 1.0, lease=3.0) == ["N + x = 1 for 3", "M + x = 1 for 3"]
    assert broker.next_at == 4.0
    assert subscribe(broker, "a", "x = 1", 3.0, lease=3.0) == ["N + x = 1 for 3", "M + x = 1 for 3"]
    tick(broker, 4.0)
    assert tick(broker, 7.0) == ["N - x = 1", "M - x = 1"]


def test_who_takes_over_with_another_lease_tells_it_at_once() -> None:
    broker = new_broker("lease-identity")
    subscribe(broker, "a", "x = 1", 1.0, lease=3.0)
    assert subscribe(broker, "b", "x = 1", 1.0) == []
    assert unsubscribe(broker, "a", "x = 1", 2.0) == ["N + x = 1", "M + x = 1"]


@pytest.mark.parametrize("scheme", LEASES)
def test_a_state_that_was_kept_can_be_put_back(scheme: str) -> None:
    broker = new_broker(scheme)
    for number, source in enumerate(("a", "b", "N", "M")):
        subscribe(broker, source, f"x > {number}", 1.0 + number, lease=float(number % 2))
    kept = broker.published.remember()
    for source in ("a", "N"):
        unsubscribe(broker, source, "x > 0", 6.0)
    subscribe(broker, "c", "x = 9", 7.0)
    broker.published.recall(kept)
    assert broker.published.remember() == kept
    assert [*broker.forwarding.problems(broker.subscriptions)] == []
    other = new_broker(scheme)
    other.published.recall(kept)
    for source, text in (("a", "x > 0"), ("N", "x > 2"), ("c", "x > 3")):
        assert subscribe(broker, source, text, 8.0) == subscribe(other, source, text, 8.0)
    assert tick(broker, 10.0) == tick(other, 10.0)
    assert tick(broker, 20.0) == tick(other, 20.0)


def test_what_a_client_ends_is_what_it_asked_for_whatever_became_of_its_entry() -> None:
    broker = new_broker("lease-identity", recording=True)
    told(broker, "a", Subscribe("1", "x = 1"), 1.0)
    spoilt = broker.published.remember()
    broker.published.recall(type(spoilt)(entries=()))
    ended = told(broker, "a", Unsubscribe("1"), 2.0)
    assert [getattr(one, "fields", None) for one in ended] == [{"client": "a", "filter": "x = 1"}]


def test_a_claim_is_recorded_once_however_often_its_entry_is_lost() -> None:
    broker = new_broker("lease-identity", recording=True)
    told(broker, "a", Subscribe("1", "x = 1"), 1.0)
    broker.published.recall(type(broker.published.remember())(entries=()))
    effects = told(broker, "a", Subscribe("1", "x = 1"), 2.0)
    assert [type(one).__name__ for one in effects] == ["Send", "Send"]
    assert entries(broker) == ["a x = 1"]
