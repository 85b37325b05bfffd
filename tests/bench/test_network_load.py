"""The workloads: every message meets exactly one interest, in every way it is stated."""

from __future__ import annotations

from itertools import islice

import pytest

from sapwood.bench.network_load import (
    PAYLOAD_BYTES,
    THRESHOLDS,
    Message,
    Workload,
    fan_out,
    many_topics,
    many_topics_all_different,
    one_to_one,
    payload_of,
    quotes,
)
from sapwood.filters.filter import Filter

WORKLOADS = [
    one_to_one("W1", "one to one"),
    fan_out(),
    many_topics(50),
    many_topics_all_different(50),
    quotes(100),
]


def messages(workload: Workload, count: int) -> list[Message]:
    return [workload.message(number) for number in range(count)]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_message_meets_one_interest_by_filter_and_by_headers(workload: Workload) -> None:
    filters = [Filter(interest.filter) for interest in workload.interests]
    for message in messages(workload, 120):
        by_filter = [filter.matches(message.attributes) for filter in filters]
        by_headers = [
            interest.headers.items() <= message.headers.items() for interest in workload.interests
        ]
        assert sum(by_filter) == 1
        assert by_filter == by_headers


@pytest.mark.parametrize("workload", WORKLOADS[:4], ids=lambda workload: workload.name)
def test_a_message_meets_one_interest_by_topic(workload: Workload) -> None:
    topics = [interest.topic for interest in workload.interests]
    for message in messages(workload, 120):
        assert topics.count(message.topic) == 1


def test_every_topic_has_its_turn() -> None:
    workload = many_topics(50)
    met = {message.topic for message in messages(workload, 50)}
    assert met == {interest.topic for interest in workload.interests}


def test_attributes_repeat_or_do_not() -> None:
    for workload, is_different in [
        (many_topics(50), False),
        (many_topics_all_different(50), True),
        (quotes(100), True),
    ]:
        seen = {tuple(sorted(each.attributes.items())) for each in messages(workload, 500)}
        assert (len(seen) == 500) is is_different


def test_all_filters_on_a_symbol_have_to_be_looked_at() -> None:
    workload = quotes(100)
    assert len(workload.interests) == 100
    symbol = workload.message(0).attributes["symbol"]
    same = [each for each in workload.interests if each.headers["symbol"] == symbol]
    assert len(same) == THRESHOLDS


def test_payloads_have_one_length_and_tell_messages_apart() -> None:
    payloads = [payload_of(number) for number in [*range(1000), 10**6, 10**9]]
    assert {len(payload) for payload in payloads} == {PAYLOAD_BYTES}
    assert len(set(payloads)) == len(payloads)
    assert all(0 not in payload for payload in islice(payloads, 5))


def test_fan_out_and_chains_are_said() -> None:
    assert fan_out().subscribers == 10
    workload = one_to_one("W4/3", "chain", brokers=3, is_batched=False)
    assert (workload.brokers, workload.is_batched) == (3, False)
