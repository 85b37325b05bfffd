"""Spoilt states: of everything that is kept something is wrong, and all of it can be put back."""

from __future__ import annotations

from random import Random

import pytest

from protocol.stabilize.published.publishing import new_broker, subscribe
from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.events import ClientUp, LinkUp
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.stabilize.published.leases import Key
from sapwood.protocol.stabilize.published.memory import (
    Memory,
    Spoiler,
    Surroundings,
    replace_entries,
)
from sapwood.protocol.stabilize.published.schemes import SCHEMES

FILTERS = [(Filter(text).id, text) for text in ("x = 1", "x > 3", "true")]
AROUND = Surroundings(
    now=7.0, period=10.0, destinations=["N", "M", "a"], neighbours=["N", "M"], filters=FILTERS
)


def memory_of(scheme: str) -> Memory:
    broker = new_broker(scheme)
    for number, source in enumerate(("a", "b", "c")):
        subscribe(broker, source, f"x = {number}", 1.0)
    return broker.published.remember()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_any_spoilt_state_can_be_put_back_and_the_broker_goes_on(scheme: str) -> None:
    for seed in range(30):
        broker = new_broker(scheme)
        spoilt = Spoiler(Random(seed), AROUND).spoilt(memory_of(scheme))
        broker.published.recall(spoilt)
        assert [*broker.forwarding.problems(broker.subscriptions)] == []
        if scheme != "rebuild":
            assert broker_problems_but_claims(broker) == []
        subscribe(broker, "a", "x = 0", 8.0)
        assert broker.next_at is not None
        assert 7.0 <= broker.next_at <= 17.0


def broker_problems_but_claims(broker: Broker) -> list[str]:
    return [one for one in broker_problems(broker) if "claims" not in one]


def test_everything_is_spoilt_sooner_or_later() -> None:
    before = memory_of("lease-identity")
    after = [Spoiler(Random(seed), AROUND).spoilt(before) for seed in range(50)]
    assert all(one != before for one in after)
    assert len({one.clock for one in after}) > 40
    keys = {one.key for one in before.entries}
    assert any(keys - {one.key for one in memory.entries} for memory in after)
    assert any({one.key for one in memory.entries} - keys for memory in after)
    assert {telling.renewed for memory in after for _, telling in memory.tellings} == {False, True}
    assert any(len(memory.tellings) < len(before.tellings) for memory in after)


def test_a_share_of_nothing_only_adds() -> None:
    before = memory_of("lease-identity")
    after = Spoiler(Random(1), AROUND, share=0.0).spoilt(before)
    assert after.entries[: len(before.entries)] == before.entries
    assert (after.tellings, after.clock) == (before.tellings, before.clock)


def test_which_table_is_being_built_is_spoilt_too() -> None:
    before = memory_of("rebuild")
    after = [Spoiler(Random(seed), AROUND).spoilt(before) for seed in range(20)]
    assert {memory.active["subscribed"] for memory in after} == {0, 1}
    assert any(memory.heard != before.heard for memory in after)


def test_entries_of_any_broker_can_be_replaced_and_nobody_is_told() -> None:
    broker = Broker(BrokerConfig(id="B"))
    broker.handle(LinkUp("N"), 0.0)
    broker.handle(ClientUp("a"), 0.0)
    replace_entries(broker, [(Key("subscribed", "a", "a/1"), "x = 1")])
    assert [str(one.filter) for one in broker.subscriptions] == ["x = 1"]
    assert list(broker.subscriptions.differences()) == []
    replace_entries(broker, [])
    assert len(broker.subscriptions) == 0
