"""Notifications that a link lost: who is told of the gap."""

from __future__ import annotations

import pytest

from protocol.brokers import handle, new_broker, tell
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Record, Send
from sapwood.protocol.events import ClientUp, LinkUp, NotificationsMissed
from sapwood.protocol.messages import Missed, Subscribe, Survey


def test_what_a_neighbour_gave_up_is_told_to_all_on_this_side() -> None:
    broker = new_broker(ClientUp("d.1"), LinkUp("K", in_tree=False), recording=True)
    tell(broker, "c.1", Subscribe("s", "price > 1"))
    missed = Missed(7, "N-B")
    row = Record("missed", {"source": "N", "message": "7 notifications given up on N-B"})
    assert handle(broker, NotificationsMissed("N", 7)) == [
        Send("M", missed),
        Send("c.1", missed),
        row,
    ]
    assert tell(broker, "N", missed) == [Send("M", missed), Send("c.1", missed), row]


@pytest.mark.parametrize("source", ["stranger", "K"])
def test_only_a_neighbour_in_the_tree_can_have_given_something_up(source: str) -> None:
    broker = new_broker(LinkUp("K", in_tree=False))
    assert handle(broker, NotificationsMissed(source, 1)) == []
    assert broker.drops.counts.total() == 1


def test_a_client_cannot_say_that_something_was_missed_nor_a_neighbour_ask_for_a_survey() -> None:
    broker = new_broker()
    assert tell(broker, "c.1", Missed(1, "N-B")) == []
    assert tell(broker, "N", Survey(1)) == []
    assert broker.drops.counts == {Drop.NOT_FOR_BROKERS: 2}
