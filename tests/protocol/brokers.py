"""A broker by itself: brought events, and looked at after each."""

from __future__ import annotations

from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import Effect
from sapwood.protocol.events import ClientUp, ControlReceived, Event, LinkUp
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.messages import Message


def new_broker(*events: Event, **config: object) -> Broker:
    """With the neighbours N and M and the client c."""
    broker = Broker(BrokerConfig(id="B", **config))  # type: ignore[arg-type]
    for event in (LinkUp("N"), LinkUp("M"), ClientUp("c.1"), *events):
        broker.handle(event, 0.0)
    return broker


def handle(broker: Broker, event: Event, now: float = 0.0) -> list[Effect]:
    effects = broker.handle(event, now)
    assert broker_problems(broker) == []
    return effects


def tell(broker: Broker, source: str, message: Message) -> list[Effect]:
    return handle(broker, ControlReceived(source, message))
