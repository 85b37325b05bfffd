"""Each notification reaches the subscriptions it matches, once, by whichever way it is found."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.living import until
from sapwood.filters.filter import Filter
from sapwood.protocol.messages import CODEC, Settled
from sapwood.runtime import dispatch as dispatch_module
from sapwood.runtime.delivered import Delivered
from sapwood.runtime.dispatch import INDEX_FROM, RECENT_BYTES, REMEMBERED_MAX, Dispatch
from sapwood.runtime.subscription import Gap, Subscription
from sapwood.wire.frames import encode_head, encode_notification


class NoBus:
    """A bus for subscriptions that only lie there."""

    async def begin(self, subscription: Subscription) -> None: ...

    async def end(self, subscription: Subscription, *, settle: bool) -> None: ...

    def has_room(self) -> None: ...


def subscription(text: str, buffer: int = 100) -> Subscription:
    return Subscription(NoBus(), Filter(text), buffer=buffer, settle=True, gaps=True)


def frame(sequence: int, publisher: str = "p.1", **attributes: Any) -> bytes:
    return encode_notification(encode_head(publisher, attributes), sequence, 1.0)


def got(one: Subscription) -> list[tuple[str, int]]:
    found = [item for item in one.items if isinstance(item, Delivered)]
    return [(item.id.publisher, item.id.sequence) for item in found]


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def dispatch_to(*subscriptions: Subscription) -> Dispatch:
    dispatch = Dispatch(lambda body: None)
    for one in subscriptions:
        dispatch.add(one)
    return dispatch


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
    dispatch = dispatch_to(*subscriptions)
    frames = [frame(number, **event) for number, event in enumerate(events, start=1)]
    reads = [b"".join(frames)] if one_read else frames
    assert sum(dispatch.deliver(read) for read in reads) == len(events)
    for one in subscriptions:
        assert got(one) == [
            ("p.1", number)
            for number, event in enumerate(events, start=1)
            if one.filter.matches(event)
        ]


def test_a_subscription_gets_what_others_got_before() -> None:
    """What is remembered of a head is forgotten when a subscription comes."""
    dispatch = dispatch_to(first := subscription("x > 0"), subscription("x < 0"))
    dispatch.deliver(frame(1, x=1))
    dispatch.add(late := subscription("x = 1"))
    dispatch.deliver(frame(2, x=1))
    assert (got(first), got(late)) == ([("p.1", 1), ("p.1", 2)], [("p.1", 2)])


def test_what_is_for_an_ended_subscription_is_left_out() -> None:
    kept, ended = subscription("x > 2"), subscription("x < 2")
    dispatch = dispatch_to(kept, ended)
    assert dispatch.remove(ended)
    assert not dispatch.remove(ended)
    dispatch.deliver(frame(1, x=1) + frame(2, x=3))
    assert got(kept) == [("p.1", 2)]
    assert got(ended) == []


def test_control_messages_are_handed_on_in_their_order() -> None:
    told: list[bytes] = []
    dispatch = Dispatch(told.append)
    dispatch.add(subscription("true"))
    message = CODEC.encode(Settled(3, settled=True))
    assert dispatch.deliver(frame(1) + message + frame(2)) == 2
    assert [CODEC.decode(body) for body in told] == [Settled(3, settled=True)]


def test_frames_of_a_later_release_are_skipped() -> None:
    dispatch = dispatch_to(one := subscription("true"))
    unknown = b"\x7f" + frame(1)[1:]
    assert dispatch.deliver(unknown + frame(2)) == 1
    assert got(one) == [("p.1", 2)]


@pytest.mark.parametrize("others", [[], ["false"]])
def test_it_is_full_until_half_is_read(others: list[str]) -> None:
    one = subscription("true", buffer=4)
    dispatch = dispatch_to(one, *(subscription(text) for text in others))
    for number in range(1, 4):
        dispatch.deliver(frame(number))
    states = [dispatch.is_full]
    dispatch.deliver(frame(4))
    states.append(dispatch.is_full)
    for _ in range(2):
        one.items.popleft()
        states.append(dispatch.is_full)
    assert states == [False, True, True, False]


def test_a_full_subscription_that_ends_holds_nobody_back() -> None:
    one = subscription("true", buffer=1)
    dispatch = dispatch_to(one)
    dispatch.deliver(frame(1))
    states = [dispatch.is_full]
    dispatch.remove(one)
    assert [*states, dispatch.is_full] == [True, False]


def test_what_comes_again_from_another_broker_is_left_out() -> None:
    dispatch = dispatch_to(one := subscription("true"))
    dispatch.deliver(frame(1) + frame(2) + frame(1, "q.1"))
    dispatch.change_broker()
    dispatch.deliver(frame(2) + frame(3) + frame(1, "q.1") + frame(1, "r.1") + frame(4))
    assert got(one) == [("p.1", 1), ("p.1", 2), ("q.1", 1), ("p.1", 3), ("r.1", 1), ("p.1", 4)]
    assert dispatch.repeated == 2


def test_repetitions_are_looked_for_only_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch_module, "REPEAT_SECONDS", -1.0)
    dispatch = dispatch_to(one := subscription("true"))
    dispatch.deliver(frame(5) + frame(5, "q.1"))
    dispatch.change_broker()
    dispatch.deliver(frame(6))
    dispatch.deliver(frame(1, "q.1"))
    assert got(one)[-2:] == [("p.1", 6), ("q.1", 1)]


def test_what_is_kept_of_the_past_is_bounded() -> None:
    dispatch = dispatch_to(subscription("false"), subscription("false"))
    for number in range(1, 3 * REMEMBERED_MAX):
        dispatch.deliver(frame(number, x=number))
    assert len(dispatch._plans) <= REMEMBERED_MAX
    assert sum(map(len, dispatch._recent)) == dispatch._recent_bytes <= RECENT_BYTES


def test_a_gap_is_for_all() -> None:
    one, other = subscription("x = 1"), subscription("x = 2")
    dispatch_to(one, other).report(Gap(3, "why"))
    assert list(one.items) == list(other.items) == [Gap(3, "why")]


@pytest.mark.slow
def test_many_subscriptions_are_matched_by_an_index() -> None:
    async def scenario() -> None:
        many = [subscription(f"x = {number}") for number in range(INDEX_FROM)]
        dispatch = dispatch_to(*many)
        dispatch.deliver(frame(1, x=5))
        await until(lambda: dispatch._index is not None, "the index is loaded", 110)
        late = subscription("x = 5")
        dispatch.add(late)
        dispatch.remove(many[6])
        dispatch.deliver(frame(2, x=5) + frame(3, x=6) + frame(4, x=7))
        assert got(many[5]) == [("p.1", 1), ("p.1", 2)]
        assert (got(late), got(many[6]), got(many[7])) == ([("p.1", 2)], [], [("p.1", 4)])
        dispatch.close()

    run(scenario())
