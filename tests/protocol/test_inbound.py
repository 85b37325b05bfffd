"""Reads: runs, expiry, and everything that must not be trusted."""

from __future__ import annotations

import math
import struct
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocol.wiring import load_engine, notification
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect, Forward, Record, Send
from sapwood.protocol.events import ClientUp, ControlReceived, FramesReceived, LinkUp, Tick
from sapwood.protocol.forwarding import SharedHeads
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.messages import CODEC, Advertise, Message, Refused, Subscribe, Unsubscribe
from sapwood.wire.frames import (
    CONTROL,
    EXPIRES,
    GRAY,
    NOTIFICATION,
    decode_head,
    encode_head,
    frame,
)


def new_broker(heads: SharedHeads | None = None, **config: object) -> Broker:
    """Between the neighbours N (wants x = 1), M (wants x > 0) and O; with the clients c and d."""
    broker = Broker(BrokerConfig(id="B", **config), heads=heads)  # type: ignore[arg-type]
    for name in ("N", "M", "O"):
        broker.handle(LinkUp(name), 0.0)
    for name in ("c.1", "d.1"):
        broker.handle(ClientUp(name), 0.0)
    broker.handle(ControlReceived("N", Subscribe("n", "x = 1")), 0.0)
    broker.handle(ControlReceived("M", Subscribe("m", "x > 0")), 0.0)
    return broker


def frames(*xs: Value, publisher: str = "p.1") -> list[bytes]:
    return [notification(publisher, {"x": x}, number) for number, x in enumerate(xs, 1)]


def read(broker: Broker, source: str, *data: bytes, now: float = 0.0) -> list[Effect]:
    effects = broker.handle(FramesReceived(source, b"".join(data)), now)
    assert broker_problems(broker) == []
    return effects


# --- runs ---------------------------------------------------------------------------------


def test_consecutive_notifications_to_the_same_destinations_leave_as_one_run() -> None:
    one, two, three, four, five = frames(1, 1, 2, 3, 1)
    assert read(new_broker(), "O", one, two, three, four, five) == [
        Forward(("M", "N"), one + two, 2),
        Forward(("M",), three + four, 2),
        Forward(("M", "N"), five, 1),
    ]


def test_runs_are_told_apart_by_destinations_not_by_how_they_came_about() -> None:
    """What goes to M and back to N is, from N, for M alone: as what only M wants."""
    one, two = frames(1, 2)
    assert read(new_broker(), "N", one, two) == [Forward(("M",), one + two, 2)]


def test_what_nobody_wants_ends_a_run() -> None:
    one, nobody, two = frames(1, -1, 1)
    assert read(new_broker(), "O", one, nobody, two) == [
        Forward(("M", "N"), one, 1),
        Forward(("M", "N"), two, 1),
    ]


def test_a_single_notification_leaves_as_the_bytes_it_came_in() -> None:
    broker, (one,) = new_broker(), frames(1)
    event = FramesReceived("O", one)
    for _ in range(3):
        (effect,) = broker.handle(event, 0.0)
        assert effect == Forward(("M", "N"), one, 1)
        assert isinstance(effect, Forward)
        assert effect.data is one


def test_a_notification_is_not_sent_back_to_the_neighbour_it_came_from() -> None:
    broker, (one,) = new_broker(), frames(1)
    for _ in range(3):  # the first time it is decided, then it is remembered
        assert read(broker, "M", one) == [Forward(("N",), one, 1)]
    assert read(broker, "M", one, one) == [Forward(("N",), one + one, 2)]


def test_a_client_gets_what_it_publishes_if_it_subscribed_to_it() -> None:
    broker = new_broker()
    broker.handle(ControlReceived("c.1", Subscribe("a", "x = 1")), 0.0)
    (one,) = frames(1, publisher="c.1")
    for _ in range(2):
        assert read(broker, "c.1", one) == [Forward(("M", "N", "c.1"), one, 1)]


def test_a_client_with_several_matching_subscriptions_gets_a_notification_once() -> None:
    broker = new_broker()
    for entry_id, filter in (("a", "x = 1"), ("b", "x > 0"), ("c", "exists x")):
        broker.handle(ControlReceived("c.1", Subscribe(entry_id, filter)), 0.0)
    (one,) = frames(1)
    assert read(broker, "N", one) == [Forward(("M", "c.1"), one, 1)]


def test_control_messages_take_effect_between_the_notifications_they_came_between() -> None:
    broker = new_broker()
    one, two, three = frames(1, 1, 1)
    data = [
        one,
        CODEC.encode(Subscribe("m2", "x = -5")),
        two,
        CODEC.encode(Unsubscribe("m2")),
        three,
    ]
    new = Filter("x = -5").id
    assert read(broker, "M", *data) == [
        Forward(("N",), one, 1),
        Send("N", Subscribe(new, "x = -5")),
        Send("O", Subscribe(new, "x = -5")),
        Forward(("N",), two, 1),
        Send("N", Unsubscribe(new)),
        Send("O", Unsubscribe(new)),
        Forward(("N",), three, 1),
    ]


def test_what_a_control_message_changes_counts_from_the_next_frame_on() -> None:
    broker = new_broker()
    before, after = frames(7, 7)
    effects = read(broker, "O", before, CODEC.encode(Subscribe("o", "x < 0")), after, *frames(-1))
    notifications = [effect for effect in effects if isinstance(effect, Forward)]
    assert notifications == [Forward(("M",), before, 1), Forward(("M",), after, 1)]
    assert isinstance(effects[0], Forward)
    assert all(isinstance(effect, Send) for effect in effects[1:-1])


def test_a_client_that_subscribes_and_publishes_in_one_read_gets_what_it_published() -> None:
    broker = new_broker()
    first, second = frames(-5, -5, publisher="c.1")
    effects = read(broker, "c.1", first, CODEC.encode(Subscribe("a", "x = -5")), second)
    assert effects[-1] == Forward(("c.1",), second, 1)
    assert [effect for effect in effects if isinstance(effect, Forward)] == [effects[-1]]


@given(st.lists(st.sampled_from([-1, 0, 1, 2, 3]), max_size=40), st.randoms())
def test_a_batch_gives_the_same_as_one_by_one(xs: list[int], random: Random) -> None:
    """However the frames are cut into reads, everyone gets the same bytes in the same order."""
    together, apart = new_broker(), new_broker()
    data = frames(*xs)
    cuts = sorted(random.randrange(len(data) + 1) for _ in range(random.randrange(4)))
    reads = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    whole = [effect for part in reads for effect in read(together, "O", *part)]
    singly = [effect for one in data for effect in read(apart, "O", one)]
    assert bytes_by_destination(whole) == bytes_by_destination(singly)
    assert all(len(read(together, "O", one)) <= 1 for one in data)


def bytes_by_destination(effects: list[Effect]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for effect in effects:
        assert isinstance(effect, Forward)
        for destination in effect.destinations:
            found[destination] = found.get(destination, b"") + effect.data
    return found


# --- expiry and colour --------------------------------------------------------------------


def test_what_has_expired_is_dropped_and_the_rest_goes_on() -> None:
    broker = new_broker()
    fresh = notification("p.1", {"x": 2}, 1, expires_at=10.0)
    stale = notification("p.1", {"x": 2}, 2, expires_at=5.0)
    assert read(broker, "O", fresh, stale, fresh, now=5.0) == [
        Forward(("M",), fresh, 1),
        Forward(("M",), fresh, 1),
    ]
    assert broker.drops.counts == {Drop.EXPIRED: 1}
    assert read(broker, "O", fresh, now=9.9) == [Forward(("M",), fresh, 1)]
    assert read(broker, "O", fresh, now=10.0) == []


@pytest.mark.parametrize("count", [1, 40], ids=["short", "long"])
def test_what_expires_goes_by_the_clock_on_the_wall_even_if_that_is_corrected(count: int) -> None:
    """A site whose clock was an hour off at its start dropped everything until its restart."""
    broker = new_broker()
    hour = 3_600.0
    frames = [notification("p.1", {"x": 2}, one + 1, expires_at=1_060.0) for one in range(count)]
    assert read(broker, "O", *frames, now=1_000.0 + hour) == []  # an hour ahead
    broker.handle(Tick(skew=-hour), 1_000.0 + hour)
    assert read(broker, "O", *frames, now=1_000.0 + hour) == [
        Forward(("M",), b"".join(frames), count)
    ]
    broker.handle(Tick(), 1_001.0 + hour)  # nobody looked at the clock
    assert read(broker, "O", *frames, now=1_059.0 + hour) != []
    assert read(broker, "O", *frames, now=1_060.0 + hour) == []


def test_an_expiry_that_is_no_number_is_past() -> None:
    data = notification("p.1", {"x": 2}, 1, expires_at=9.0)
    assert data.count(struct.pack("<d", 9.0)) == 1
    assert read(new_broker(), "O", data) == [Forward(("M",), data, 1)]
    never = data.replace(struct.pack("<d", 9.0), struct.pack("<d", math.nan))
    assert read(new_broker(), "O", never) == []


def test_a_trace_says_which_notification_expired() -> None:
    broker = new_broker(recording=True)
    stale = notification("p.1", {"x": 2}, 7, expires_at=5.0)
    fields = {"source": "O", "message": "expired", "publisher": "p.1", "sequence": 7}
    assert read(broker, "O", stale, now=6.0) == [Record("dropped", fields)]


def test_a_gray_notification_goes_where_a_black_one_goes() -> None:
    body = notification("p.1", {"x": 2})[-25:]
    gray = frame(NOTIFICATION | GRAY, encode_head("p.1", {"x": 2}), body)
    assert read(new_broker(), "O", gray, gray) == [Forward(("M",), gray + gray, 2)]


# --- nothing is trusted -------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 6, 7, 8, 20, 38, 39])
def test_a_frame_that_is_cut_off_is_dropped_and_those_before_it_go_on(cut: int) -> None:
    broker = new_broker()
    one, two = frames(1, 1)
    assert read(broker, "O", one, two[:cut]) == [Forward(("M", "N"), one, 1)]
    assert broker.drops.counts == {Drop.MALFORMED: 1}


def test_lengths_beyond_the_data_are_no_reason_to_fail() -> None:
    broker = new_broker()
    for data in (b"\x02" + b"\xff" * 6, struct.pack("<BIH", 2, 2**31, 9) + b"x" * 40):
        assert read(broker, "O", data) == []
    assert broker.drops.counts == {Drop.MALFORMED: 2}


def test_nothing_at_all_is_nothing() -> None:
    broker = new_broker()
    assert read(broker, "O", b"") == []
    assert broker.drops.counts == {}


def test_a_frame_of_an_unknown_type_is_counted_and_skipped() -> None:
    broker = new_broker()
    one, two = frames(1, 1)
    unknown = frame(0x7F, b"", b"whatever")
    assert read(broker, "O", one, unknown, two) == [
        Forward(("M", "N"), one, 1),
        Forward(("M", "N"), two, 1),
    ]
    assert broker.drops.counts == {Drop.FRAME_UNKNOWN: 1}


@pytest.mark.parametrize("kind", [NOTIFICATION, NOTIFICATION | EXPIRES, NOTIFICATION | GRAY])
def test_a_notification_without_a_whole_envelope_is_malformed(kind: int) -> None:
    broker = new_broker()
    read(broker, "O", *frames(1))  # so that the head is known
    short = frame(kind, encode_head("p.1", {"x": 1}), b"x" * 24)
    (whole,) = frames(1)
    assert read(broker, "O", short) == []
    assert read(broker, "O", short, whole) == [Forward(("M", "N"), whole, 1)]
    assert read(broker, "O", whole, short) == [Forward(("M", "N"), whole, 1)]
    assert broker.drops.counts == {Drop.MALFORMED: 3}


BAD_HEADS = [
    b"",
    b"\x92",
    b"\x92\xa3p.1",
    b"\x92\xa3p.1\x81\xa1x",
    b"\x92\xa3p.\xff\x81\xa1x\x01",
    b"\x93\xa3p.1\x81\xa1x\x01\x01",
    b"\xdc\x00\x02\xa3p.1\x81\xa1x\x01",
    b"\x92\xda\x00\x03p.1\x81\xa1x\x01",
    b"\x92\xa3p.1\x81\xa1x\x01\x00",
    b"\x92\xa3p.1\x81\xa1x\xc0",
    b"\x92\xa3p.1\x81\xa1x\x91\x01",
    b"\x92\xa3p.1\x81\x01\x01",
    b"\x92\x01\x81\xa1x\x01",
    encode_head("p.1", {"x": float("nan")}),
    encode_head("p.1", {"x": float("inf")}),
    encode_head("p.1", {"x": 2**63}),
    encode_head("p.1", {"": 1}),
    encode_head("p" * 256, {"x": 1}),
]


@pytest.mark.parametrize("head", BAD_HEADS)
@pytest.mark.parametrize("source", ["O", "c.1"])
def test_a_head_that_is_none_is_counted_and_a_client_is_told(head: bytes, source: str) -> None:
    broker = new_broker()
    publisher = "c.1" if source == "c.1" else "p.1"
    bad = frame(NOTIFICATION, head.replace(b"p.1", publisher.encode()), b"\x09" + b"\0" * 24)
    (one,) = frames(1, publisher=publisher)
    for _ in range(2):
        effects = read(broker, source, one, bad, one)
        refusals = [effect for effect in effects if isinstance(effect, Send)]
        assert effects == [Forward(("M", "N"), one, 1), *refusals, Forward(("M", "N"), one, 1)]
        assert len(refusals) == (source == "c.1")
        for refusal in refusals:
            assert isinstance(refusal.message, Refused)
            assert refusal.message.sequence == 9
        assert len(read(broker, source, bad)) == len(refusals)
    assert broker.drops.counts.total() == 4


@given(st.binary(max_size=80))
@example(b"\x02\x19\x00\x00\x00\x00\x00" + b"\0" * 25)
@example(b"\x02\x19\x00\x00\x00\x02\x00\x92\xbf" + b"\0" * 25)
@example(b"\x02\x19\x00\x00\x00\x03\x00\x92\xd9\xff" + b"\0" * 25)
def test_no_bytes_make_a_broker_fail_or_change_its_tables(data: bytes) -> None:
    broker = new_broker()
    one = b"".join(frames(1, publisher="c.1"))
    tables = [list(broker.subscriptions), list(broker.advertisements)]
    for source in ("O", "c.1", "nobody"):
        for around in (data, one + data, data + one):
            read(broker, source, around)
    assert [list(broker.subscriptions), list(broker.advertisements)] == tables


@given(st.binary(max_size=60), st.integers(0, 0xFF))
def test_no_body_of_a_frame_makes_a_broker_fail(body: bytes, kind: int) -> None:
    broker = new_broker()
    data = frame(kind, b"", body) + frame(CONTROL, b"", body) + frame(NOTIFICATION, body, b"0" * 25)
    read(broker, "O", data)
    read(broker, "c.1", data)


def test_known_parts_of_heads_are_not_put_together_to_what_never_was_a_head() -> None:
    """A head whose length lies may begin like a known one and end like a known one."""
    broker = new_broker()
    read(broker, "O", *frames(1))
    head = encode_head("p.1", {"x": 1})
    for length in range(len(head)):
        short = struct.pack("<BIH", NOTIFICATION, 25 + len(head) - length, length)
        assert read(broker, "O", short + head + b"\0" * 25) == []
    long = struct.pack("<BIH", NOTIFICATION, 25, len(head) + 1) + head + b"\0" * 26
    assert read(broker, "O", long) == []
    assert broker.drops.counts == {Drop.MALFORMED: len(head) + 1}


def test_long_names_are_remembered_as_well() -> None:
    broker = new_broker()
    (one,) = frames(1, publisher="p" * 100 + ".1")
    for _ in range(3):
        assert read(broker, "O", one) == [Forward(("M", "N"), one, 1)]
    assert len(broker.forwarding.known["O"].publishers) == 1


@pytest.mark.parametrize("source", ["nobody", "B"])
def test_nothing_is_taken_from_a_stranger(source: str) -> None:
    broker = new_broker()
    assert read(broker, source, *frames(1)) == []
    assert read(broker, source, *frames(1, 1)) == []
    assert read(broker, source, CODEC.encode(Subscribe("a", "true"))) == []
    assert broker.drops.counts == {Drop.UNKNOWN_SENDER: 3}


def test_nothing_is_taken_over_a_link_outside_the_tree() -> None:
    broker = new_broker()
    broker.handle(LinkUp("Z", in_tree=False), 0.0)
    assert read(broker, "Z", *frames(1)) == []
    assert read(broker, "Z", CODEC.encode(Subscribe("a", "true"))) == []
    assert broker.drops.counts == {Drop.OUTSIDE_TREE: 2}
    assert read(broker, "O", *frames(0)) == []


def test_a_client_publishes_only_as_itself() -> None:
    broker = new_broker()
    (own,) = frames(1, publisher="c.1")
    (stolen,) = frames(1, publisher="d.1")
    read(broker, "d.1", stolen)  # its owner may
    reason = "published as 'd.1' by 'c.1': a client publishes as itself"
    for _ in range(2):
        assert read(broker, "c.1", own, stolen, own) == [
            Forward(("M", "N"), own, 1),
            Send("c.1", Refused(reason, sequence=1)),
            Forward(("M", "N"), own, 1),
        ]
    assert broker.drops.counts == {Drop.REFUSED: 2}


@pytest.mark.parametrize("kind", [NOTIFICATION, NOTIFICATION | EXPIRES])
@pytest.mark.parametrize("recording", [False, True])
def test_an_envelope_that_is_bad_is_no_reason_to_fail(kind: int, recording: bool) -> None:
    broker = new_broker(recording=recording)
    for publisher in ("c.1", "d.1"):
        data = frame(kind, encode_head(publisher, {"x": 1}), b"\xff" * 25)
        assert all(not isinstance(effect, Forward) for effect in read(broker, "d.1", data)) or (
            kind == NOTIFICATION and publisher == "d.1"
        )
    assert broker.drops.counts.total() == (1 if kind == NOTIFICATION else 2)


def test_a_control_message_that_does_not_decode_is_refused_with_its_reason() -> None:
    broker = new_broker()
    bad = frame(CONTROL, b"", msgspec.msgpack.encode({"type": "Prune"}))
    assert read(broker, "O", bad) == []
    (effect,) = read(broker, "c.1", bad)
    assert isinstance(effect, Send)
    assert isinstance(effect.message, Refused)
    assert "Prune" in effect.message.reason
    assert broker.drops.counts == {Drop.MALFORMED: 2}


# --- many at once -------------------------------------------------------------------------


def test_new_notifications_of_a_read_are_matched_together() -> None:
    broker = new_broker()
    calls: list[int] = []
    real = broker.forwarding.index.destinations_batch

    def counting(notifications, exclude=None):  # type: ignore[no-untyped-def]
        calls.append(len(notifications))
        return real(notifications, exclude)

    broker.forwarding.index.destinations_batch = counting  # type: ignore[method-assign]
    read(broker, "O", *frames(*range(30)), CODEC.encode(Subscribe("o", "x = 3")), *frames(1, 2, 2))
    assert calls == [30, 2]


def test_the_router_learns_what_a_single_notification_has_taught_before() -> None:
    broker = new_broker()
    load_engine(broker)
    read(broker, "O", *frames(1))
    long = b"".join(frames(*[1] * 200))
    assert read(broker, "O", long) == [Forward(("M", "N"), long, 200)]
    runs, end = broker.forwarding.router.route("O", long, 0, 0.0, stops=True)
    assert [count for *_, count in runs] == [200]
    assert end == len(long)


def test_one_bad_notification_of_a_read_does_not_spoil_the_others() -> None:
    broker = new_broker()
    one, two = frames(5, 6)
    bad = frame(NOTIFICATION, b"\x92\xa3p.1\x81\xa0\x01", b"\0" * 25)
    assert read(broker, "O", one, bad, two) == [Forward(("M",), one, 1), Forward(("M",), two, 1)]
    assert broker.drops.counts == {Drop.MALFORMED: 1}


def test_one_that_cannot_be_matched_does_not_spoil_the_others() -> None:
    """Should something decode that the matching engine refuses: each is looked at by itself."""
    broker = Broker(BrokerConfig(id="B"), decode=msgspec.msgpack.decode)
    for event in (LinkUp("N"), LinkUp("O"), ControlReceived("N", Subscribe("n", "exists x"))):
        broker.handle(event, 0.0)
    one, two = frames(5, 6)
    bad = frame(NOTIFICATION, msgspec.msgpack.encode(("p.1", {"x": math.nan})), b"\0" * 25)
    assert read(broker, "O", one, bad, two) == [Forward(("N",), one, 1), Forward(("N",), two, 1)]
    assert broker.drops.counts == {Drop.MALFORMED: 1}


# --- brokers of one process ---------------------------------------------------------------


@given(st.integers(0, 2**32).map(Random))
def test_brokers_that_share_heads_do_what_each_does_alone(random: Random) -> None:
    """Also while subscriptions come and go, and with clients that may not publish everything.

    As in a tree, every publisher is behind one source: else who is alone takes it for a circle.
    """
    configs: list[dict[str, Any]] = [
        {"advertisements_required": random.random() < 0.3, "remembered_max": random.choice([3, 99])}
        for _ in range(3)
    ]
    heads = SharedHeads(random.choice([3, 99]))
    pairs = [(new_broker(heads, **config), new_broker(**config)) for config in configs]
    for _ in range(60):
        shared, alone = random.choice(pairs)
        source = random.choice(["N", "M", "O", "c.1", "d.1", "stranger"])
        event: FramesReceived | ControlReceived
        if random.random() < 0.2:
            wanted = f"x {random.choice('<=>')} {random.randrange(4)}"
            changes: list[Message] = [Subscribe("s", wanted), Unsubscribe("s")]
            event = ControlReceived(source, random.choice([*changes, Advertise("a", wanted)]))
        else:
            own = source if source in ("c.1", "d.1") else f"p.{source}"
            publisher = random.choice([own, own, "q" * 40 + source])
            xs = [random.randrange(4) for _ in range(random.choice([1, 1, 1, 3]))]
            event = FramesReceived(source, b"".join(frames(*xs, publisher=publisher)))
        assert shared.handle(event, 0.0) == alone.handle(event, 0.0)
        assert broker_problems(shared) == []
    assert [one.drops.counts for one, _ in pairs] == [other.drops.counts for _, other in pairs]


def test_what_another_broker_has_matched_is_neither_decoded_nor_matched_again() -> None:
    heads = SharedHeads(99)
    decoded: list[bytes] = []

    def decode(head: bytes) -> tuple[str, dict[str, Value]]:
        decoded.append(head)
        return decode_head(head)

    brokers = [Broker(BrokerConfig(id=name), decode=decode, heads=heads) for name in "AB"]
    for broker in brokers:
        broker.handle(LinkUp("N"), 0.0)
        broker.handle(LinkUp("M"), 0.0)
        broker.handle(ControlReceived("N", Subscribe("n", "x > 0")), 0.0)
        read(broker, "M", *frames(7))
    decoded.clear()
    for broker in brokers:
        assert read(broker, "M", *frames(8)) == [Forward(("N",), frames(8)[0], 1)]
    assert len(decoded) == 1
