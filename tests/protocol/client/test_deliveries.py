"""Each notification reaches the subscriptions it matches, once, by whichever way it is found."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.client.scripted import got
from sapwood.filters.filter import Filter
from sapwood.protocol.client import deliveries as module
from sapwood.protocol.client.deliveries import (
    INDEX_FROM,
    REMEMBERED_MAX,
    Deliveries,
    Gap,
    Inbox,
)
from sapwood.protocol.messages import CODEC, Settled
from sapwood.wire.frames import ENVELOPE_SIZE, NOTIFICATION, encode_head, encode_notification
from sapwood.wire.frames import frame as any_frame

_names = count(1)


def subscription(text: str, buffer: int = 100) -> Inbox:
    return Inbox(str(next(_names)), Filter(text), buffer, yields_gaps=True)


def frame(sequence: int, publisher: str = "p.1", **attributes: Any) -> bytes:
    return encode_notification(encode_head(publisher, attributes), sequence, 1.0)


def deliveries_to(*inboxes: Inbox) -> Deliveries:
    deliveries = Deliveries()
    for one in inboxes:
        deliveries.add(one)
    return deliveries


FILTERS = ["true", "x > 2", "x < 4", "x = 3", "y = 'a'", "x > 2 and y = 'a'", "exists z"]
EVENTS = st.lists(
    st.fixed_dictionaries({}, optional={"x": st.integers(0, 5), "y": st.sampled_from("ab")}),
    max_size=8,
)


@given(st.lists(st.sampled_from(FILTERS), max_size=6), EVENTS, st.booleans())
def test_each_gets_what_it_matches(
    filters: list[str], events: list[dict[str, Any]], one_read: bool
) -> None:
    """Except a single one: a broker sends it nothing that is for nobody."""
    filters = filters if len(filters) != 1 else [*filters, "false"]
    subscriptions = [subscription(text) for text in filters]
    deliveries = deliveries_to(*subscriptions)
    frames = [frame(number, **event) for number, event in enumerate(events, start=1)]
    reads = [b"".join(frames)] if one_read else frames
    assert [deliveries.deliver(read) for read in reads] == [len(read) for read in reads]
    assert deliveries.received == len(events)
    for one in subscriptions:
        assert got(one) == [
            ("p.1", number)
            for number, event in enumerate(events, start=1)
            if one.filter.matches(event)
        ]


def test_a_subscription_gets_what_others_got_before() -> None:
    """What is remembered of a head is forgotten when a subscription comes."""
    deliveries = deliveries_to(first := subscription("x > 0"), subscription("x < 0"))
    deliveries.deliver(frame(1, x=1))
    deliveries.add(late := subscription("x = 1"))
    deliveries.deliver(frame(2, x=1))
    assert (got(first), got(late)) == ([("p.1", 1), ("p.1", 2)], [("p.1", 2)])


def test_what_is_for_an_ended_subscription_is_left_out() -> None:
    kept, ended = subscription("x > 2"), subscription("x < 2")
    deliveries = deliveries_to(kept, ended)
    assert deliveries.remove(ended.name)
    assert not deliveries.remove(ended.name)
    deliveries.deliver(frame(1, x=1) + frame(2, x=3))
    assert got(kept) == [("p.1", 2)]
    assert got(ended) == []


def test_it_stops_at_a_control_message() -> None:
    deliveries = deliveries_to(one := subscription("true"))
    message = CODEC.encode(Settled(3, settled=True))
    data = frame(1) + message + frame(2)
    at = deliveries.deliver(data)
    assert data[at:].startswith(message)
    assert got(one) == [("p.1", 1)]
    assert deliveries.deliver(data, at + len(message)) == len(data)
    assert got(one) == [("p.1", 1), ("p.1", 2)]
    assert deliveries.received == 2


def test_frames_of_a_later_release_are_skipped() -> None:
    deliveries = deliveries_to(one := subscription("true"))
    unknown = b"\x7f" + frame(1)[1:]
    deliveries.deliver(unknown + frame(2))
    assert got(one) == [("p.1", 2)]


def test_it_stops_at_what_is_too_short_for_a_notification() -> None:
    deliveries = deliveries_to(one := subscription("true"))
    short = any_frame(0x7F, b"", b"")
    assert deliveries.deliver(frame(1) + short) == len(frame(1))
    assert deliveries.deliver(short + frame(1)) == len(short + frame(1))
    assert len(got(one)) == 2


def test_whoever_waits_is_woken_once() -> None:
    one, other, idle = subscription("x = 1"), subscription("x = 1"), subscription("x = 2")
    deliveries = deliveries_to(one, other, idle)
    one.is_awaited = idle.is_awaited = True
    deliveries.deliver(frame(1, x=1) + frame(2, x=1))
    assert deliveries.woken == [one]
    assert (one.is_awaited, idle.is_awaited) == (False, True)


def test_a_notification_that_does_not_decode_is_a_gap() -> None:
    one, other = subscription("x = 1"), subscription("x = 2")
    deliveries = deliveries_to(one, other)
    deliveries.deliver(any_frame(NOTIFICATION, b"what?", bytes(ENVELOPE_SIZE)) + frame(1, x=1))
    gap = Gap(1, "a notification came that does not decode")
    assert (one.items[0], list(other.items)) == (gap, [gap])
    assert got(one) == [("p.1", 1)]


@pytest.mark.parametrize("others", [[], ["false"]])
def test_it_is_full_until_half_is_read(others: list[str]) -> None:
    one = subscription("true", buffer=4)
    deliveries = deliveries_to(one, *(subscription(text) for text in others))
    for number in range(1, 4):
        deliveries.deliver(frame(number))
    states = [deliveries.is_full]
    deliveries.deliver(frame(4))
    states.append(deliveries.is_full)
    for _ in range(2):
        one.items.popleft()
        states.append(deliveries.is_full)
    assert states == [False, True, True, False]


def test_a_full_subscription_that_ends_holds_nobody_back() -> None:
    one = subscription("true", buffer=1)
    deliveries = deliveries_to(one)
    deliveries.deliver(frame(1))
    states = [deliveries.is_full]
    deliveries.remove(one.name)
    assert [*states, deliveries.is_full] == [True, False]


def test_what_comes_again_from_another_broker_is_left_out() -> None:
    deliveries = deliveries_to(one := subscription("true"))
    deliveries.deliver(frame(1) + frame(2) + frame(1, "q.1"))
    deliveries.change_broker()
    deliveries.deliver(frame(2) + frame(3) + frame(1, "q.1") + frame(1, "r.1") + frame(4))
    assert got(one) == [("p.1", 1), ("p.1", 2), ("q.1", 1), ("p.1", 3), ("r.1", 1), ("p.1", 4)]
    assert deliveries.repeated == 2


@pytest.mark.parametrize("others", [[], ["false"]])
def test_they_are_left_out_however_late_and_however_much_came_between(others: list[str]) -> None:
    """A backlog may come after hours, and behind it what is new."""
    deliveries = deliveries_to(one := subscription("true"), *map(subscription, others))
    deliveries.deliver(b"".join(frame(5, f"early-{n}.1") for n in range(3000)))
    deliveries.deliver(b"".join(frame(n, "busy.1") for n in range(1, 5000)))
    deliveries.change_broker()
    deliveries.deliver(b"".join(frame(n, "other.1") for n in range(1, 5000)))
    one.items.clear()
    deliveries.deliver(frame(4, "early-0.1") + frame(5, "early-0.1") + frame(6, "early-0.1"))
    deliveries.deliver(frame(4999, "busy.1") + frame(5000, "busy.1") + frame(7, "early-0.1"))
    assert got(one) == [("early-0.1", 6), ("busy.1", 5000), ("early-0.1", 7)]
    assert deliveries.repeated == 3


def test_what_was_delivered_before_two_changes_is_known_too() -> None:
    deliveries = deliveries_to(one := subscription("true"))
    deliveries.deliver(frame(5) + frame(5, "q.1"))
    deliveries.change_broker()
    deliveries.deliver(frame(6))
    deliveries.change_broker()
    one.items.clear()
    deliveries.deliver(frame(6) + frame(5, "q.1") + frame(7) + frame(6, "q.1"))
    assert got(one) == [("p.1", 7), ("q.1", 6)]


STEP = st.tuples(st.sampled_from(["p.1", "q.1", "r.1"]), st.integers(0, 4))
PATHS = st.lists(st.lists(STEP, max_size=12), max_size=5)


@given(PATHS)
def test_over_any_paths_nothing_is_repeated_and_nothing_new_is_dropped(
    paths: list[list[tuple[str, int]]],
) -> None:
    """On each path the numbers of a publisher grow; a path may begin anywhere in the past."""
    deliveries = deliveries_to(one := subscription("true", buffer=10**6))
    newest: dict[str, int] = {}
    expected: list[tuple[str, int]] = []
    for path in paths:
        on_path: dict[str, int] = {}
        for publisher, step in path:
            before = on_path.get(publisher, max(0, newest.get(publisher, 0) - 3))
            sequence = on_path[publisher] = before + 1 + step
            deliveries.deliver(frame(sequence, publisher))
            if sequence > newest.get(publisher, 0):
                newest[publisher] = sequence
                expected.append((publisher, sequence))
        deliveries.change_broker()
    assert got(one) == expected


def test_what_is_kept_of_the_past_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PUBLISHERS_MAX", 100)
    deliveries = deliveries_to(one := subscription("false"), subscription("false"))
    monkeypatch.setattr(module, "FOLD_BYTES", 1000)
    for number in range(1, 3 * REMEMBERED_MAX):
        deliveries.deliver(frame(1, f"p-{number}.1", x=number))
        assert len(deliveries._latest) < 30
    assert len(deliveries._plans) <= REMEMBERED_MAX
    assert len(deliveries._last) + len(deliveries._last_older) <= 150
    for _ in range(3):
        deliveries.change_broker()
        assert 50 <= len(deliveries._before) <= 100
    assert not deliveries._last
    deliveries.remove(one.name)
    last = 3 * REMEMBERED_MAX - 1
    deliveries.deliver(b"".join(frame(1, f"p-{last - n}.1") for n in range(50)))
    assert deliveries.repeated == 50, "those heard last are always remembered"


def test_a_gap_is_for_all() -> None:
    one, other = subscription("x = 1"), subscription("x = 2")
    deliveries_to(one, other).report(Gap(3, "why"))
    assert list(one.items) == list(other.items) == [Gap(3, "why")]


@pytest.mark.parametrize(
    ("filters", "concerned"),
    [
        ((), [True, True, True]),
        (("x = 1",), [True, False, True]),
        (("x > 5", "x < 0"), [False, False, True]),
        (("x = 1", "x is what"), [True, True, True]),
        (("x = 1",) * (module.FILTERS_MAX + 1), [True, True, True]),
    ],
)
def test_a_gap_is_for_those_it_can_concern(filters: tuple[str, ...], concerned: list[bool]) -> None:
    """If a filter is not understood, or there are very many, that is everybody."""
    inboxes = [subscription("x = 1"), subscription("x = 2"), subscription("exists x")]
    inboxes[2].is_awaited = True
    deliveries = deliveries_to(*inboxes)
    deliveries.report(Gap(3, "why"), filters)
    assert [list(one.items) == [Gap(3, "why")] for one in inboxes] == concerned
    assert [bool(one.gaps) for one in inboxes] == concerned
    assert deliveries.woken == [inboxes[2]]


def test_gaps_in_a_row_are_one() -> None:
    one = subscription("true")
    for gap in (Gap(2, "a"), Gap(3, "a"), Gap(1, "b"), Gap(0, "b")):
        one.report(gap)
    assert list(one.items) == [Gap(5, "a"), Gap(0, "b")]
    assert len(one.gaps) == 4


def test_gaps_may_be_left_out_of_what_is_read() -> None:
    one = Inbox("1", Filter("true"), 10, yields_gaps=False)
    one.is_awaited = True
    deliveries = deliveries_to(one)
    deliveries.report(Gap(2, "a"))
    assert not one.items
    assert list(one.gaps) == [Gap(2, "a")]
    assert deliveries.woken == []


class PlainIndex:
    """A match index that asks every filter."""

    def __init__(self) -> None:
        self._filters: dict[str, Filter] = {}

    def add(self, key: str, filter: Filter) -> None:
        self._filters[key] = filter

    def remove(self, key: str) -> None:
        del self._filters[key]

    def match(self, attributes: dict[str, Any]) -> list[str]:
        return [key for key, one in self._filters.items() if one.matches(attributes)]


def test_many_subscriptions_are_matched_by_an_index() -> None:
    many = [subscription(f"x = {number}") for number in range(INDEX_FROM)]
    deliveries = Deliveries()
    assert [deliveries.add(one) for one in many] == [False] * (INDEX_FROM - 1) + [True]
    deliveries.deliver(frame(1, x=5))
    deliveries.use_index(PlainIndex())
    assert not deliveries.add(late := subscription("x = 5"))
    deliveries.remove(many[6].name)
    deliveries.deliver(frame(2, x=5) + frame(3, x=6) + frame(4, x=7))
    assert got(many[5]) == [("p.1", 1), ("p.1", 2)]
    assert (got(late), got(many[6]), got(many[7])) == ([("p.1", 2)], [], [("p.1", 4)])
