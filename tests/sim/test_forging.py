"""Messages that faults make up or change are messages brokers could have sent."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.filters.filter import Filter
from sapwood.protocol.messages import Advertise, Message, Probe, Subscribe, Unadvertise, Unsubscribe
from sapwood.protocol.stabilize.published.messages import Switch, Tagged, as_message
from sapwood.sim.forging import Forger

FILTERS = [(Filter(text).id, text) for text in ("x = 1", "x = 2")]


def forger(seed: int, *, is_tagged: bool = False) -> Forger:
    return Forger(Random(seed), FILTERS, is_tagged=is_tagged)


def test_everything_is_made_up_sooner_or_later() -> None:
    drawn = {type(forger(seed).made_up()) for seed in range(60)}
    assert drawn == {Subscribe, Unsubscribe, Advertise, Unadvertise}
    tagged = {type(forger(seed, is_tagged=True).made_up()) for seed in range(60)}
    assert tagged == {Tagged, Switch}


@pytest.mark.parametrize(
    "message",
    [
        Subscribe("1", "y = 7"),
        Unsubscribe("1"),
        Advertise("1", "y = 7"),
        Unadvertise("1"),
        as_message(Tagged(0, Subscribe("1", "y = 7"))),
        as_message(Switch("subscribed", 0)),
    ],
)
def test_what_is_changed_stays_of_its_kind(message: Message) -> None:
    changed = [forger(seed).changed(message) for seed in range(20)]
    assert {type(one) for one in changed} == {type(message)}
    assert any(one != message for one in changed)


def test_what_is_not_about_tables_is_not_changed() -> None:
    probe = Probe("B1", 1)
    assert forger(1).changed(probe) is probe
