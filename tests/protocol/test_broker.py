"""The broker: whole lists of effects for what it is told."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from protocol.brokers import handle, new_broker, tell
from protocol.wiring import Line, Wired, notification
from sapwood.errors import RoutingError
from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect, Forward, Record, Send
from sapwood.protocol.events import (
    ClientDown,
    ClientUp,
    ControlReceived,
    FramesReceived,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    SurveyRequested,
)
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.messages import (
    Advertise,
    BrokerReport,
    Echo,
    Message,
    Probe,
    Refused,
    Settled,
    Subscribe,
    Survey,
    Surveyed,
    Unadvertise,
    Unsubscribe,
)

MakeLine = Callable[..., Line]
ALGORITHMS = ["flooding", "simple", "identity", "covering", "merging"]


def both(message: Callable[..., Message], *arguments: str) -> list[Effect]:
    return [Send("N", message(*arguments)), Send("M", message(*arguments))]


def id_of(text: str) -> str:
    return Filter(text).id


# --- subscriptions ------------------------------------------------------------------------


def test_a_subscription_of_a_client_goes_to_all_neighbours() -> None:
    broker = new_broker()
    assert tell(broker, "c.1", Subscribe("a", "x=1")) == both(Subscribe, id_of("x = 1"), "x = 1")
    assert tell(broker, "c.1", Unsubscribe("a")) == both(Unsubscribe, id_of("x = 1"))
    assert list(broker.subscriptions) == []


def test_a_subscription_of_a_neighbour_goes_to_the_others_only() -> None:
    broker = new_broker()
    new = Send("M", Subscribe(id_of("x = 1"), "x = 1"))
    assert tell(broker, "N", Subscribe("n", "x = 1")) == [new]
    assert tell(broker, "N", Unsubscribe("n")) == [Send("M", Unsubscribe(id_of("x = 1")))]


def test_cancelling_a_cover_restores_what_it_hid_before_it_goes() -> None:
    broker = new_broker(
        ControlReceived("N", Subscribe("1", "x > 0")),
        ControlReceived("N", Subscribe("2", "x > 1")),
        ControlReceived("N", Subscribe("3", "x > 2")),
    )
    assert tell(broker, "N", Unsubscribe("1")) == [
        Send("M", Subscribe(id_of("x > 1"), "x > 1")),
        Send("M", Unsubscribe(id_of("x > 0"))),
    ]


@pytest.mark.parametrize("algorithm", ALGORITHMS[1:])
def test_a_new_filter_under_an_old_id_leaves_no_gap(algorithm: str) -> None:
    broker = Broker(BrokerConfig(id="B"))
    for event in (LinkUp("N", sends=algorithm), ClientUp("c.1")):
        broker.handle(event, 0.0)
    tell(broker, "c.1", Subscribe("a", "x = 1"))
    effects = tell(broker, "c.1", Subscribe("a", "y = 2"))
    messages = [effect.message for effect in effects if isinstance(effect, Send)]
    if algorithm == "simple":
        assert messages == [Subscribe("c.1/a", "y = 2")]
    else:
        assert messages == [Subscribe(id_of("y = 2"), "y = 2"), Unsubscribe(id_of("x = 1"))]
    assert [entry.filter for entry in broker.subscriptions] == [Filter("y = 2")]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_new_filter_under_an_old_id_arrives_everywhere(
    algorithm: str, make_line: MakeLine
) -> None:
    network = make_line(3, algorithm=algorithm)
    network.connect("s.1", "B1")
    network.connect("p.1", "B3")
    network.subscribe("s.1", "a", "x = 1")
    network.run()
    network.subscribe("s.1", "a", "x = 2")
    network.run()
    network.publish("p.1", {"x": 1})
    two = network.publish("p.1", {"x": 2})
    network.run()
    assert network.got["s.1"] == [two]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_clients_may_use_the_same_ids(algorithm: str, make_line: MakeLine) -> None:
    network = make_line(2, algorithm=algorithm)
    for client, broker in (("s.1", "B1"), ("t.1", "B1"), ("p.1", "B2")):
        network.connect(client, broker)
    network.subscribe("s.1", "a", "x = 1")
    network.subscribe("t.1", "a", "x = 2")
    network.run()
    one, two = network.publish("p.1", {"x": 1}), network.publish("p.1", {"x": 2})
    network.run()
    network.unsubscribe("s.1", "a")
    network.run()
    network.publish("p.1", {"x": 1})
    three = network.publish("p.1", {"x": 2})
    network.run()
    assert network.got == {"s.1": [one], "t.1": [two, three], "p.1": []}


def test_the_same_subscription_again_changes_nothing() -> None:
    broker = new_broker(
        ControlReceived("c.1", Subscribe("a", "x > 1")),
        ControlReceived("N", Subscribe("n", "y = 1")),
    )
    assert tell(broker, "c.1", Subscribe("a", "x > 1")) == []
    assert tell(broker, "c.1", Subscribe("a", "not (x <= 1 or x is null) and x is number")) == []
    assert tell(broker, "N", Subscribe("n", "y = 1")) == []
    assert broker.drops.counts == {}


def test_the_same_subscription_again_may_ask_to_be_told() -> None:
    broker = Broker(BrokerConfig(id="B"))
    for event in (ClientUp("c.1"), ControlReceived("c.1", Subscribe("a", "x > 1"))):
        broker.handle(event, 0.0)
    effects = tell(broker, "c.1", Subscribe("a", "x > 1", request=4))
    assert effects[-1] == Send("c.1", Settled(4, settled=True))


@pytest.mark.parametrize("message", [Subscribe, Advertise])
def test_a_filter_that_is_none_is_refused_with_its_reason(message: type[Subscribe]) -> None:
    broker = new_broker(ControlReceived("c.1", message("a", "x = 1")))
    (effect,) = tell(broker, "c.1", message("a", "x >", request=7))
    assert isinstance(effect, Send)
    assert isinstance(effect.message, Refused)
    assert effect.message.request == 7
    assert "x >" in effect.message.reason
    assert tell(broker, "N", message("n", "x >")) == []
    assert broker.drops.counts == {Drop.MALFORMED: 2}
    table = broker.subscriptions if message is Subscribe else broker.advertisements
    assert [entry.filter for entry in table] == [Filter("x = 1")]


@pytest.mark.parametrize(
    ("message", "why"),
    [(Unsubscribe, Drop.UNSUBSCRIBED), (Unadvertise, Drop.UNADVERTISED)],
)
def test_the_end_of_what_never_was_is_counted(message: type[Unsubscribe], why: Drop) -> None:
    broker = new_broker(
        ControlReceived("c.1", Subscribe("a", "x = 1")),
        ControlReceived("c.1", Advertise("a", "x = 1")),
    )
    assert tell(broker, "c.1", message("b")) == []
    assert tell(broker, "N", message("a")) == []
    refusal = Refused(f"{why}: b", request=3)
    assert tell(broker, "c.1", message("b", request=3)) == [Send("c.1", refusal)]
    assert broker.drops.counts == {why: 3}
    assert len(broker.subscriptions) == len(broker.advertisements) == 1


@pytest.mark.parametrize("source", ["nobody", "B", ""])
def test_messages_of_strangers_change_nothing(source: str) -> None:
    broker = new_broker()
    messages: list[Message] = [
        Subscribe("a", "true"),
        Unsubscribe("a"),
        Advertise("a", "true"),
        Unadvertise("a"),
        Probe("X", 1),
        Echo("B", 1),
        Settled(1, settled=True),
        Refused("no"),
    ]
    assert [tell(broker, source, message) for message in messages] == [[]] * len(messages)
    assert broker.drops.counts == {Drop.UNKNOWN_SENDER: len(messages)}


def test_messages_over_links_outside_the_tree_change_nothing() -> None:
    broker = new_broker(LinkUp("Z", in_tree=False))
    assert tell(broker, "Z", Subscribe("a", "true")) == []
    assert tell(broker, "Z", Probe("X", 1)) == []
    assert broker.drops.counts == {Drop.OUTSIDE_TREE: 2}
    assert tell(broker, "c.1", Subscribe("a", "x = 1")) == both(Subscribe, id_of("x = 1"), "x = 1")


@pytest.mark.parametrize("message", [Settled(1, settled=True), Refused("no")])
def test_answers_are_not_for_brokers(message: Message) -> None:
    broker = new_broker()
    assert tell(broker, "N", message) == []
    assert tell(broker, "c.1", message) == []
    assert broker.drops.counts == {Drop.NOT_FOR_BROKERS: 2}


# --- links --------------------------------------------------------------------------------


def test_a_new_neighbour_is_told_what_all_others_want() -> None:
    broker = new_broker(
        ControlReceived("N", Subscribe("n", "x = 1")),
        ControlReceived("c.1", Subscribe("c", "y = 1")),
    )
    assert handle(broker, LinkUp("Z", sends="identity")) == [
        Send("Z", Subscribe(id_of("x = 1"), "x = 1")),
        Send("Z", Subscribe(id_of("y = 1"), "y = 1")),
    ]
    assert handle(broker, LinkUp("Y", sends="flooding")) == []


def test_what_came_over_a_link_goes_with_it() -> None:
    broker = new_broker(
        ControlReceived("N", Subscribe("n", "x = 1")),
        ControlReceived("c.1", Subscribe("c", "y = 1")),
    )
    assert handle(broker, LinkDown("N")) == [Send("M", Unsubscribe(id_of("x = 1")))]
    assert [entry.destination for entry in broker.subscriptions] == ["c.1"]
    assert handle(broker, LinkDown("N")) == []
    assert broker.drops.counts == {Drop.LINK_UNKNOWN: 1}


def test_a_link_that_comes_again_begins_anew() -> None:
    broker = new_broker(
        ControlReceived("N", Subscribe("n", "x = 1")),
        ControlReceived("c.1", Subscribe("c", "y = 1")),
    )
    assert handle(broker, LinkUp("N")) == [
        Send("M", Unsubscribe(id_of("x = 1"))),
        Send("N", Subscribe(id_of("y = 1"), "y = 1")),
    ]
    assert handle(broker, LinkUp("N", in_tree=False)) == []
    assert handle(broker, LinkUp("N", in_tree=False)) == []
    assert broker.drops.counts == {}


def test_a_link_that_leaves_the_tree_carries_nothing_any_more() -> None:
    broker = new_broker(ControlReceived("N", Subscribe("n", "x = 1")))
    frame = notification("p.1", {"x": 1})
    assert handle(broker, FramesReceived("M", frame)) == [Forward(("N",), frame, 1)]
    handle(broker, LinkUp("N", in_tree=False))
    assert handle(broker, FramesReceived("M", frame)) == []
    assert handle(broker, FramesReceived("N", frame)) == []
    assert broker.drops.counts == {Drop.OUTSIDE_TREE: 1}


def test_a_flooding_edge_gets_everything_once() -> None:
    broker = new_broker(
        LinkUp("Z", receives="flooding"), ControlReceived("Z", Subscribe("z", "x = 1"))
    )
    one, two = notification("p.1", {"x": 1}), notification("p.1", {"x": 2})
    assert handle(broker, FramesReceived("N", one + two)) == [Forward(("Z",), one + two, 2)]
    assert handle(broker, FramesReceived("Z", one)) == []


@pytest.mark.parametrize("name", ["B", "c.1"])
def test_a_link_to_itself_or_to_a_client_is_none(name: str) -> None:
    broker = new_broker()
    assert handle(broker, LinkUp(name)) == []
    assert broker.drops.counts == {Drop.LINK_IMPOSSIBLE: 1}
    assert list(broker.neighbours) == ["N", "M"]


@pytest.mark.parametrize("link", [LinkUp("Z", sends="magic"), LinkUp("N", receives="magic")])
def test_a_link_with_an_unknown_algorithm_is_refused_before_anything_changes(
    link: LinkUp,
) -> None:
    broker = new_broker(ControlReceived("N", Subscribe("n", "x = 1")))
    with pytest.raises(RoutingError):
        broker.handle(link, 0.0)
    assert broker_problems(broker) == []
    assert [entry.destination for entry in broker.subscriptions] == ["N"]


def test_an_unknown_algorithm_for_advertisements_is_refused() -> None:
    with pytest.raises(RoutingError):
        BrokerConfig(id="B", advertisement_routing="magic")


# --- clients ------------------------------------------------------------------------------


def test_what_a_client_had_goes_with_it() -> None:
    broker = new_broker(
        ControlReceived("c.1", Subscribe("a", "x = 1")),
        ControlReceived("c.1", Subscribe("b", "y = 1")),
        ControlReceived("c.1", Advertise("a", "z = 1")),
    )
    assert handle(broker, ClientDown("c.1")) == [
        Send("N", Unsubscribe(id_of("x = 1"))),
        Send("N", Unsubscribe(id_of("y = 1"))),
        Send("M", Unsubscribe(id_of("x = 1"))),
        Send("M", Unsubscribe(id_of("y = 1"))),
    ]
    assert len(broker.subscriptions) == len(broker.advertisements) == 0
    assert handle(broker, ClientDown("c.1")) == []
    assert broker.drops.counts == {Drop.CLIENT_UNKNOWN: 1}


@pytest.mark.parametrize("name", ["c.1", "N", "B"])
def test_a_client_cannot_be_there_twice_or_be_a_broker(name: str) -> None:
    broker = new_broker(ControlReceived("c.1", Subscribe("a", "x = 1")))
    assert handle(broker, ClientUp(name)) == []
    assert broker.drops.counts == {Drop.CLIENT_TWICE: 1}
    assert list(broker.clients) == ["c.1"]
    assert len(broker.subscriptions) == 1


def test_a_client_that_is_gone_publishes_nothing_any_more() -> None:
    broker = new_broker(ControlReceived("N", Subscribe("n", "x = 1")))
    frame = notification("c.1", {"x": 1})
    assert handle(broker, FramesReceived("c.1", frame)) == [Forward(("N",), frame, 1)]
    handle(broker, ClientDown("c.1"))
    assert handle(broker, FramesReceived("c.1", frame)) == []
    assert broker.drops.counts == {Drop.UNKNOWN_SENDER: 1}


def test_a_client_that_is_gone_gets_no_answer_any_more(make_line: MakeLine) -> None:
    network = make_line(2)
    network.connect("c.1", "B1")
    network.subscribe("c.1", "a", "x = 1", settle=True)
    network.disconnect("c.1")
    network.run()
    assert network.settled("c.1") == {}


# --- advertisements -----------------------------------------------------------------------


def test_subscriptions_wait_for_an_advertisement_and_go_with_it() -> None:
    broker = new_broker(advertisements_required=True)
    assert tell(broker, "c.1", Subscribe("a", "x > 5")) == []
    assert tell(broker, "N", Advertise("n", "x < 3")) == [
        Send("M", Advertise(id_of("x < 3"), "x < 3"))
    ]
    assert tell(broker, "N", Advertise("n2", "x > 8")) == [
        Send("M", Advertise(id_of("x > 8"), "x > 8")),
        Send("N", Subscribe(id_of("x > 5"), "x > 5")),
    ]
    assert tell(broker, "N", Unadvertise("n2")) == [
        Send("M", Unadvertise(id_of("x > 8"))),
        Send("N", Unsubscribe(id_of("x > 5"))),
    ]


def test_a_new_advertisement_under_an_old_id_leaves_no_gap() -> None:
    broker = new_broker(
        ControlReceived("N", Advertise("n", "x > 3")),
        ControlReceived("c.1", Subscribe("a", "x > 5")),
        advertisements_required=True,
    )
    assert tell(broker, "N", Advertise("n", "x > 4")) == [
        Send("M", Advertise(id_of("x > 4"), "x > 4")),
        Send("M", Unadvertise(id_of("x > 3"))),
    ]


def test_a_publication_outside_the_advertisements_is_refused() -> None:
    broker = new_broker(
        ControlReceived("N", Subscribe("n", "exists x")),
        ControlReceived("c.1", Advertise("a", "x < 3")),
        advertisements_required=True,
    )
    good, bad = notification("c.1", {"x": 1}, 1), notification("c.1", {"x": 3}, 2)
    reason = "c.1 has not advertised what it publishes; advertise a filter that matches"
    for _ in range(2):
        assert handle(broker, FramesReceived("c.1", good + bad + good)) == [
            Forward(("N",), good, 1),
            Send("c.1", Refused(reason, sequence=2)),
            Forward(("N",), good, 1),
        ]
    tell(broker, "c.1", Unadvertise("a"))
    assert handle(broker, FramesReceived("c.1", good)) == [Send("c.1", Refused(reason, sequence=1))]


def test_what_one_client_may_publish_another_may_not() -> None:
    broker = new_broker(
        ClientUp("d.1"),
        ControlReceived("N", Subscribe("n", "exists x")),
        ControlReceived("c.1", Advertise("a", "x < 3")),
        advertisements_required=True,
    )
    own, other = notification("c.1", {"x": 1}), notification("d.1", {"x": 1})
    from_neighbour = notification("d.1", {"x": 1})
    assert handle(broker, FramesReceived("c.1", own)) == [Forward(("N",), own, 1)]
    assert handle(broker, FramesReceived("M", from_neighbour)) == [
        Forward(("N",), from_neighbour, 1)
    ]
    (effect,) = handle(broker, FramesReceived("d.1", other))
    assert isinstance(effect, Send)


def test_where_advertisements_are_off_nobody_needs_them_and_nobody_is_told() -> None:
    broker = new_broker(ControlReceived("N", Subscribe("n", "x = 1")))
    assert tell(broker, "c.1", Advertise("a", "y = 1")) == []
    frame = notification("c.1", {"x": 1})
    assert handle(broker, FramesReceived("c.1", frame)) == [Forward(("N",), frame, 1)]


@pytest.mark.parametrize("advertisement_routing", ALGORITHMS)
@pytest.mark.parametrize("root", [None, "B2"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_advertisements_under_any_algorithm_and_variant(
    algorithm: str, root: str | None, advertisement_routing: str
) -> None:
    links = [("B1", "B2"), ("B2", "B3"), ("B2", "B4")]
    network = Wired(
        links,
        algorithm=algorithm,
        root=root,
        advertisements_required=True,
        advertisement_routing=advertisement_routing,
    )
    for client, broker in (("s.1", "B1"), ("t.1", "B3"), ("p.1", "B3"), ("q.1", "B4")):
        network.connect(client, broker)
    network.subscribe("s.1", "a", "x > 0")
    network.subscribe("t.1", "a", "x > 5")
    network.run()
    network.advertise("p.1", "a", "x < 9")
    network.advertise("q.1", "a", "x < 3")
    network.run()
    wanted = [network.publish("p.1", {"x": 1}), network.publish("p.1", {"x": 7})]
    network.run()
    wanted.append(network.publish("q.1", {"x": 2}))
    network.run()
    assert network.got == {"s.1": wanted, "t.1": [wanted[1]], "p.1": [], "q.1": []}
    network.unadvertise("p.1", "a")
    network.unadvertise("q.1", "a")
    network.run()
    network.check()
    if advertisement_routing != "flooding":
        assert [len(broker.subscriptions) for broker in network.brokers.values()] == [1, 0, 1, 0]


# --- rows ---------------------------------------------------------------------------------


def rows(effects: list[Effect]) -> list[tuple[str, str]]:
    return [
        (effect.kind, effect.fields["filter"]) for effect in effects if isinstance(effect, Record)
    ]


def test_what_clients_do_is_recorded_and_what_neighbours_do_is_not() -> None:
    broker = new_broker(recording=True)
    assert rows(tell(broker, "c.1", Subscribe("a", "x=1"))) == [("subscribed", "x = 1")]
    assert rows(tell(broker, "c.1", Advertise("a", "x=1"))) == [("advertised", "x = 1")]
    assert rows(tell(broker, "N", Subscribe("n", "x = 1"))) == []
    assert rows(tell(broker, "N", Advertise("n", "x = 1"))) == []
    assert rows(handle(broker, LinkDown("N"))) == []
    assert rows(tell(broker, "c.1", Unadvertise("a"))) == [("unadvertised", "x = 1")]
    assert rows(handle(broker, ClientDown("c.1"))) == [("unsubscribed", "x = 1")]


def test_an_end_is_recorded_when_the_client_no_longer_wants_the_same() -> None:
    broker = new_broker(recording=True)
    tell(broker, "c.1", Subscribe("a", "x = 1"))
    tell(broker, "c.1", Subscribe("b", "x = 1"))
    assert rows(tell(broker, "c.1", Unsubscribe("a"))) == []
    assert rows(tell(broker, "c.1", Subscribe("b", "x = 2"))) == [
        ("subscribed", "x = 2"),
        ("unsubscribed", "x = 1"),
    ]
    tell(broker, "c.1", Subscribe("c", "x = 2"))
    assert rows(tell(broker, "c.1", Subscribe("b", "x = 3"))) == [("subscribed", "x = 3")]
    tell(broker, "c.1", Subscribe("d", "x = 3"))
    assert rows(handle(broker, ClientDown("c.1"))) == [
        ("unsubscribed", "x = 2"),
        ("unsubscribed", "x = 3"),
    ]


def test_what_was_given_up_before_the_wave_came_back_has_not_settled() -> None:
    network = Line(2, recording=True)
    network.connect("c.1", "B1")
    network.subscribe("c.1", "a", "x = 1", settle=True)
    network.unsubscribe("c.1", "a")
    network.subscribe("c.1", "a", "x = 1")
    network.run()
    assert network.settled("c.1") == {1: True}
    kinds = [row.kind for _, row in network.rows if isinstance(row, Record)]
    assert kinds == ["subscribed", "unsubscribed", "subscribed"]


def test_a_settled_row_names_what_has_settled() -> None:
    network = Line(2, recording=True, advertisements_required=True)
    network.connect("c.1", "B1")
    network.advertise("c.1", "a", "x = 1", settle=True)
    network.run()
    assert network.rows[-1] == (
        "B1",
        Record("settled", {"client": "c.1", "filter": "x = 1", "message": "advertised"}),
    )


def test_configuration_can_be_read_from_plain_data() -> None:
    plain = {"id": "B1", "settle_interval": 0.1}
    assert msgspec.convert(plain, BrokerConfig) == BrokerConfig(id="B1", settle_interval=0.1)


# --- who is away, what was given up, who is there ------------------------------------------


def test_a_neighbour_that_is_away_keeps_its_entries() -> None:
    broker = new_broker()
    tell(broker, "N", Subscribe("x", "price > 1"))
    assert handle(broker, NeighbourAway("N")) == []
    frame = notification("c.1", {"price": 2})
    assert handle(broker, FramesReceived("c.1", frame)) == [Forward(("N",), frame, 1)]
    settled = tell(broker, "c.1", Unadvertise("never", request=1))
    assert settled == [Send("c.1", Refused("an unadvertisement never advertised: never", 1))]
    assert handle(broker, NeighbourBack("N")) == []
    assert broker.report().away == ()


def test_a_survey_over_a_tree_finds_all_brokers_and_their_links() -> None:
    wired = Wired([("A", "B"), ("B", "C")])
    wired.connect("c.1", "A")
    wired.ask("c.1", Survey(5))
    wired.run()
    (answer,) = wired.answers["c.1"]
    assert isinstance(answer, Surveyed)
    assert answer.request == 5
    assert {one.id: (sorted(one.neighbours), one.clients) for one in answer.brokers} == {
        "A": (["B"], 1),
        "B": (["A", "C"], 0),
        "C": (["B"], 0),
    }


def test_the_driver_gets_a_survey_under_the_name_of_the_broker() -> None:
    broker = Broker(BrokerConfig(id="B", addresses=("x:1",), admin="y:2", release="9"))
    report = BrokerReport("B", 1, addresses=("x:1",), admin="y:2", release="9", can_change=True)
    assert broker.handle(SurveyRequested(3), 0.0) == [Send("B", Surveyed(3, (report,)))]
