"""Comparing tables, message by message; what happens in time is in test_perturbation.py."""

from __future__ import annotations

from collections.abc import Callable
from math import nan

import pytest

from protocol.stabilize.refreshed import (
    PERIOD,
    digest_of,
    handle,
    link_up,
    new_broker,
    refreshing,
    tell,
    want,
)
from sapwood.filters import Filter
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect, Record, ResetStream, Send
from sapwood.protocol.events import (
    ClientAway,
    ClientBack,
    ClientDown,
    ClientUp,
    ControlReceived,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    Tick,
)
from sapwood.protocol.messages import (
    CODEC,
    Advertise,
    Message,
    Missed,
    Refresh,
    Repeat,
    Subscribe,
    TableComplete,
    Unsubscribe,
    Whole,
)
from sapwood.protocol.neighbours import REFRESH, RESTART
from sapwood.protocol.reconfigure.state import Ring
from sapwood.protocol.restoration import Stale
from sapwood.protocol.stabilize.digest import bucket_of
from sapwood.routing.strategy import Entry

ONE, TWO = Filter("a = 1"), Filter("a = 2")
NOTHING = Refresh("covering")


# When it is sent


def test_a_new_link_is_compared_behind_all_that_is_told_over_it() -> None:
    broker = new_broker()
    want(broker, "c.1", "a = 1")
    told = digest_of((ONE.id, "a = 1"))
    assert handle(broker, link_up("L"), 1.0) == [
        Send("L", Subscribe(ONE.id, "a = 1")),
        Send("L", TableComplete()),
        Send("L", Refresh("covering", subscriptions=told)),
    ]


def test_every_period_each_neighbour_gets_one_and_nothing_else() -> None:
    broker = new_broker()
    assert broker.machines[-1].next_at == PERIOD
    assert handle(broker, Tick(), PERIOD - 0.1) == []
    assert handle(broker, Tick(), PERIOD) == [Send("N", NOTHING), Send("M", NOTHING)]
    assert handle(broker, Tick(), PERIOD + 0.1) == []
    assert broker.machines[-1].next_at == 2 * PERIOD


@pytest.mark.parametrize("at", [nan, -1e9, 1e9, float("inf")])
def test_a_time_that_makes_no_sense_is_now(at: float) -> None:
    broker = new_broker()
    refreshing(broker).edges["N"].at = at
    assert handle(broker, Tick(), 1.0) == [Send("N", NOTHING)]
    assert handle(broker, Tick(), 1.1) == []


def test_nothing_is_said_to_a_neighbour_that_is_away_and_all_when_it_is_back() -> None:
    broker = new_broker()
    handle(broker, NeighbourAway("N"), 1.0)
    want(broker, "c.1", "a = 1")
    assert broker.machines[-1].next_at == PERIOD  # of M
    assert handle(broker, Tick(), 50.0) == [
        Send("M", Refresh("covering", subscriptions=digest_of((ONE.id, "a = 1"))))
    ]
    assert handle(broker, NeighbourBack("N"), 200.0) == [
        Send("N", Subscribe(ONE.id, "a = 1")),
        Send("N", Refresh("covering", subscriptions=digest_of((ONE.id, "a = 1")))),
    ]


def test_an_edge_that_rests_says_hears_and_replaces_nothing() -> None:
    broker = new_broker()
    want(broker, "N", "a = 1")
    broker.neighbours["N"].is_frozen = True
    broker.turning.ring = Ring("O.1/1", ("N", broker.id, "O"), 2, 1, 1000.0)
    broker.tree.change = "O.1/1"
    assert refreshing(broker).is_resting("N")
    assert refreshing(broker).is_resting("unknown")
    for message in (NOTHING, Repeat(), Whole("s")):
        assert tell(broker, "N", message) == []
    assert (refreshing(broker).counts["mismatch"], broker.subscriptions.texts("N")) == (
        0,
        {"1": "a = 1"},
    )
    silence = "no comparison of tables came for 1000.0 s"
    assert handle(broker, Tick(), 1000.0) == [
        Send("M", Refresh("covering", subscriptions=digest_of((ONE.id, "a = 1")))),
        ResetStream("M", silence),
        ResetStream("c.1", silence),
    ]
    broker.neighbours["N"].is_frozen = False
    broker.turning.ring = None
    assert handle(broker, Tick(), 1000.1) == [Send("N", NOTHING)]


def test_a_neighbour_without_the_feature_is_left_alone_and_named() -> None:
    broker = new_broker(LinkUp("O", features=(RESTART,)), ClientUp("old.1"))
    assert handle(broker, Tick(), PERIOD) == [Send("N", NOTHING), Send("M", NOTHING)]
    report = refreshing(broker).report()
    assert (report["neighbours_without"], report["clients_without"]) == (["O"], 1)


def test_without_a_scheme_there_is_no_machine() -> None:
    broker = Broker(BrokerConfig(id="B"))
    handle(broker, link_up("N"))
    assert (broker.next_at, "refresh" in broker.reports()) == (None, False)
    assert tell(broker, "N", NOTHING) == []
    assert broker.drops.counts[Drop.NOT_FOR_BROKERS] == 1


@pytest.mark.slow
def test_a_comparison_is_small_whatever_the_tables_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.protocol.stabilize.digest.BUCKET_ENTRIES", 10)
    broker = new_broker(advertisements_required=True)
    sizes = []
    for number in range(100):
        wanted = Subscribe(f"s{number}", f"a = {number} and b = 'some text'")
        broker.handle(ControlReceived("c.1", wanted), 0.0)
        for source in ("c.1", "M"):
            advertised = Advertise(f"a{number}", f"a = {number}")
            broker.handle(ControlReceived(source, advertised), 0.0)
    for at in (PERIOD, 2 * PERIOD):
        sent = [one for one in handle(broker, Tick(), at) if isinstance(one, Send)]
        sizes += [len(CODEC.encode(one.message)) for one in sent if one.destination in "NM"]
    assert len(sizes) == 4
    assert max(sizes) <= 113


# What is compared


def test_equal_tables_are_not_talked_about() -> None:
    broker = new_broker()
    tell(broker, "N", Subscribe("x", "1 = a"))
    said = Refresh("covering", subscriptions=digest_of(("x", "1 = a")))
    assert tell(broker, "N", said) == []
    assert refreshing(broker).counts["mismatch"] == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda broker: broker.remove(broker.subscriptions, "N", "x"),
        lambda broker: broker.add(broker.subscriptions, Entry("N", "y", TWO)),
        lambda broker: broker.add(broker.subscriptions, Entry("N", "x", TWO)),
        lambda broker: broker.subscriptions.add(Entry("N", "x", ONE), "a=1"),
    ],
    ids=["lost", "surplus", "changed", "in other words"],
)
def test_what_was_spoilt_is_asked_for_and_replaced_as_one_change(
    spoil: Callable[[Broker], object],
) -> None:
    broker = new_broker()
    tell(broker, "N", Subscribe("x", "a = 1"))
    right = broker.snapshot()["subscribing"]
    spoil(broker)
    broker.tell_all()
    told = digest_of(("x", "a = 1"))
    asked = tell(broker, "N", Refresh("covering", subscriptions=told))
    assert asked == [Send("N", Repeat("s"))]
    tell(broker, "N", Whole("s", (("x", "a = 1"),), told))
    assert broker.snapshot()["subscribing"] == right
    assert tell(broker, "N", Refresh("covering", subscriptions=told)) == []
    counts = refreshing(broker).counts
    assert (counts["mismatch"], counts["repaired"]) == (1, 1)


def test_the_difference_that_follows_is_told_at_once_and_additions_first() -> None:
    broker = new_broker()
    tell(broker, "N", Subscribe("x", "a = 1"))
    lines = (("y", "a = 2"),)
    assert tell(broker, "N", Whole("s", lines, digest_of(*lines))) == [
        Send("M", Subscribe(TWO.id, "a = 2")),
        Send("M", Unsubscribe(ONE.id)),
        Send("N", Missed(0, "B-N", ("a = 2",))),  # it did not come to N until now
    ]


def test_advertisements_are_compared_by_themselves() -> None:
    broker = new_broker(advertisements_required=True)
    tell(broker, "N", Advertise("x", "a = 1"))
    assert tell(broker, "N", Refresh("covering")) == [Send("N", Repeat("a"))]
    tell(broker, "N", Whole("a"))
    assert len(broker.advertisements) == 0


def test_how_the_edge_is_routed_follows_each_comparison() -> None:
    broker = new_broker()
    tell(broker, "N", Refresh("flooding"))
    assert (broker.neighbours["N"].receives, broker.forwarding.neighbours["N"]) == (
        "flooding",
        True,
    )
    tell(broker, "N", Refresh("simple"))
    assert (broker.neighbours["N"].receives, broker.forwarding.neighbours["N"]) == (
        "simple",
        False,
    )


def test_a_question_is_answered_from_what_is_owed_not_from_what_was_told() -> None:
    broker = new_broker()
    want(broker, "c.1", "a = 1")
    broker.subscriptions.ledgers["N"].told.clear()
    lines = ((ONE.id, "a = 1"),)
    assert tell(broker, "N", Repeat("s")) == [Send("N", Whole("s", lines, digest_of(*lines)))]
    assert broker.subscriptions.told("N") == {ONE.id: ONE}
    assert tell(broker, "N", Repeat("a")) == [Send("N", Whole("a"))]
    tell(broker, "c.1", Unsubscribe("1"))
    assert tell(broker, "N", Repeat("s")) == [Send("N", Whole("s"))]


def test_what_was_told_is_put_right_by_every_comparison() -> None:
    broker = new_broker()
    want(broker, "c.1", "a = 1")
    told = broker.subscriptions.ledgers["N"].told
    del told[ONE.id]
    told["surplus"] = TWO
    broker.handle(Tick(), PERIOD)
    assert handle(broker, ClientDown("c.1"), PERIOD) == [
        Send("N", Unsubscribe(ONE.id)),
        Send("M", Unsubscribe(ONE.id)),
    ]


@pytest.mark.parametrize(
    "message",
    [
        Refresh("unheard-of"),
        Refresh("covering", subscriptions=b"short"),
        Repeat("s", (b"short",)),
        Whole("s", digest=b"short"),
        Whole("s", part=1),
        Whole("s", parts=10**6),
        Whole("s", bucket=5, buckets=5),
        Whole("s", (("x", "a = 1"),), b""),
    ],
)
def test_what_makes_no_sense_is_counted_and_changes_nothing(message: Message) -> None:
    broker = new_broker()
    want(broker, "N", "a = 1")
    before = broker.snapshot()["subscribing"]
    assert tell(broker, "N", message) == []
    assert broker.drops.counts[Drop.MALFORMED] == 1
    assert broker.snapshot()["subscribing"] == before


def test_a_filter_that_cannot_be_read_does_not_keep_out_the_others() -> None:
    broker = new_broker()
    lines = (("x", "no filter ("), ("y", "a = 1"))
    tell(broker, "N", Whole("s", lines, digest_of(*lines)))
    assert broker.subscriptions.texts("N") == {"y": "a = 1"}
    assert broker.drops.counts[Drop.MALFORMED] == 1


def test_who_differs_again_and_again_is_named_and_taken_as_it_comes() -> None:
    broker = new_broker()
    odd = Refresh("covering", subscriptions=bytes(16))
    spoilt = Whole("s", (("x", "a = 1"),), bytes(16))
    for time in range(3):
        assert refreshing(broker).report()["differing"] == []
        tell(broker, "N", spoilt)
        assert (len(broker.subscriptions), tell(broker, "N", odd)) == (
            0,
            [Send("N", Repeat("s"))],
        ), time
    tell(broker, "N", spoilt)
    assert (broker.subscriptions.texts("N"), refreshing(broker).report()["differing"]) == (
        {"x": "a = 1"},
        ["N"],
    )
    right = Refresh("covering", subscriptions=digest_of(("x", "a = 1")))
    assert (tell(broker, "N", right), refreshing(broker).report()["differing"]) == ([], [])


# Buckets and parts


def carried(effects: list[Effect], source: str, target: Broker, now: float) -> list[Effect]:
    """What follows when all that was sent to a broker has arrived."""
    found: list[Effect] = []
    for one in effects:
        if isinstance(one, Send) and one.destination == target.id:
            found += target.handle(ControlReceived(source, one.message), now)
    return found


def test_of_a_large_table_only_the_buckets_that_differ_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sapwood.protocol.stabilize.digest.BUCKET_ENTRIES", 10)
    monkeypatch.setattr("sapwood.protocol.stabilize.digest.PART_BYTES", 128)
    broker, other = new_broker(routing="simple"), new_broker(id="N", routing="simple")
    handle(other, link_up("B"))
    for number in range(100):
        told = broker.handle(ControlReceived("c.1", Subscribe(str(number), f"a = {number}")), 0.0)
        carried(told, "B", other, 0.0)
    right = other.subscriptions.texts("B")
    assert len(right) == 100
    other.remove(other.subscriptions, "B", "c.1/7")
    other.add(other.subscriptions, Entry("B", "c.1/8", TWO))
    other.tell_all()
    asked = carried(broker.handle(Tick(), PERIOD), "B", other, PERIOD)
    (question,) = [one.message for one in asked if isinstance(one, Send)]
    assert isinstance(question, Repeat)
    assert len(question.digests) == 10
    answer = [one for one in carried(asked, "N", broker, PERIOD) if isinstance(one, Send)]
    buckets = {bucket_of(f"c.1/{number}", 10) for number in (7, 8)}
    assert {one.message.bucket for one in answer if isinstance(one.message, Whole)} == buckets
    assert len(answer) > len(buckets)  # in parts
    assert all(len(CODEC.encode(one.message)) < 400 for one in answer)
    carried(list(answer), "B", other, PERIOD)
    assert other.subscriptions.texts("B") == right
    assert refreshing(other).counts == {"mismatch": 1, "repaired": 2}


def test_a_part_out_of_turn_throws_away_what_came_before() -> None:
    lines = (("x", "a = 1"), ("y", "a = 2"), ("z", "a = 3"))
    said = digest_of(*lines)
    first, second, third = (
        Whole("s", (line,), said, part=number, parts=3) for number, line in enumerate(lines)
    )
    for order in [
        (first, third),
        (second, third),
        (first, second, second, third),
        (first, second, NOTHING, third),
        (first, second, Whole("a", third.entries, said, part=2, parts=3)),
    ]:
        broker = new_broker()
        for message in order:
            tell(broker, "N", message)
        assert len(broker.subscriptions) + len(broker.advertisements) == 0, order
        for message in (first, second, third):
            tell(broker, "N", message)
        assert broker.subscriptions.texts("N") == dict(lines)


# Strays and silence


def test_entries_of_strangers_are_removed_at_the_next_tick() -> None:
    broker = new_broker()
    broker.add(broker.subscriptions, Entry("stranger", "x", ONE))
    broker.tell_all()
    assert handle(broker, Tick(), 0.5) == [
        Send("N", Unsubscribe(ONE.id)),
        Send("M", Unsubscribe(ONE.id)),
    ]
    assert refreshing(broker).counts["strays"] == 1


def test_a_neighbour_that_does_not_compare_is_given_up_after_a_stated_time() -> None:
    broker = new_broker()
    late = 2 * PERIOD + 0.5 + 5.0  # where nothing is known of delays
    tell(broker, "M", NOTHING, late)
    tell(broker, "c.1", Refresh(), late)
    assert resets(handle(broker, Tick(), late)) == []
    reset = ResetStream("N", f"no comparison of tables came for {late + 0.6:.1f} s")
    assert resets(handle(broker, Tick(), late + 0.6)) == [reset]
    assert resets(handle(broker, Tick(), late + 1.2)) == []
    again = resets(handle(broker, Tick(), 2 * late + 2))
    assert [(one.peer, one.times) for one in again] == [("N", 2), ("M", 1)]
    tell(broker, "N", NOTHING, 2 * late + 2)
    assert refreshing(broker).edges["N"].silences == 0


def test_a_neighbour_that_compares_less_often_is_waited_for() -> None:
    broker = new_broker(LinkUp("L", features=(REFRESH,), refresh_seconds=300.0))
    edges = refreshing(broker).edges
    for _ in range(20):
        effects = handle(broker, Tick(), edges["L"].heard_at + 600.0)
    assert "L" not in [one.peer for one in resets(effects)]


def resets(effects: list[Effect]) -> list[ResetStream]:
    return [one for one in effects if isinstance(one, ResetStream)]


# Clients


def test_a_client_is_compared_by_its_own_words() -> None:
    broker = new_broker()
    want(broker, "c.1", "1 = a")
    said = Refresh(subscriptions=digest_of(("c.1/1", "1 = a")))
    assert tell(broker, "c.1", said) == []
    broker.subscriptions.add(Entry("c.1", "c.1/1", ONE), "a=1")
    assert tell(broker, "c.1", said) == [Send("c.1", Repeat("s"))]


def test_what_a_client_wants_is_put_right_in_table_claims_and_trace() -> None:
    broker = new_broker(recording=True)
    want(broker, "c.1", "a = 1")
    lines = (("2", "a = 2"),)
    said = digest_of(("c.1/2", "a = 2"))
    effects = tell(broker, "c.1", Whole("s", lines, said))
    rows = [(one.kind, one.fields["filter"]) for one in effects if isinstance(one, Record)]
    assert rows == [("subscribed", "a = 2"), ("unsubscribed", "a = 1")]
    assert broker.clients.claims("c.1", "subscribed") == {"c.1/2": TWO}
    assert [one for one in effects if isinstance(one, Send)] == [
        Send(name, message)
        for name in ("N", "M")
        for message in (Subscribe(TWO.id, "a = 2"), Unsubscribe(ONE.id))
    ] + [Send("c.1", Missed(0, "B-c.1", ("a = 2",)))]


def test_a_client_cannot_ask() -> None:
    broker = new_broker()
    assert tell(broker, "c.1", Repeat()) == []
    assert broker.drops.counts[Drop.NOT_FOR_BROKERS] == 1


def test_a_silent_client_is_asked_and_then_sent_away() -> None:
    broker = new_broker(LinkDown("N"), LinkDown("M"))
    slack = 0.5 + 5.0
    assert handle(broker, Tick(), 2 * PERIOD + slack) == []
    asked = [Send("c.1", Repeat("s")), Send("c.1", Repeat("a"))]
    assert handle(broker, Tick(), 2 * PERIOD + slack + 4) == asked
    assert handle(broker, Tick(), 2 * PERIOD + slack + 8) == []
    reason = f"no comparison of tables came for {3 * PERIOD + slack + 1:.1f} s"
    assert handle(broker, Tick(), 3 * PERIOD + slack + 1) == [ResetStream("c.1", reason)]


def test_an_answer_or_an_old_release_keeps_a_client() -> None:
    broker = new_broker(ClientUp("old.1"), LinkDown("N"), LinkDown("M"))
    for number in range(1, 5):
        assert resets(handle(broker, Tick(), number * 80.0)) == []
        tell(broker, "c.1", Whole("s"), number * 80.0 + 1)


def test_a_client_that_is_away_is_not_silent() -> None:
    broker = new_broker(LinkDown("N"), LinkDown("M"))
    handle(broker, ClientAway("c.1"), 1.0)
    assert handle(broker, Tick(), 1000.0) == []
    handle(broker, ClientBack("c.1"), 1080.0)
    assert handle(broker, Tick(), 1100.0) == []
    handle(broker, ClientDown("c.1"), 1100.0)
    assert handle(broker, Tick(), 9000.0) == []
    assert refreshing(broker).edges == {}


# Restarts


def test_what_a_restarted_neighbour_has_not_told_yet_is_neither_compared_nor_swept() -> None:
    broker = new_broker()
    want(broker, "N", "a = 1", "a = 2")
    handle(broker, link_up("N", restarted=True), 1.0)
    said = Refresh("covering", is_complete=False)
    assert tell(broker, "N", said, 2.0) == []  # it has told nothing, and that is right
    tell(broker, "N", Subscribe("1", "a = 1"), 3.0)
    one = digest_of(("1", "a = 1"))
    said = Refresh("covering", subscriptions=one, is_complete=False)
    assert tell(broker, "N", said, 4.0) == []
    tell(broker, "N", Whole("s", (("1", "a = 1"),), one), 5.0)
    assert broker.subscriptions.texts("N") == {"1": "a = 1", "2": "a = 2"}
    assert refreshing(broker).counts["mismatch"] == 0
    tell(broker, "N", TableComplete(), 6.0)
    assert broker.subscriptions.texts("N") == {"1": "a = 1"}
    assert tell(broker, "N", Refresh("covering", subscriptions=one), 7.0) == []


def test_a_bucket_that_is_told_is_not_stale_any_more() -> None:
    broker = new_broker()
    want(broker, "N", "a = 1")
    handle(broker, link_up("N", restarted=True), 1.0)
    one = digest_of(("1", "a = 1"))
    tell(broker, "N", Whole("s", (("1", "a = 1"),), one), 2.0)
    tell(broker, "N", TableComplete(), 3.0)
    assert broker.subscriptions.texts("N") == {"1": "a = 1"}


def test_what_is_stale_by_mistake_ends_with_the_next_comparison() -> None:
    broker = new_broker()
    want(broker, "N", "a = 1")
    broker.restoration.stale["N"] = Stale(nan, {"1": None}, {})
    tell(broker, "N", NOTHING)
    assert (broker.subscriptions.texts("N"), broker.restoration.stale) == ({}, {})


def test_a_restoring_broker_says_that_its_table_is_not_complete() -> None:
    broker = new_broker(expected=("N", "M"))
    effects = handle(broker, Tick(), PERIOD - 1)
    refreshing(broker).edges["N"].at = nan
    effects = handle(broker, Tick(), PERIOD - 0.5)
    assert effects == [Send("N", Refresh("covering", is_complete=False))]
    tell(broker, "M", TableComplete(), PERIOD - 0.4)
    refreshing(broker).edges["N"].at = nan
    assert handle(broker, Tick(), PERIOD - 0.3) == [Send("N", NOTHING)]


def test_its_state_is_plain_and_looking_changes_nothing() -> None:
    broker = new_broker()
    before = broker.snapshot()["refresh"]
    broker.reports()
    assert broker.snapshot()["refresh"] == before
    assert sorted(before["edges"]) == ["M", "N", "c.1"]
    handle(broker, LinkDown("N"))
    assert sorted(broker.snapshot()["refresh"]["edges"]) == ["M", "c.1"]
