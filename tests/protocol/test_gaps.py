"""Notifications that a link lost: who is told of the gap, and within which bounds."""

from __future__ import annotations

import pytest

from protocol.brokers import handle, new_broker, tell
from protocol.wiring import Line
from sapwood.protocol import gaps
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Record, Send
from sapwood.protocol.events import (
    AnythingMissed,
    ClientUp,
    ControlReceived,
    FramesReceived,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NotificationsMissed,
    RoutingChanged,
    Tick,
)
from sapwood.protocol.messages import Advertise, Missed, Subscribe, Survey, TableComplete
from sapwood.protocol.neighbours import RESTART
from sapwood.wire.frames import encode_head, encode_notification


def with_wants(**config: object) -> Broker:
    """M wants dear things, the client c cheap ones, the client d red ones, e nothing."""
    return new_broker(
        ClientUp("d.1"),
        ClientUp("e.1"),
        ControlReceived("M", Subscribe("m", "price > 9")),
        ControlReceived("c.1", Subscribe("s", "price < 1")),
        ControlReceived("d.1", Subscribe("s", "colour = 'red' and price < 0")),
        **config,
    )


def test_a_gap_is_bounded_by_what_the_neighbour_was_told() -> None:
    broker = with_wants(recording=True)
    missed = Missed(7, "N-B", ("price > 9", "price < 1"))
    row = Record("missed", {"source": "N", "message": "7 notifications given up on N-B"})
    assert handle(broker, NotificationsMissed("N", 7)) == [
        Send("M", missed),
        Send("c.1", missed),
        Send("d.1", missed),
        row,
    ]


def test_only_those_are_told_whose_wants_overlap() -> None:
    broker = with_wants()
    dear = Missed(7, "X-Y", ("price > 10",))
    assert tell(broker, "N", dear) == [Send("M", dear)]
    green = Missed(7, "X-Y", ("colour = 'green'",))
    assert tell(broker, "N", green) == [Send("M", green), Send("c.1", green)]
    blue = Missed(7, "X-Y", ("price = 5",))
    assert tell(broker, "N", blue) == []
    assert handle(broker, NotificationsMissed("N", 1, ("price = 0.5",))) == [
        Send("c.1", Missed(1, "N-B", ("price = 0.5",)))
    ]


def test_what_is_not_bounded_is_told_to_all_who_want_anything() -> None:
    broker = with_wants()
    missed = Missed(7, "X-Y")
    everybody = [Send("M", missed), Send("c.1", missed), Send("d.1", missed)]
    assert tell(broker, "N", missed) == everybody
    assert tell(broker, "N", Missed(7, "X-Y", ("price >",))) == everybody
    assert tell(broker, "N", Missed(7, "X-Y", ("price = 5",) * 65)) == everybody


def test_a_spoilt_driver_may_have_lost_anything() -> None:
    missed = Missed(0, "B-B")
    everybody = [Send("M", missed), Send("c.1", missed), Send("d.1", missed)]
    assert handle(with_wants(), AnythingMissed()) == everybody


def test_a_neighbour_whose_edge_floods_is_always_told() -> None:
    broker = with_wants()
    handle(broker, LinkUp("F", receives="flooding"))
    missed = Missed(7, "X-Y", ("price = 5",))
    assert tell(broker, "N", missed) == [Send("F", missed)]


@pytest.mark.parametrize("sends", ["flooding", "covering"])
def test_what_comes_over_a_flooding_edge_is_not_bounded(sends: str) -> None:
    broker = with_wants()
    handle(broker, LinkUp("F", sends="flooding"))
    if sends == "covering":  # the neighbour is away, and still floods as far as it knows
        handle(broker, NeighbourAway("F"))
        handle(broker, RoutingChanged("F", sends))
    effects = handle(broker, NotificationsMissed("F", 1))
    assert effects[0] == Send("M", Missed(1, "F-B"))
    assert len(effects) == 3


def test_what_a_neighbour_was_not_told_while_it_was_away_cannot_have_come() -> None:
    broker = with_wants()
    handle(broker, NeighbourAway("N"))
    tell(broker, "e.1", Subscribe("e", "price = 5"))
    effects = handle(broker, NotificationsMissed("N", 1))
    assert [effect.destination for effect in effects if isinstance(effect, Send)] == [
        "M",
        "c.1",
        "d.1",
    ]


def test_with_too_many_filters_nothing_is_bounded() -> None:
    broker = new_broker()
    for number in range(gaps.FILTERS_MAX):
        tell(broker, "c.1", Subscribe(str(number), f"x = {number}"))
    (effect,) = handle(broker, NotificationsMissed("N", 1))
    assert isinstance(effect, Send)
    assert isinstance(effect.message, Missed)
    assert len(effect.message.filters) == gaps.FILTERS_MAX
    tell(broker, "c.1", Subscribe("one more", "y = 1"))
    assert handle(broker, NotificationsMissed("N", 1)) == [Send("c.1", Missed(1, "N-B"))]


def test_the_work_for_one_gap_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = with_wants()
    monkeypatch.setattr(gaps, "TESTS_MAX", 3)
    dear = Missed(7, "X-Y", ("price > 10",))
    assert len(tell(broker, "N", dear)) == 1
    monkeypatch.setattr(gaps, "TESTS_MAX", 2)
    assert len(tell(broker, "N", dear)) == 3


def test_behind_a_new_link_nothing_is_bounded_until_there_are_advertisements() -> None:
    broker = new_broker(
        ControlReceived("c.1", Subscribe("s", "price < 1")), advertisements_required=True
    )
    assert handle(broker, NotificationsMissed("N", 0)) == [Send("c.1", Missed(0, "N-B"))]
    tell(broker, "N", Advertise("n", "price > 0"))
    bounded = Missed(0, "N-B", ("price < 1",))
    assert handle(broker, NotificationsMissed("N", 0)) == [Send("c.1", bounded)]


def test_a_gap_travels_with_its_bounds() -> None:
    network = Line(4)
    for number, filter in ((1, "x = 1"), (3, "x = 2"), (4, "y = 1 and x = 1")):
        network.connect(f"c{number}.1", f"B{number}")
        network.subscribe(f"c{number}.1", "a", filter)
    network.run()
    network.handle("B2", NotificationsMissed("B1", 5, ("x = 1",)))
    network.run()
    assert network.answers["c1.1"] == network.answers["c3.1"] == []
    assert network.answers["c4.1"] == [Missed(5, "B1-B2", ("x = 1",))]


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


def test_a_restarted_broker_passes_reports_on_when_everybody_is_back() -> None:
    broker = Broker(BrokerConfig(id="B", expected=("N", "M")))
    handle(broker, LinkUp("N", features=(RESTART,)))
    assert tell(broker, "N", Missed(2, "X-Y", ("price > 10",))) == []
    assert tell(broker, "N", Missed(3, "X-Y", ("price < 1",))) == []
    tell(broker, "N", TableComplete())
    assert handle(broker, Tick()) == [], "the other one may want it"
    handle(broker, LinkUp("M", features=(RESTART,)))
    tell(broker, "M", Subscribe("m", "price > 9"))
    tell(broker, "M", TableComplete())
    assert handle(broker, Tick()) == [Send("M", Missed(5, "X-Y", ("price > 10", "price < 1")))]
    assert handle(broker, Tick()) == []


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Missed(2, "l"), Missed(3, "l", ("x > 1",)), Missed(5, "l")),
        (Missed(0, "l", ("x > 1",)), Missed(3, "l", ("x > 1",)), Missed(0, "l", ("x > 1",))),
    ],
)
def test_what_is_not_known_of_one_report_is_not_known_of_two(
    one: Missed, other: Missed, both: Missed
) -> None:
    assert gaps._together(one, other) == gaps._together(other, one) == both


def dear(number: int) -> bytes:
    return encode_notification(encode_head("p.1", {"price": 10}), number, 0.0, b"")


def test_what_comes_over_a_held_link_is_reported() -> None:
    """The other end does not know yet that the link is not to carry anything."""
    broker = with_wants()
    broker.hold_link("N", 0.0)
    assert handle(broker, FramesReceived("N", dear(1))) == []
    assert handle(broker, FramesReceived("N", dear(2) + dear(3))) == []
    assert broker.drops.counts == {Drop.HELD: 3}
    assert broker.owes_report("M")
    missed = Send("M", Missed(3, "N-B", ("price = 10",)))
    assert handle(broker, Tick()) == [missed], "together, and to those who want it"
    assert handle(broker, Tick()) == []
    assert not broker.owes_report("M")


def test_what_a_restoring_broker_does_not_take_is_reported_when_everybody_is_back() -> None:
    broker = Broker(BrokerConfig(id="B", expected=("N", "M")))
    for name in ("N", "M"):
        handle(broker, LinkUp(name, features=(RESTART,)))
    broker.hold_link("N", 0.0)
    handle(broker, FramesReceived("N", dear(1)))
    assert handle(broker, Tick()) == [], "nobody has said yet what it wants"
    tell(broker, "M", Subscribe("m", "price > 9"))
    tell(broker, "M", TableComplete())
    tell(broker, "N", TableComplete())
    assert handle(broker, Tick()) == [Send("M", Missed(1, "N-B", ("price = 10",)))]


def test_a_restarted_broker_holds_what_it_missed_itself_as_well() -> None:
    """Until it knows who wants what, and has asked its neighbour for it."""
    broker = Broker(BrokerConfig(id="B", expected=("N", "M")))
    handle(broker, LinkUp("N", features=(RESTART,)))
    assert handle(broker, NotificationsMissed("N", 2)) == []
    assert handle(broker, NotificationsMissed("N", 3)) == []
    handle(broker, LinkUp("M", features=(RESTART,)))
    tell(broker, "M", Subscribe("m", "price > 9"))
    tell(broker, "M", TableComplete())
    tell(broker, "N", TableComplete())
    assert handle(broker, Tick()) == [Send("M", Missed(5, "N-B", ("price > 9",)))]


def test_what_a_neighbour_says_about_its_own_link_is_bounded_by_what_it_was_asked_for() -> None:
    broker = with_wants()
    missed = Missed(0, "N-B", ("price > 9", "price < 1"))
    told = [Send(name, missed) for name in ("M", "c.1", "d.1")]
    assert tell(broker, "N", Missed(0, "N-B")) == told


def test_a_report_is_passed_on_though_its_neighbour_has_gone() -> None:
    broker = Broker(BrokerConfig(id="B", expected=("N", "M")))
    handle(broker, LinkUp("N", features=(RESTART,)))
    handle(broker, NotificationsMissed("N", 2))
    handle(broker, LinkDown("N"))
    handle(broker, LinkUp("M", features=(RESTART,)))
    tell(broker, "M", Subscribe("m", "price > 9"))
    handle(broker, Tick(), 0.0)
    assert Send("M", Missed(2, "N-B")) in handle(broker, Tick(), 100.0)
