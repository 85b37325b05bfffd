"""A broker that compares, by itself: brought events, and looked at after each."""

from __future__ import annotations

from typing import Any

from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import Effect
from sapwood.protocol.events import ClientUp, ControlReceived, Event, LinkUp
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.messages import Message, Subscribe
from sapwood.protocol.neighbours import REFRESH, RESTART, refresh_features
from sapwood.protocol.stabilize.digest import digest
from sapwood.protocol.stabilize.refresh import Refreshing
from sapwood.protocol.stabilize.settings import StabilizationSettings

PERIOD = 30.0


def link_up(name: str, scheme: str = "digest", *, restarted: bool = False) -> LinkUp:
    return LinkUp(name, features=(RESTART, *refresh_features(scheme)), restarted=restarted)


def new_broker(*events: Event, scheme: str = "digest", **config: Any) -> Broker:
    """With the neighbours N and M and the client c, which all compare."""
    settings = StabilizationSettings(refresh=scheme)  # type: ignore[arg-type]
    broker = Broker(BrokerConfig(**{"id": "B", "stabilization": settings, **config}))
    up = [link_up(name, scheme) for name in ("N", "M")]
    for event in (*up, ClientUp("c.1", (REFRESH,)), *events):
        broker.handle(event, 0.0)
    return broker


def handle(broker: Broker, event: Event, now: float = 0.0) -> list[Effect]:
    effects = broker.handle(event, now)
    assert broker_problems(broker) == []
    return effects


def tell(broker: Broker, source: str, message: Message, now: float = 0.0) -> list[Effect]:
    return handle(broker, ControlReceived(source, message), now)


def want(broker: Broker, source: str, *texts: str) -> None:
    """Let a source subscribe, under ids that are numbers."""
    for number, text in enumerate(texts, 1):
        tell(broker, source, Subscribe(str(number), text))


def refreshing(broker: Broker) -> Refreshing:
    machine = broker.machines[-1]
    assert isinstance(machine, Refreshing)
    return machine


def digest_of(*lines: tuple[str, str]) -> bytes:
    return digest(lines)
