"""What comes a second time is left out while somebody watches."""

from __future__ import annotations

import pytest

from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect, Forward
from sapwood.protocol.events import ClientUp, ControlReceived, LinkUp
from sapwood.protocol.messages import Subscribe
from sapwood.protocol.stabilize import watching
from sapwood.wire.frames import encode_head, encode_notification


def note(sequence: int, publisher: str = "p.1") -> bytes:
    return encode_notification(encode_head(publisher, {"n": 1}), sequence, 0.0, b"")


@pytest.fixture
def broker() -> Broker:
    """With the neighbours N and M, and a client that wants everything; it watches."""
    made = Broker(BrokerConfig(id="B"))
    for event in (LinkUp("N"), LinkUp("M"), ClientUp("c.1"), ClientUp("p.1")):
        made.handle(event, 0.0)
    made.handle(ControlReceived("c.1", Subscribe("1", "n = 1")), 0.0)
    made.watch(is_watched=True)
    return made


def forwarded(effects: list[Effect]) -> int:
    return sum(isinstance(effect, Forward) for effect in effects)


def repeated(broker: Broker) -> int:
    return broker.drops.counts[Drop.REPEATED]


def test_the_first_passes_and_the_second_does_not(broker: Broker) -> None:
    assert forwarded(broker.receive("N", note(1), 0.0)) == 1
    assert forwarded(broker.receive("M", note(1), 0.0)) == 0
    assert forwarded(broker.receive("N", note(1), 0.0)) == 0
    assert repeated(broker) == 2


def test_what_is_new_beside_it_passes(broker: Broker) -> None:
    broker.receive("N", note(2), 0.0)
    assert forwarded(broker.receive("N", note(1) + note(2) + note(3), 0.0)) == 2
    assert repeated(broker) == 1


def test_another_publisher_has_its_own_numbers(broker: Broker) -> None:
    broker.receive("N", note(1), 0.0)
    assert forwarded(broker.receive("N", note(1, "q.1"), 0.0)) == 1


def test_what_a_client_publishes_here_does_not_come_back(broker: Broker) -> None:
    assert forwarded(broker.receive("p.1", note(1), 0.0)) == 1
    assert forwarded(broker.receive("N", note(1), 0.0)) == 0


def test_a_client_may_send_again_what_was_not_acknowledged(broker: Broker) -> None:
    """Whether it was taken before is decided elsewhere."""
    broker.receive("p.1", note(1), 0.0)
    broker.receive("p.1", note(1), 0.0)
    assert repeated(broker) == 0


def test_the_oldest_are_forgotten(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "SEEN_MAX", 2)
    for sequence in (1, 2, 3):
        broker.receive("N", note(sequence), 0.0)
    assert broker.watching is not None
    assert len(broker.watching.seen) == 2
    assert forwarded(broker.receive("N", note(1), 0.0)) == 1
    assert forwarded(broker.receive("N", note(3), 0.0)) == 0


def test_nobody_watches_without_a_reason(broker: Broker) -> None:
    broker.watch(is_watched=False)
    assert broker.watching is None
    broker.receive("N", note(1), 0.0)
    assert forwarded(broker.receive("M", note(1), 0.0)) == 1
