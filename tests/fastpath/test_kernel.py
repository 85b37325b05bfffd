"""Runs of a read: where they begin and end, and where the router stops."""

from __future__ import annotations

import pytest

from fastpath.reads import new_broker
from sapwood.fastpath.router import RoutedRun
from sapwood.fastpath.state import FRAMES_MAX, LOOK_CLOSER
from sapwood.protocol.broker import Broker
from sapwood.protocol.events import ControlReceived, FramesReceived
from sapwood.protocol.messages import CODEC, Subscribe
from sapwood.wire.frames import (
    EXPIRES,
    GRAY,
    NOTIFICATION,
    encode_head,
    encode_notification,
    frame,
)


@pytest.fixture
def broker() -> Broker:
    """It knows c.1 and, of its notifications, x = 0 (goes nowhere but to F) and x = 1 (to N)."""
    broker = new_broker()
    assert broker.forwarding.router is broker.forwarding.router
    broker.handle(ControlReceived("N", Subscribe("n", "x = 1")), 0.0)
    for x in (0, 1):
        broker.handle(FramesReceived("c.1", notification(x)), 0.0)
    return broker


def notification(x: int, publisher: str = "c.1", expires_at: float = 0.0) -> bytes:
    return encode_notification(encode_head(publisher, {"x": x}), 1, 0.0, b"", expires_at)


def runs(
    broker: Broker, *frames: bytes, at: int = 0, now: float = 0.0, stops: bool = True
) -> tuple[list[tuple[object, int]], int]:
    """The destinations (None: undecided) and the number of frames of each run; where they end."""
    data = b"".join(frames)
    router = broker.forwarding.router
    found, end = router.route("c.1", data, at, now, stops=stops)
    places = [at, *(run_end for _, _, run_end, _ in found)]
    assert [start for _, start, _, _ in found] == places[:-1]
    assert places[-1] == end
    return [(destinations(broker, run), run[-1]) for run in found], end


def destinations(broker: Broker, run: RoutedRun) -> object:
    plan = run[0]
    if plan == LOOK_CLOSER:
        return None
    return broker.forwarding.router.plans[plan].everyone


def test_neighbours_with_one_plan_are_one_run(broker: Broker) -> None:
    one, two = notification(1), notification(0)
    expected = [(("F", "N"), 2), (("F",), 1), (("F", "N"), 1)]
    assert runs(broker, one, one, two, one) == (expected, 4 * len(one))
    assert runs(broker, one, two, two, at=len(one)) == ([(("F",), 2)], 3 * len(one))


def test_a_control_message_ends_it_for_now(broker: Broker) -> None:
    one, control = notification(1), CODEC.encode(Subscribe("s", "true"))
    expected = [(("F", "N"), 1), (None, 1)]
    assert runs(broker, one, control, one) == (expected, len(one + control))


def test_a_publisher_that_is_not_known_ends_it_if_wanted(broker: Broker) -> None:
    one, other = notification(1), notification(1, "p.1")
    assert runs(broker, one, other, one) == ([(("F", "N"), 1), (None, 1)], len(one + other))
    expected = [(None, 1), (None, 1), (("F", "N"), 1)]
    assert runs(broker, other, other, one, stops=False) == (expected, len(2 * other + one))


@pytest.mark.parametrize("cut", [1, 6, 7, 20])
def test_a_frame_that_is_cut_off_is_not_among_them(broker: Broker, cut: int) -> None:
    one = notification(1)
    assert runs(broker, one, one[:cut]) == ([(("F", "N"), 1)], len(one))
    assert runs(broker, one[:cut]) == ([], 0)


def test_what_has_expired_is_looked_at_closer(broker: Broker) -> None:
    frames = [notification(1), notification(1, expires_at=2.0)]
    assert runs(broker, *frames, now=1.9)[0] == [(("F", "N"), 2)]
    assert runs(broker, *frames, now=2.0)[0] == [(("F", "N"), 1), (None, 1)]


@pytest.mark.parametrize("kind", [NOTIFICATION, NOTIFICATION | GRAY])
def test_the_colour_makes_no_difference(broker: Broker, kind: int) -> None:
    head = encode_head("c.1", {"x": 1})
    assert runs(broker, frame(kind, head, bytes(25)))[0] == [(("F", "N"), 1)]


@pytest.mark.parametrize(
    "odd",
    [
        frame(0x00, encode_head("c.1", {"x": 1}), bytes(25)),
        frame(0x42, encode_head("c.1", {"x": 1}), bytes(25)),
        frame(NOTIFICATION, encode_head("c.1", {"x": 1}), bytes(24)),
        frame(NOTIFICATION | EXPIRES, encode_head("c.1", {"x": 1}), b"\xff" * 25),
        frame(NOTIFICATION, b"", bytes(25)),
        frame(NOTIFICATION, b"\x92", bytes(25)),
        frame(NOTIFICATION, b"\x92\xbfc.1", bytes(25)),
        frame(NOTIFICATION, b"\x92\xd9\xffc.1", bytes(25)),
        frame(NOTIFICATION, encode_head("c.1", {"x": 1})[:5], bytes(25)),
    ],
)
def test_what_is_no_plain_notification_is_looked_at_closer(broker: Broker, odd: bytes) -> None:
    one = notification(1)
    expected = [(("F", "N"), 1), (None, 1), (("F", "N"), 1)]
    assert runs(broker, one, odd, one, stops=False)[0] == expected


def test_a_very_long_read_takes_several_turns(broker: Broker) -> None:
    one = notification(1)
    assert runs(broker, *[one] * (FRAMES_MAX + 1)) == (
        [(("F", "N"), FRAMES_MAX)],
        FRAMES_MAX * len(one),
    )
