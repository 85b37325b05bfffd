"""A broker of a published scheme is a broker: it delivers, and knows its problems."""

from __future__ import annotations

import pytest

from protocol.stabilize.published.publishing import new_broker, subscribe
from sapwood.protocol.effects import Forward
from sapwood.protocol.events import FramesReceived
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.stabilize.published.schemes import SCHEMES
from sapwood.wire.frames import encode_head, encode_notification


@pytest.mark.parametrize("scheme", SCHEMES)
def test_notifications_go_to_clients_that_subscribed(scheme: str) -> None:
    broker = new_broker(scheme)
    subscribe(broker, "a", "x = 1", 1.0)
    frame = encode_notification(encode_head("b", {"x": 1}), 1, 1.0, b"", 0.0)
    (effect,) = broker.handle(FramesReceived("b", frame), 2.0)
    assert isinstance(effect, Forward)
    assert "a" in effect.destinations


@pytest.mark.parametrize("scheme", [name for name in SCHEMES if name.startswith("lease")])
def test_a_broker_with_leases_is_sound(scheme: str) -> None:
    broker = new_broker(scheme)
    subscribe(broker, "a", "x > 1", 1.0)
    subscribe(broker, "N", "x > 2", 1.0)
    assert broker_problems(broker) == []
