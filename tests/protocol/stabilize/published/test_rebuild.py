"""The generic wrapper: two tables, built in turns (T3.13)."""

from __future__ import annotations

import pytest

from protocol.stabilize.published.publishing import entries, new_broker, told
from sapwood.filters.filter import Filter
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect, Forward, Send
from sapwood.protocol.events import (
    ClientDown,
    FramesReceived,
    LinkDown,
    NeighbourAway,
    NeighbourBack,
    Tick,
)
from sapwood.protocol.messages import (
    Advertise,
    Message,
    Refused,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from sapwood.protocol.stabilize.published.messages import BOTH, Switch, Tagged, as_message
from sapwood.protocol.stabilize.published.rebuild import Rebuild
from sapwood.wire.frames import encode_head, encode_notification

ONE = Filter("x = 1")
SUBSCRIBED = Subscribe(ONE.id, "x = 1")


def tagged(table: int, message: Subscribe | Unsubscribe | Advertise | Unadvertise) -> Message:
    return as_message(Tagged(table, message))


def switch(table: int, kind: str = "subscribed") -> Message:
    return as_message(Switch(kind, table))


def to(*names: str, message: Message) -> list[Effect]:
    return [Send(name, message) for name in names]


def test_a_client_speaks_of_the_table_that_is_being_built() -> None:
    broker = new_broker("rebuild")
    first = told(broker, "a", Subscribe("1", "x = 1"), 1.0)
    assert first == to("N", "M", message=tagged(0, SUBSCRIBED))
    assert told(broker, "N", switch(1), 2.0) == to("M", message=switch(1))
    again = told(broker, "a", Subscribe("1", "x = 1"), 3.0)
    assert again == to("N", "M", message=tagged(1, SUBSCRIBED))


def test_what_is_repeated_does_not_reach_the_algorithm() -> None:
    broker = new_broker("rebuild")
    told(broker, "a", Subscribe("1", "x = 1"), 1.0)
    assert told(broker, "a", Subscribe("1", "x = 1"), 2.0) == []
    assert told(broker, "N", tagged(0, SUBSCRIBED), 3.0) == []
    assert told(broker, "N", tagged(0, SUBSCRIBED), 4.0) == []
    assert entries(broker) == ["N x = 1", "a x = 1"]


def test_notifications_go_by_both_tables() -> None:
    broker = new_broker("rebuild")
    told(broker, "N", tagged(0, SUBSCRIBED), 1.0)
    told(broker, "M", switch(1), 2.0)
    told(broker, "M", tagged(1, SUBSCRIBED), 3.0)
    frame = encode_notification(encode_head("b", {"x": 1}), 1, 1.0, b"", 0.0)
    assert broker.handle(FramesReceived("b", frame), 4.0) == [Forward(("M", "N"), frame, 1)]
    told(broker, "M", switch(0), 5.0)
    assert broker.handle(FramesReceived("b", frame), 6.0) == [Forward(("M",), frame, 1)]


def test_what_comes_for_the_other_table_counts_too() -> None:
    broker = new_broker("rebuild")
    told(broker, "N", tagged(1, SUBSCRIBED), 1.0)
    assert entries(broker) == ["N x = 1"]


def test_the_root_switches_every_period_and_others_pass_it_on() -> None:
    broker = new_broker("rebuild")
    told(broker, "a", Subscribe("1", "x = 1"), 1.0)
    assert broker.next_at == 10.0
    effects = broker.handle(Tick(), 10.0)
    assert effects == [
        *to("N", "M", message=switch(1, "advertised")),
        *to("N", "M", message=switch(1, "subscribed")),
    ]
    assert entries(broker) == ["a x = 1"]  # table 0 is as it was
    broker.handle(Tick(), 20.0)
    assert entries(broker) == []  # and was emptied, since the client never renewed
    assert broker.handle(Tick(), 25.0) == []
    assert broker.published.report()["switches"] == 4


@pytest.mark.parametrize("spoilt", [-5.0, 1e9, float("nan")])
def test_a_clock_of_the_root_that_makes_no_sense_overruns_at_once(spoilt: float) -> None:
    broker = new_broker("rebuild")
    assert isinstance(broker.published, Rebuild)
    broker.published.switch_at = spoilt
    assert len(broker.handle(Tick(), 3.0)) == 4
    assert broker.published.switch_at == 13.0


def test_the_end_of_a_subscription_is_applied_to_both_tables() -> None:
    broker = new_broker("rebuild")
    told(broker, "a", Subscribe("1", "x = 1"), 1.0)
    told(broker, "N", switch(1), 2.0)
    told(broker, "a", Subscribe("1", "x = 1"), 3.0)
    ended = told(broker, "a", Unsubscribe("1"), 4.0)
    assert ended == to("N", "M", message=tagged(BOTH, Unsubscribe(ONE.id)))
    assert entries(broker) == []
    for table in (0, 1):
        told(broker, "M", tagged(table, SUBSCRIBED), 5.0)
    assert told(broker, "M", tagged(BOTH, Unsubscribe(ONE.id)), 6.0) == to(
        "N", message=tagged(BOTH, Unsubscribe(ONE.id))
    )


def test_of_an_end_in_one_table_only_that_one_is_told() -> None:
    broker = new_broker("rebuild")
    told(broker, "a", Subscribe("1", "x = 1"), 1.0)
    told(broker, "N", switch(1), 2.0)
    assert told(broker, "a", Unsubscribe("1"), 4.0) == to(
        "N", "M", message=tagged(0, Unsubscribe(ONE.id))
    )


def test_the_end_of_what_a_client_never_had_is_refused() -> None:
    broker = new_broker("rebuild")
    (effect,) = told(broker, "a", Unsubscribe("1", request=3), 1.0)
    assert isinstance(effect, Send)
    assert isinstance(effect.message, Refused)
    assert broker.drops.counts[Drop.UNSUBSCRIBED] == 1


@pytest.mark.parametrize(
    "message",
    [
        tagged(7, SUBSCRIBED),
        tagged(0, Subscribe("1", "x =")),
        switch(5),
        switch(0, "nonsense"),
    ],
)
def test_nonsense_changes_nothing(message: Message) -> None:
    broker = new_broker("rebuild")
    assert told(broker, "N", message, 1.0) == []
    assert entries(broker) == []
    assert broker.drops.counts[Drop.MALFORMED] == 1


def test_what_is_not_tagged_is_not_for_it() -> None:
    broker = new_broker("rebuild")
    assert told(broker, "N", SUBSCRIBED, 1.0) == []
    assert entries(broker) == []
    (effect,) = told(broker, "a", Subscribe("1", "x =", 2), 1.0)
    assert isinstance(effect, Send)
    assert isinstance(effect.message, Refused)


def test_subscriptions_follow_both_tables_of_advertisements() -> None:
    broker = new_broker("rebuild", advertisements_required=True)
    assert told(broker, "a", Subscribe("1", "x = 1"), 1.0) == []
    advertised = tagged(0, Advertise(ONE.id, "x = 1"))
    passed_on = told(broker, "N", advertised, 2.0)
    assert passed_on == [Send("M", advertised), Send("N", tagged(0, SUBSCRIBED))]
    told(broker, "N", switch(1, "advertised"), 3.0)
    told(broker, "N", switch(1), 4.0)
    assert told(broker, "a", Subscribe("1", "x = 1"), 5.0) == to("N", message=tagged(1, SUBSCRIBED))
    ended = told(broker, "N", tagged(0, Unadvertise(ONE.id)), 6.0)
    assert ended == [
        Send("M", tagged(0, Unadvertise(ONE.id))),
        Send("N", tagged(BOTH, Unsubscribe(ONE.id))),
    ]


def test_who_goes_takes_its_entries_along() -> None:
    broker = new_broker("rebuild")
    told(broker, "a", Subscribe("1", "x = 1"), 1.0)
    told(broker, "N", tagged(0, Subscribe("2", "x = 2")), 1.0)
    ended = tagged(0, Unsubscribe(ONE.id))
    assert broker.handle(ClientDown("a"), 2.0) == to("N", "M", message=ended)
    assert len(broker.handle(LinkDown("N"), 3.0)) == 1
    assert entries(broker) == []


def test_a_neighbour_that_was_away_is_told_the_difference() -> None:
    broker = new_broker("rebuild")
    broker.handle(NeighbourAway("N"), 1.0)
    assert told(broker, "a", Subscribe("1", "x = 1"), 2.0) == to("M", message=tagged(0, SUBSCRIBED))
    assert broker.handle(NeighbourBack("N"), 3.0) == to("N", message=tagged(0, SUBSCRIBED))


def test_a_state_that_was_kept_can_be_put_back() -> None:
    broker = new_broker("rebuild", advertisements_required=True)
    told(broker, "N", tagged(0, Advertise(ONE.id, "x = 1")), 1.0)
    told(broker, "a", Subscribe("1", "x = 1"), 1.0)
    told(broker, "N", switch(1), 2.0)
    told(broker, "M", tagged(1, SUBSCRIBED), 3.0)
    kept = broker.published.remember()
    told(broker, "M", switch(0), 4.0)
    told(broker, "a", Unsubscribe("1"), 5.0)
    broker.published.recall(kept)
    assert broker.published.remember() == kept
    assert [*broker.forwarding.problems(broker.subscriptions)] == []
    assert told(broker, "M", tagged(1, SUBSCRIBED), 6.0) == []
