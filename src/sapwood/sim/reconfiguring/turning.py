"""Turning waves on the settings of the published ways: the brokers that run live, measured alike.

Brokers keep no tree by beacons here and compare no tables, as those of the published ways do not:
what is counted is the change. How the ring is found (a survey) is not counted for anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import CloseLink, Effect, Forward, OpenLink, Send
from sapwood.protocol.events import (
    ChangeRequested,
    ClientUp,
    ControlReceived,
    Event,
    FramesReceived,
    LinkDown,
    LinkUp,
    Tick,
)
from sapwood.protocol.invariants import network_problems
from sapwood.protocol.messages import CODEC, Message, Subscribe, Unsubscribe
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.messages import (
    Accept,
    Collect,
    EdgeTables,
    Flush,
    Lock,
    Offer,
    Paint,
    Prepare,
    Turn,
)
from sapwood.protocol.reconfigure.published import messages as published
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings
from sapwood.sim.reconfiguring.methods import IN_CAUSAL
from sapwood.sim.reconfiguring.setting import Outcome, Setting
from sapwood.sim.reconfiguring.world import World
from sapwood.trace.recorder import Sink
from sapwood.wire.frames import (
    NOTIFICATION_TYPES,
    decode_envelope,
    decode_head,
    encode_head,
    encode_notification,
    split,
)

WAVES = (Prepare, Lock, Collect, Offer, Accept, Turn, Flush, Paint)
"""What coordinates a change."""


class TurningMethod(NamedTuple):
    """Turning waves as a `sapwood.sim.reconfiguring.setting.Method`."""

    routing: str = "identity"
    """As the published ways have it."""
    promises: tuple[str, ...] = IN_CAUSAL
    ring_max: int | None = 12

    def __call__(self, setting: Setting) -> Outcome:
        """Run it."""
        return TurningWorld(setting, self.routing).run()


class TurningWorld(World):
    """A network of the brokers that run live, with one change or several."""

    brokers: dict[str, Broker]  # type: ignore[assignment]

    def __init__(self, setting: Setting, routing: str, sinks: Sequence[Sink] = ()) -> None:
        def make(name: str, _: object, parse: Callable[[str], Filter]) -> Any:
            config = BrokerConfig(
                id=name,
                routing=routing,
                addresses=(f"sim://{name}",),
                tree=TreeSettings(protocol="off"),
                stabilization=StabilizationSettings(refresh="off"),
            )
            return Broker(config, parse=parse)

        super().__init__(setting, make, sinks)
        self._waiting: dict[str, list[float]] = {}
        """By broker: when what waits there came."""
        for left, right in setting.tree.links:
            self._link(left, right, in_tree=True)
        for client, broker in setting.clients.items():
            self.handle(broker, ClientUp(client))

    def _link(self, left: str, right: str, *, in_tree: bool) -> None:
        for here, there in ((left, right), (right, left)):
            self.handle(here, LinkUp(there, in_tree=in_tree))

    def _change(self) -> None:
        self._counting = True
        for number, change in enumerate(self.setting.changes, start=1):
            if not isinstance(change, Exchange):
                raise TypeError(f"turning waves exchange links; {change!r} does not")
            self.handle(change.ring[0], ChangeRequested(number, change.old, change.new))

    def _stuck(self) -> list[str]:
        return [name for name, one in self.brokers.items() if one.turning.ring is not None]

    # Brokers

    def handle(self, name: str, event: Any) -> None:
        """Bring an event to a broker and do what it asks, in order."""
        broker, brought = self.brokers[name], _translated(event)
        is_held = isinstance(brought, FramesReceived) and broker.turning.holds(brought.source)
        if is_held:
            self._waiting.setdefault(name, []).extend(
                [self.kernel.now] * len(_notifications(brought.data))  # type: ignore[union-attr]
            )
        for effect in broker.handle(brought, self.kernel.now):
            self._do(name, effect)
        if name in self._waiting and broker.turning.ring is None:
            self.holds += [self.kernel.now - at for at in self._waiting.pop(name)]
        if broker.next_at is not None:
            self._plan_tick(name, broker.next_at)

    def _do(self, name: str, effect: Effect) -> None:
        if isinstance(effect, Send):
            if effect.destination in self.brokers[name].neighbours:
                self._note(name, effect.destination, effect.message)
                self._carry(name, effect.destination, CODEC.encode(effect.message))
        elif isinstance(effect, Forward):
            for destination in effect.destinations:
                self._forward(name, destination, effect.data)
        elif isinstance(effect, OpenLink):
            self._link(name, effect.broker, in_tree=False)
        elif isinstance(effect, CloseLink):
            self.handle(name, LinkDown(effect.neighbour))
            self.handle(effect.neighbour, LinkDown(name))

    def _forward(self, name: str, destination: str, data: bytes) -> None:
        if destination in self.brokers:
            self.routed["Notification"] += len(_notifications(data)) if self._counting else 0
            self._carry(name, destination, data)
            return
        for notification in _notifications(data):
            self._deliver(name, destination, notification)

    def _carry(self, source: str, target: str, data: bytes) -> None:
        delay = self.setting.delays.link(source, target).sample(self.random)
        arrival = max(self.kernel.now + delay, self._last.get((source, target, False), 0.0))
        self._last[source, target, False] = arrival
        self.kernel.at(arrival, self.handle, target, FramesReceived(source, data))

    def _note(self, source: str, target: str, message: Message) -> None:
        """Count a message, and the (un)subscriptions that it stands for."""
        if not self._counting:
            return
        tables = getattr(message, "tables", None)
        entries = int(isinstance(message, Subscribe | Unsubscribe))
        if isinstance(message, WAVES):
            self.coordination[type(message).__name__] += 1
        if isinstance(tables, EdgeTables):
            entries += len(tables.subscriptions.added) + len(tables.subscriptions.removed)
        self.routed["Subscribe"] += entries
        ring = {one for change in self.setting.changes for one in change.ring}
        self.off_ring += 0 if ring.issuperset((source, target)) else entries

    # What must hold at the end

    def problems(self) -> list[str]:
        """What is wrong with links and tables when nothing is under way."""
        tree = self.setting.tree
        for change in self.setting.changes:
            tree = change.applied(tree)
        found = [
            f"{name} is linked to {', '.join(sorted(broker.neighbours.tree()))}"
            for name, broker in self.brokers.items()
            if set(broker.neighbours.tree()) != set(tree.neighbours(name))
        ]
        return found or network_problems(self.brokers)


def _translated(event: Any) -> Event:
    """What clients do, as the brokers are told of it."""
    if isinstance(event, published.ClientSubscribed):
        return ControlReceived(event.client, Subscribe(event.filter, event.filter))
    if isinstance(event, published.ClientUnsubscribed):
        return ControlReceived(event.client, Unsubscribe(event.filter))
    if isinstance(event, published.ClientPublished):
        head = encode_head(event.client, event.attributes)
        return FramesReceived(event.client, encode_notification(head, event.sequence, 0.0, b""))
    if isinstance(event, published.Tick):
        return Tick()
    brought: Event = event
    return brought


def _notifications(data: bytes) -> list[published.Notification]:
    """The notifications among some frames."""
    found = []
    for kind, head, body in split(data):
        if kind in NOTIFICATION_TYPES:
            publisher, attributes = decode_head(head)
            sequence = decode_envelope(body).sequence
            found.append(published.Notification(publisher, sequence, attributes))
    return found
