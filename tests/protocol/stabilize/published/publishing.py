"""A broker of a published scheme by itself, with neighbours N and M and clients a, b and c."""

from __future__ import annotations

from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.events import ClientUp, ControlReceived, LinkUp, Tick
from sapwood.protocol.messages import Message, Subscribe, Unsubscribe
from sapwood.protocol.stabilize.published.broker import PublishedBroker
from sapwood.protocol.stabilize.published.schemes import SCHEMES
from sapwood.protocol.stabilize.published.settings import SchemeSettings

PERIOD = 10.0


def new_broker(
    scheme: str, *, phase: float = 1.0, ends: bool = True, **config: object
) -> PublishedBroker:
    """Its clock overruns at 10, 20, …"""
    settings = SchemeSettings(scheme=scheme, lease_period=PERIOD, phase=phase, root="B", ends=ends)
    routing = SCHEMES[scheme].algorithm or "identity"
    broker = PublishedBroker(BrokerConfig(id="B", routing=routing, **config), settings)  # type: ignore[arg-type]
    for neighbour in ("N", "M"):
        broker.handle(LinkUp(neighbour), 0.0)
    for client in ("a", "b", "c"):
        broker.handle(ClientUp(client), 0.0)
    return broker


def told(broker: PublishedBroker, source: str, message: Message, now: float) -> list[Effect]:
    return broker.handle(ControlReceived(source, message), now)


def subscribe(
    broker: PublishedBroker, source: str, text: str, now: float, **more: float
) -> list[str]:
    """Who is told what because somebody subscribes or renews."""
    message = Subscribe(name_of(broker, source, text), text, **more)  # type: ignore[arg-type]
    return said(told(broker, source, message, now))


def unsubscribe(broker: PublishedBroker, source: str, text: str, now: float) -> list[str]:
    return said(told(broker, source, Unsubscribe(name_of(broker, source, text)), now))


def name_of(broker: PublishedBroker, source: str, text: str) -> str:
    """Neighbours name filters by their ids, clients as they like."""
    return text if source in broker.clients else broker.parse(text).id


def tick(broker: PublishedBroker, now: float) -> list[str]:
    return said(broker.handle(Tick(), now))


def said(effects: list[Effect]) -> list[str]:
    """As ``N + x = 1`` and ``N - x = 1``: who is told of what, or of the end of it."""
    lines = []
    for effect in effects:
        assert isinstance(effect, Send)
        message = effect.message
        if isinstance(message, Subscribe):
            lease = f" for {message.lease:g}" if message.lease else ""
            NAMES[message.id] = message.filter
            lines.append(f"{effect.destination} + {message.filter}{lease}")
        elif isinstance(message, Unsubscribe):
            lines.append(f"{effect.destination} - {NAMES.get(message.id, message.id)}")
        else:
            lines.append(f"{effect.destination} {message}")
    return lines


NAMES: dict[str, str] = {}
"""Texts by the ids under which they were told."""


def entries(broker: PublishedBroker) -> list[str]:
    return sorted(f"{one.destination} {one.filter}" for one in broker.subscriptions)
