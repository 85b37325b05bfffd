"""The compiled router and the plain reader agree, whatever is read; and it forgets in time."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastpath.reads import SOURCES, any_read, listeners, new_broker, subscribe
from protocol.wiring import load_engine
from sapwood.fastpath import router
from sapwood.fastpath.state import LOOK_CLOSER
from sapwood.protocol import inbound
from sapwood.protocol.broker import Broker
from sapwood.protocol.effects import Effect, Forward
from sapwood.protocol.events import ControlReceived, FramesReceived, LinkDown
from sapwood.protocol.messages import Subscribe, Unsubscribe
from sapwood.wire.frames import encode_head, encode_notification

randoms = st.integers(0, 2**32).map(Random)


def read(
    broker: Broker, source: str, data: bytes, now: float = 1.0, least: int = 0
) -> list[Effect]:
    load_engine(broker)  # else, long reads do not wait for the router either
    with patch.object(inbound, "LONG_READ_BYTES", least):
        return broker.handle(FramesReceived(source, data), now)


def read_plainly(broker: Broker, source: str, data: bytes, now: float = 1.0) -> list[Effect]:
    return read(broker, source, data, now, least=2**60)


@given(randoms)
def test_the_effects_are_those_of_reading_frame_by_frame(random: Random) -> None:
    required = random.random() < 0.2
    few = random.choice([3, 65_536])
    config = {"advertisements_required": required, "remembered_max": few}
    config = {**config, "recording": random.random() < 0.5}
    plain, routed = new_broker(**config), new_broker(**config)
    wishes = [
        subscribe(random, random.choice(["N", "M", "c.1", "d.1", *listeners(20)]))
        for _ in range(random.choice([3, 30]))
    ]
    for wish in wishes:
        assert plain.handle(wish, 0.0) == routed.handle(wish, 0.0)
    for _ in range(random.randint(1, 8)):
        source, data = random.choice(SOURCES), any_read(random)
        for _ in range(random.randint(1, 2)):
            assert read(routed, source, data) == read_plainly(plain, source, data)
    assert routed.drops.counts == plain.drops.counts


def run(publisher: str, *xs: object) -> bytes:
    heads = [encode_head(publisher, {"x": x}) for x in xs]  # type: ignore[dict-item]
    return b"".join(encode_notification(head, 1, 0.0) for head in heads)


def routes(broker: Broker, source: str, data: bytes) -> list[int]:
    """The plans of the runs, as far as the router decides."""
    found, _ = broker.forwarding.router.route(source, data, 0, 0.0, stops=False)
    return [plan for plan, *_ in found]


def test_what_is_remembered_is_decided_by_compiled_code_alone() -> None:
    broker = new_broker()
    broker.handle(ControlReceived("N", Subscribe("n", "x = 1")), 0.0)
    data = run("c.1", 1, 1, 2)
    assert routes(broker, "c.1", data) == [LOOK_CLOSER] * 3, "the publisher is not known"
    read(broker, "c.1", data)
    assert LOOK_CLOSER not in routes(broker, "c.1", data)
    assert LOOK_CLOSER not in routes(broker, "c.1", run("c.1", 3, 4, 1)), "matched from its bytes"
    assert routes(broker, "d.1", data) == [LOOK_CLOSER] * 3, "who may send it was not asked"
    assert routes(broker, "c.1", run("d.1", 1)) == [LOOK_CLOSER]


@pytest.mark.parametrize(
    "change",
    [
        ControlReceived("N", Unsubscribe("n")),
        ControlReceived("M", Subscribe("m", "x = 1")),
        LinkDown("M"),
    ],
)
def test_nothing_is_remembered_when_the_tables_change(change: ControlReceived | LinkDown) -> None:
    broker = new_broker()
    broker.handle(ControlReceived("N", Subscribe("n", "x = 1")), 0.0)
    broker.handle(ControlReceived("M", Subscribe("other", "x = 7")), 0.0)
    data = run("c.1", 1, 1, 7)
    read(broker, "c.1", data)
    broker.handle(change, 0.0)
    assert routes(broker, "c.1", data) == [LOOK_CLOSER] * 3
    plain = new_broker()
    for event in (
        ControlReceived("N", Subscribe("n", "x = 1")),
        ControlReceived("M", Subscribe("other", "x = 7")),
        change,
    ):
        plain.handle(event, 0.0)
    assert read(broker, "c.1", data) == read_plainly(plain, "c.1", data)


def test_a_table_that_is_full_makes_room() -> None:
    with patch.object(router, "_SIZE_MIN", 16):
        broker = new_broker(remembered_max=16)
        broker.handle(ControlReceived("N", Subscribe("n", "x >= 0")), 0.0)
        for first in range(0, 400, 10):
            data = run("c.1", *range(first, first + 10)) * 3
            for _ in range(3):
                assert read(broker, "c.1", data) == [Forward(("F", "N"), data, 30)]
        assert broker.forwarding.router._state.keys.size == 32, "it grew, but not without end"


def test_more_destinations_than_have_room_are_left_to_python() -> None:
    broker = new_broker()
    many = listeners(20)
    for name in many:
        broker.handle(ControlReceived(name, Subscribe("s", "x > 0")), 0.0)
    data = run("c.1", 1, 2, 3)
    assert read(broker, "c.1", data) == [Forward(tuple(sorted(["F", *many])), data, 3)]
    assert LOOK_CLOSER in routes(broker, "c.1", run("c.1", 4))


def test_only_a_long_read_makes_a_router() -> None:
    broker = new_broker()
    load_engine(broker)
    short = run("c.1", 1, 2)
    assert len(short) < inbound.LONG_READ_BYTES
    broker.handle(FramesReceived("c.1", short), 0.0)
    assert broker.forwarding._router is None
    broker.handle(FramesReceived("c.1", short * inbound.LONG_READ_BYTES), 0.0)
    assert broker.forwarding._router is not None


def test_a_long_read_does_not_wait_for_compiled_code() -> None:
    broker = new_broker()
    data = run("c.1", 1, 2) * inbound.LONG_READ_BYTES
    assert broker.handle(FramesReceived("c.1", data), 0.0) == [
        Forward(("F",), data, 2 * inbound.LONG_READ_BYTES)
    ]
    assert not broker.forwarding.may_route
    assert broker.forwarding._router is None
