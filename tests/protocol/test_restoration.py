"""Brokers that restart: nobody upstream notices, and nobody routes by half a table."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.brokers import handle, new_broker, tell
from protocol.wiring import Line, Wired, random_links
from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.events import (
    ClientArrived,
    ClientUp,
    ControlReceived,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    Tick,
)
from sapwood.protocol.messages import (
    Advertise,
    ClientMoved,
    Echo,
    Message,
    Missed,
    Probe,
    Settled,
    Subscribe,
    TableComplete,
    Unadvertise,
    Unsubscribe,
)

MakeLine = Callable[..., Line]
RESTART = ("restart",)
COMPLETE = TableComplete()
ADVERTISEMENTS = TableComplete(advertisements_only=True)
ENDS = (Unsubscribe, Unadvertise)


def id_of(text: str) -> str:
    return Filter(text).id


# --- the neighbour of a restarted broker --------------------------------------------------


def restarted(name: str = "N") -> LinkUp:
    return LinkUp(name, features=RESTART, restarted=True)


def told_by_n(*events: ControlReceived | LinkUp) -> Broker:
    """N wants two things, of which M was told, and was restarted."""
    return new_broker(
        LinkUp("N", features=RESTART),
        ControlReceived("N", Subscribe("1", "x = 1")),
        ControlReceived("N", Subscribe("2", "x = 2")),
        ControlReceived("c.1", Subscribe("c", "y = 1")),
        *events,
        stale_seconds=60.0,
    )


def test_a_new_neighbour_with_the_feature_is_told_when_the_table_is_complete() -> None:
    broker = new_broker(ControlReceived("c.1", Subscribe("c", "y = 1")))
    assert handle(broker, LinkUp("Z", features=RESTART)) == [
        Send("Z", Subscribe(id_of("y = 1"), "y = 1")),
        Send("Z", COMPLETE),
    ]
    assert tell(broker, "Z", COMPLETE) == []
    assert handle(broker, LinkUp("Y")) == [Send("Y", Subscribe(id_of("y = 1"), "y = 1"))]


def test_entries_of_a_restarted_neighbour_stay_and_it_is_told_everything() -> None:
    broker = told_by_n()
    assert handle(broker, restarted()) == [
        Send("N", Subscribe(id_of("y = 1"), "y = 1")),
        Send("N", COMPLETE),
    ]
    assert len(broker.subscriptions.of("N")) == 2
    assert broker.next_at == 60.0
    assert broker.reports()["restoration"] == {"missing": [], "stale": {"N": 2}}


def test_what_is_told_again_is_not_told_to_others_and_what_is_not_goes_at_once() -> None:
    broker = told_by_n(restarted())
    assert tell(broker, "N", Subscribe("1", "x = 1")) == []
    assert tell(broker, "N", COMPLETE) == [Send("M", Unsubscribe(id_of("x = 2")))]
    assert broker.next_at is None
    assert tell(broker, "N", COMPLETE) == []
    assert handle(broker, Tick(), 60.0) == []
    assert [entry.id for entry in broker.subscriptions.of("N")] == ["1"]


def test_what_is_replaced_or_taken_back_meanwhile_is_not_swept() -> None:
    broker = told_by_n(restarted())
    assert tell(broker, "N", Subscribe("1", "x = 3")) == [
        Send("M", Subscribe(id_of("x = 3"), "x = 3")),
        Send("M", Unsubscribe(id_of("x = 1"))),
    ]
    assert tell(broker, "N", Unsubscribe("2")) == [Send("M", Unsubscribe(id_of("x = 2")))]
    assert tell(broker, "N", COMPLETE) == []


def test_advertisements_are_kept_and_swept_by_themselves() -> None:
    broker = new_broker(
        LinkUp("N", features=RESTART),
        ControlReceived("N", Advertise("1", "y < 0")),
        ControlReceived("N", Advertise("2", "y > 0")),
        ControlReceived("N", Subscribe("1", "z = 1")),
        ControlReceived("c.1", Subscribe("c", "y = 1")),
        advertisements_required=True,
    )
    assert handle(broker, restarted()) == [
        Send("N", Subscribe(id_of("y = 1"), "y = 1")),
        Send("N", ADVERTISEMENTS),
        Send("N", COMPLETE),
    ]
    assert tell(broker, "N", Advertise("1", "y < 0")) == []
    assert tell(broker, "N", ADVERTISEMENTS) == [
        Send("M", Unadvertise(id_of("y > 0"))),
        Send("N", Unsubscribe(id_of("y = 1"))),
    ]
    assert len(broker.subscriptions.of("N")) == 1
    tell(broker, "N", COMPLETE)
    assert broker.subscriptions.of("N") == []


def test_a_table_that_is_never_completed_is_swept_after_a_time() -> None:
    broker = told_by_n(restarted())
    tell(broker, "N", Subscribe("2", "x = 2"))
    assert handle(broker, Tick(), 59.0) == []
    assert handle(broker, Tick(), 60.0) == [Send("M", Unsubscribe(id_of("x = 1")))]


@pytest.mark.parametrize("until", [float("nan"), float("inf"), 1e9])
def test_a_spoilt_time_keeps_nothing_for_ever(until: float) -> None:
    broker = told_by_n(restarted())
    broker.restoration.stale["N"].until = until
    assert len(handle(broker, Tick(), 1.0)) == 2


def test_a_second_restart_makes_everything_stale_again() -> None:
    broker = told_by_n(restarted())
    tell(broker, "N", Subscribe("1", "x = 1"))
    broker.handle(restarted(), 5.0)
    assert broker.next_at == 65.0
    assert len(tell(broker, "N", COMPLETE)) == 2


def test_a_neighbour_that_is_gone_has_nothing_stale() -> None:
    broker = told_by_n(restarted())
    assert len(handle(broker, LinkDown("N"))) == 2
    assert broker.next_at is None


@pytest.mark.parametrize(
    "event",
    [
        LinkUp("N", restarted=True),  # does not say when it is complete
        LinkUp("N", features=RESTART),  # was not restarted
        LinkUp("N", in_tree=False, features=RESTART, restarted=True),
    ],
)
def test_otherwise_a_link_that_comes_again_begins_anew(event: LinkUp) -> None:
    broker = told_by_n()
    effects = handle(broker, event)
    assert effects[:2] == [
        Send("M", Unsubscribe(id_of("x = 1"))),
        Send("M", Unsubscribe(id_of("x = 2"))),
    ]
    assert broker.subscriptions.of("N") == []


def test_waves_do_not_wait_for_an_echo_of_a_restarted_neighbour() -> None:
    network = Line(2, features=RESTART)
    network.connect("c.1", "B1")
    network.subscribe("c.1", "a", "x = 1", settle=True)
    network.crash("B2")
    network.rejoin("B1", "B2")
    network.run_ticks()
    network.subscribe("c.1", "b", "x = 2", settle=True)
    network.run_ticks()
    assert network.settled("c.1")[2]
    network.check()


# --- the restarted broker -----------------------------------------------------------------


def new_restoring(*expected: str) -> Broker:
    return Broker(BrokerConfig(id="B", expected=expected, restore_seconds=30.0))


def say(broker: Broker, source: str, message: Message, now: float = 0.0) -> list[Effect]:
    return handle(broker, ControlReceived(source, message), now)


def test_a_table_is_complete_for_one_when_all_others_have_completed_theirs() -> None:
    broker = new_restoring("N", "M", "K")
    for name in ("N", "M", "K"):
        assert handle(broker, LinkUp(name, features=RESTART)) == []
    assert say(broker, "N", COMPLETE) == []
    assert say(broker, "M", COMPLETE) == [Send("K", COMPLETE)]
    assert broker.reports()["restoration"]["missing"] == ["K"]
    assert say(broker, "K", COMPLETE) == [Send("N", COMPLETE), Send("M", COMPLETE)]
    assert not broker.is_restoring
    assert broker.next_at is None


def test_a_neighbour_that_never_comes_is_waited_for_in_vain_for_a_time() -> None:
    broker = new_restoring("N", "gone")
    handle(broker, LinkUp("N", features=RESTART), 5.0)
    assert say(broker, "N", COMPLETE, 6.0) == []
    assert broker.next_at == 35.0
    assert handle(broker, Tick(), 34.0) == []
    assert handle(broker, Tick(), 35.0) == [Send("N", COMPLETE)]
    assert not broker.is_restoring


def test_the_time_begins_with_a_tick_if_nothing_happens() -> None:
    broker = new_restoring("N")
    assert broker.next_at == float("-inf")
    assert handle(broker, Tick(), 100.0) == []
    assert broker.next_at == 130.0
    broker.restoration.until = float("nan")
    assert handle(broker, Tick(), 101.0) == []
    assert not broker.is_restoring


@pytest.mark.parametrize("event", [LinkUp("N"), LinkUp("N", features=RESTART, in_tree=False)])
def test_nobody_waits_for_a_neighbour_that_never_says_when_it_is_complete(event: LinkUp) -> None:
    broker = new_restoring("N")
    assert handle(broker, event) == []
    assert not broker.is_restoring


def test_a_neighbour_that_is_away_is_told_when_it_is_back() -> None:
    broker = new_restoring("N", "M")
    handle(broker, LinkUp("N", features=RESTART))
    handle(broker, LinkUp("M", features=RESTART))
    handle(broker, NeighbourAway("N"))
    assert say(broker, "M", Subscribe("m", "x = 1")) == []
    assert say(broker, "M", COMPLETE) == []
    assert handle(broker, NeighbourBack("N")) == [
        Send("N", Subscribe(id_of("x = 1"), "x = 1")),
        Send("N", COMPLETE),
    ]


def test_no_wave_starts_before_the_tables_are_complete() -> None:
    broker = new_restoring("N")
    handle(broker, LinkUp("N", features=RESTART))
    handle(broker, ClientUp("c.1"))
    assert len(say(broker, "c.1", Subscribe("a", "x = 1", request=1))) == 1
    assert handle(broker, Tick(), 1.0) == []
    assert say(broker, "N", COMPLETE, 2.0) == []
    assert broker.next_at is not None
    assert broker.next_at <= 2.0
    assert len(handle(broker, Tick(), 2.0)) == 1  # the probe


def test_the_patience_of_requests_runs_meanwhile() -> None:
    broker = Broker(BrokerConfig(id="B", expected=("N",), settle_patience=10.0))
    handle(broker, ClientUp("c.1"))
    say(broker, "c.1", Subscribe("a", "x = 1", request=1))
    assert handle(broker, Tick(), 10.0) == [Send("c.1", Settled(1, settled=False))]


# --- networks -----------------------------------------------------------------------------


def settled_line(make_line: MakeLine, n: int, **options: object) -> Line:
    """Clients at both ends want something, and advertise it."""
    network = make_line(n, features=RESTART, **options)
    for number in (1, n):
        network.connect(f"c{number}.1", f"B{number}")
        network.subscribe(f"c{number}.1", "a", f"x = {number}")
        network.advertise(f"c{number}.1", "a", "x > 0")
    network.run()
    network.sent.clear()
    return network


@pytest.mark.parametrize("advertisements", [False, True])
@pytest.mark.parametrize("crashed", [("B3",), ("B3", "B4"), ("B2", "B3", "B4")])
def test_nothing_is_taken_back_when_brokers_come_back_with_the_same_wishes(
    make_line: MakeLine, crashed: tuple[str, ...], advertisements: bool
) -> None:
    network = settled_line(make_line, 5, advertisements_required=advertisements)
    network.crash(*crashed)
    links = [(f"B{n}", f"B{n + 1}") for n in range(1, 5)]
    for a, b in links:
        if a in crashed or b in crashed:
            network.rejoin(a, b)
    assert all(network.brokers[name].is_restoring for name in crashed)
    network.run()
    assert not any(broker.is_restoring for broker in network.brokers.values())
    assert [one for one in network.sent if isinstance(one[2], ENDS)] == []
    beyond = [(a, b) for a, b in links if a not in crashed and b not in crashed]
    assert [one for one in network.sent if one[:2] in beyond or one[1::-1] in beyond] == []
    assert network.next_tick() is None
    network.publish("c5.1", {"x": 1})
    network.run()
    assert network.got["c1.1"] == [("c5.1", 1)]


def test_wishes_that_did_not_come_back_are_taken_back_upstream(make_line: MakeLine) -> None:
    network = make_line(4, features=RESTART)
    network.connect("c.1", "B3")
    network.subscribe("c.1", "a", "x = 1")
    network.run()
    network.crash("B3")  # and its client
    network.rejoin("B2", "B3")
    network.rejoin("B3", "B4")
    network.run()
    assert all(len(broker.subscriptions) == 0 for broker in network.brokers.values())


def test_if_one_neighbour_never_comes_back_the_others_go_on(make_line: MakeLine) -> None:
    network = settled_line(make_line, 4)
    network.crash("B2", "B3")
    network.rejoin("B1", "B2")
    network.rejoin("B2", "B3")
    network.cut("B3", "B4")
    network.run()
    assert [one.id for one in network.brokers.values() if one.is_restoring] == ["B2", "B3"]
    assert len(network.brokers["B1"].subscriptions.of("B2")) == 1  # kept so far
    network.run_ticks()
    assert not network.brokers["B2"].is_restoring
    assert network.brokers["B1"].subscriptions.of("B2") == []


@pytest.mark.slow
@given(st.integers(0, 2**32))
def test_after_any_restarts_the_network_is_as_if_nothing_had_happened(seed: int) -> None:
    random = Random(seed)
    links = random_links(6, random)
    network = Wired(
        links,
        algorithm=random.choice(["simple", "identity", "covering", "merging"]),
        random=random,
        features=RESTART,
        advertisements_required=random.random() < 0.5,
    )
    stays = [f"B{number}" for number in range(1, 7) if random.random() < 0.5] or ["B1"]
    for number, name in enumerate(stays):
        network.connect(f"c{number}.1", name)
        for entry in range(3):
            least = random.randrange(5)
            network.subscribe(f"c{number}.1", str(entry), f"x > {least}")
            network.advertise(f"c{number}.1", str(entry), f"x < {least + 3}")
    for _ in range(random.randrange(40)):
        network.step()
    crashed = [name for name in network.brokers if name not in stays]
    network.crash(*crashed)
    for a, b in links:
        if a in crashed or b in crashed:
            network.rejoin(a, b)
            network.step()
    network.run_ticks()
    network.check()
    assert not any(broker.is_restoring for broker in network.brokers.values())
    assert network.now < 1.0, "nobody had to wait for a time to pass"


def test_a_wave_does_not_reach_who_is_not_back_yet() -> None:
    """Nothing has settled everywhere while a neighbour is missing after a restart."""
    broker = Broker(BrokerConfig(id="B", expected=("N", "M")))
    broker.handle(LinkUp("N", features=RESTART), 0.0)
    probe = ControlReceived("N", Probe("far", 1))
    assert broker.handle(probe, 0.1) == [Send("N", Echo("far", 1, unreachable=("M",)))]


def test_a_neighbour_whose_table_comes_too_late_is_told_so_once() -> None:
    """Until then nothing went to it that it wants."""
    broker = Broker(BrokerConfig(id="B", expected=("N", "M", "O"), restore_seconds=2.0))
    broker.handle(Tick(), 0.0)
    broker.handle(LinkUp("N", features=RESTART), 0.0)
    assert tell(broker, "N", COMPLETE) == []
    broker.handle(LinkUp("M", features=RESTART), 1.0)
    assert broker.handle(Tick(), 2.0) == [Send("N", COMPLETE), Send("M", COMPLETE)]
    assert tell(broker, "M", ADVERTISEMENTS) == []
    assert tell(broker, "M", COMPLETE) == [Send("M", Missed(0, "B-M"))]
    assert tell(broker, "M", COMPLETE) == []
    assert tell(broker, "N", COMPLETE) == [], "this one was in time"
    late = Send("O", Missed(0, "B-O"))
    assert broker.handle(LinkUp("O"), 3.0) == [late], "one that never says that it is complete"
    assert broker.handle(LinkUp("O"), 4.0) == []


def test_who_has_moved_is_told_before_the_table_is_complete() -> None:
    """With that the neighbour takes part, and it must not take what is older than the move."""
    broker = new_broker(ClientUp("d.1"), ClientArrived("d.1", 3))
    told = broker.handle(restarted("M"), 0.0)
    moved = ClientMoved("d.1", 3, again=1, home=f"{broker.id}.1")
    assert told.index(Send("M", moved)) < told.index(Send("M", COMPLETE))
