"""The neighbour of a broker that leaves, by itself: what it says, keeps back and takes over."""

from __future__ import annotations

import pytest

from protocol.brokers import handle, new_broker, tell
from protocol.wiring import notification
from sapwood.protocol.broker import Broker
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import (
    Adopted,
    Adoptee,
    Bar,
    Effect,
    Forward,
    HandOver,
    Record,
    Send,
    StayHere,
)
from sapwood.protocol.events import (
    ClientHandedOver,
    ControlReceived,
    LeaveBegun,
    LeaveEnded,
    LinkDown,
    LinkUp,
    Tick,
)
from sapwood.protocol.fences import Fence
from sapwood.protocol.messages import (
    CODEC,
    Adopt,
    AdoptedStream,
    ClientMoved,
    Flushed,
    Leaving,
    Left,
    Missed,
    NotAdopting,
    Probe,
    SpooledRun,
    Subscribe,
    Unsubscribe,
)
from sapwood.protocol.reconfigure.leaving import (
    ADOPTION_SECONDS,
    CLIENT_BYTES_MAX,
    SILENCE_SECONDS,
    Departed,
)

CHANGE = "N.1/1"
STREAM = AdoptedStream(session=1, secret="s", homes=(("N", 1),), received=3, acknowledged=2, sent=4)
ALL = ("s", "a.1/1", "x > 1")


def adopting(*events: Adopt, routing: str = "covering", **config: object) -> Broker:
    """A broker to which N hands its clients over; N wants what they want, and M knows."""
    broker = new_broker(routing=routing, **config)
    tell(broker, "N", Subscribe("a.1/1", "x > 1"))
    tell(broker, "N", Leaving(CHANGE, 1))
    for event in events:
        assert tell(broker, "N", event) == []
    return broker


def whole(client: str = "a.1", stream: AdoptedStream = STREAM) -> Adopt:
    return Adopt(CHANGE, client, stream, ((*ALL[:1], f"{client}/1", ALL[2]),), is_last=True)  # type: ignore[arg-type]


def test_the_stream_stops_behind_the_last_message() -> None:
    broker = new_broker()
    assert tell(broker, "N", Leaving(CHANGE, 2)) == [
        Send("N", Flushed(CHANGE)),
        Bar("N", is_barred=True),
    ]
    assert broker.reports()["leaving"] == {"adopting": 1}


def test_whoever_cannot_take_over_says_why() -> None:
    broker = new_broker(clients_max=2)
    refused = NotAdopting(CHANGE, "there is room for 1 clients, not for 2")
    assert tell(broker, "N", Leaving(CHANGE, 2)) == [Send("N", refused)]
    assert broker.leaving.adopting == {}
    tell(broker, "N", Leaving(CHANGE, 1))
    again = NotAdopting("N.1/2", "the clients are being handed over already")
    assert tell(broker, "N", Leaving("N.1/2", 1)) == [Send("N", again)]


def test_two_that_leave_each_other_both_stay_with_what_they_have() -> None:
    broker = new_broker()
    assert handle(broker, LeaveBegun("N", "B.1/1", 1)) == [Send("N", Leaving("B.1/1", 1))]
    refused = NotAdopting(CHANGE, "broker B is leaving, too")
    assert tell(broker, "N", Leaving(CHANGE, 1)) == [Send("N", refused)]
    later = broker.handle(ControlReceived("N", Leaving(CHANGE, 1)), ADOPTION_SECONDS + 1.0)
    assert later[0] == Send("N", Flushed(CHANGE)), "nothing lasts for ever"


def test_a_broker_that_restores_its_tables_takes_nobody_over() -> None:
    broker = new_broker(expected=("N9",))
    assert tell(broker, "M", Leaving(CHANGE, 1)) == [
        Send("M", NotAdopting(CHANGE, "broker B was restarted and restores its tables"))
    ]


def test_the_answers_are_for_the_driver() -> None:
    broker = new_broker()
    assert tell(broker, "N", Flushed("B.1/1")) == [HandOver("N", "B.1/1")]
    assert tell(broker, "N", NotAdopting("B.1/1", "no")) == [StayHere("N", "B.1/1", "no")]


@pytest.mark.parametrize("routing", ["covering", "merging", "identity", "simple"])
def test_clients_take_the_place_of_their_broker_and_nobody_is_told(routing: str) -> None:
    broker = adopting(whole(), routing=routing)
    assert tell(broker, "N", Left(CHANGE)) == [Adopted("N", (Adoptee("a.1", STREAM, ()),))]
    assert "N" not in broker.neighbours
    assert broker.clients.claims("a.1", "subscribed") == {"a.1/1": broker.parse("x > 1")}
    assert "a.1" in broker.clients.away
    assert list(broker.leaving.adopting) == []
    assert tell(broker, "a.1", Unsubscribe("1")) != [], "it is a client like any other"


def test_what_nobody_had_told_is_told_once_all_are_here() -> None:
    broker = adopting(whole(), whole("b.1"))
    tell(broker, "N", Unsubscribe("a.1/1"))
    effects = tell(broker, "N", Left(CHANGE))
    told = [one for one in effects if isinstance(one, Send)]
    assert [one.destination for one in told] == ["M"], "one filter, for both of them"


def test_the_change_is_recorded() -> None:
    broker = adopting(whole(), recording=True)
    *_, last = tell(broker, "N", Left(CHANGE))
    fields = {"source": "N", "message": "N.1/1 removed N: 1 clients in 0.000 s"}
    assert last == Record("reconfigured", fields)


def test_a_client_that_waits_for_an_answer_gets_it_from_a_new_wave() -> None:
    stream = AdoptedStream(session=1, requests=(("settling", 7, "subscribed", "a.1/1"),))
    broker = adopting(whole(stream=stream))
    effects = tell(broker, "N", Left(CHANGE))
    assert effects == [Adopted("N", (Adoptee("a.1", stream, ()),)), Send("M", Probe("B", 1))]
    (waiting,) = broker.waves.under_way
    number = broker.clients.standing("a.1", "subscribed", "a.1/1")
    assert number is not None
    assert (waiting.user, waiting.client, waiting.number) == ("settling", "a.1", 7)
    assert waiting.subject == ("subscribed", "a.1/1", number.number)


def test_an_answer_that_no_machine_gives_is_not_waited_for() -> None:
    stream = AdoptedStream(session=1, requests=(("nobody", 7, "", ""),))
    broker = adopting(whole(stream=stream))
    tell(broker, "N", Left(CHANGE))
    assert broker.waves.under_way == broker.waves.queue == []


def test_who_is_elsewhere_by_now_is_left_there() -> None:
    broker = adopting(whole(), whole("c.1"))
    tell(broker, "M", ClientMoved("a.1", 4))
    effects = tell(broker, "N", Left(CHANGE))
    assert effects[0] == Adopted("N", ()), "a.1 is behind M, and c.1 is here with a newer stream"
    assert broker.fences.homes["a.1"] == Fence("M", 4)


def test_a_fence_follows_the_client() -> None:
    broker = adopting(whole())
    tell(broker, "N", ClientMoved("a.1", 4))
    tell(broker, "N", Left(CHANGE))
    assert broker.fences.homes == {"a.1": Fence("a.1", 4)}


def test_a_claim_that_means_nothing_is_left_out() -> None:
    bad = Adopt(
        CHANGE, "a.1", STREAM, (("s", "a.1/1", "x >"), ("a", "a.1/2", "x > 0")), is_last=True
    )
    broker = adopting(bad)
    tell(broker, "N", Left(CHANGE))
    assert broker.clients.claims("a.1", "subscribed") == {}
    assert list(broker.clients.claims("a.1", "advertised")) == ["a.1/2"]
    assert broker.drops.counts[Drop.MALFORMED] == 1


def test_what_belongs_to_no_change_is_dropped() -> None:
    broker = new_broker()
    assert tell(broker, "N", whole()) == []
    assert tell(broker, "N", Left(CHANGE)) == []
    assert broker.drops.counts == {Drop.STRAY: 2}
    assert "N" in broker.neighbours


def given_up(reason: str) -> list[Effect]:
    return [Bar("N", is_barred=False), Send("N", NotAdopting(CHANGE, reason))]


def test_a_part_without_its_beginning_ends_it() -> None:
    broker = adopting()
    effects = tell(broker, "N", Adopt(CHANGE, "a.1", is_last=True))
    assert effects == given_up("parts of a.1 are missing")
    assert broker.leaving.adopting == {}


def test_more_than_a_client_can_have_ends_it() -> None:
    broker = adopting(Adopt(CHANGE, "a.1", STREAM))
    data = bytes(CLIENT_BYTES_MAX + 1)
    effects = tell(broker, "N", Adopt(CHANGE, "a.1", runs=(SpooledRun(data, 1, 1),)))
    assert effects == given_up("a.1 brings along too much")


def test_a_client_that_has_not_come_whole_is_not_taken_over() -> None:
    broker = adopting(Adopt(CHANGE, "a.1", STREAM))
    assert tell(broker, "N", Left(CHANGE))[0] == Adopted("N", ())


def test_who_says_nothing_is_waited_for_only_so_long() -> None:
    broker = adopting()
    assert broker.leaving.next_at == SILENCE_SECONDS
    assert handle(broker, Tick(), SILENCE_SECONDS - 0.1) == []
    broker.handle(ControlReceived("N", Adopt(CHANGE, "a.1", STREAM)), SILENCE_SECONDS - 0.1)
    assert handle(broker, Tick(), SILENCE_SECONDS) == []
    late = 2 * SILENCE_SECONDS
    assert handle(broker, Tick(), late) == given_up("it took too long")
    assert broker.leaving.next_at is None


@pytest.mark.parametrize("at", [1e12, float("nan"), -1e12])
def test_a_spoilt_time_ends_it(at: float) -> None:
    broker = adopting()
    broker.leaving.adopting["N"].heard_at = at
    assert handle(broker, Tick(), 0.1) == given_up("it took too long")


def test_a_link_that_ends_ends_it() -> None:
    for event in (LinkDown("N"), LinkUp("N", features=("restart",), restarted=True)):
        broker = adopting(whole())
        handle(broker, event)
        assert broker.leaving.adopting == {}


def test_a_broker_that_shuts_down_takes_nobody_over() -> None:
    broker = adopting(whole())
    assert handle(broker, LeaveEnded("no more")) == given_up("no more")
    assert handle(broker, LeaveEnded("no more")) == []


def test_who_has_left_is_known_for_some_time() -> None:
    broker = new_broker()
    broker.leaving.note_left("N", 3, 0.0)
    assert broker.leaving.left == {"N": Departed(3, ADOPTION_SECONDS)}
    assert broker.leaving.has_left("N", 3)
    assert not broker.leaving.has_left("N", 4), "the next session may come in"
    handle(broker, Tick(), 1.0)
    assert broker.leaving.has_left("N", 3)
    handle(broker, Tick(), ADOPTION_SECONDS)
    assert not broker.leaving.has_left("N", 3)


def test_what_was_kept_back_goes_to_those_who_want_it_in_order() -> None:
    broker = adopting(whole(), whole("b.1"))
    tell(broker, "N", Left(CHANGE))
    first, second = notification("p.1", {"x": 5}, 1), notification("p.1", {"x": 0}, 2)
    third = notification("p.1", {"x": 2}, 3)
    missed = Missed(2, "M-B", ("x > 3",))
    runs = [
        (first + second, 2),
        (CODEC.encode(missed), 1),
        (None, 4),
        (CODEC.encode(Unsubscribe("7")), 1),
        (third, 1),
    ]
    assert list(broker.leaving.replay("N", runs, {"a.1": None}, 0.0)) == [
        Forward(("a.1",), first, 1),
        Send("a.1", missed),
        Send("a.1", Missed(4, "B-N")),
        Forward(("a.1",), third, 1),
    ]


def test_what_has_expired_meanwhile_is_dropped() -> None:
    broker = adopting(whole())
    tell(broker, "N", Left(CHANGE))
    late = notification("p.1", {"x": 5}, 1, expires_at=3.0)
    assert list(broker.leaving.replay("N", [(late, 1)], {"a.1": None}, 2.0)) == [
        Forward(("a.1",), late, 1)
    ]
    assert list(broker.leaving.replay("N", [(late, 1)], {"a.1": None}, 3.0)) == []
    assert broker.drops.counts[Drop.EXPIRED] == 1


def test_a_client_that_was_handed_over_leaves_no_rows() -> None:
    broker = new_broker(recording=True)
    tell(broker, "c.1", Subscribe("1", "x > 1"))
    effects = handle(broker, ClientHandedOver("c.1"))
    assert [one for one in effects if isinstance(one, Record)] == []
    assert "c.1" not in broker.clients
    assert broker.subscriptions.of("c.1") == []
