"""Brokers of a published way on a network: driven, recorded, and judged by the shared checkers.

Links keep the order of what is sent over them; past the links every pair of brokers has a channel
of its own. Clients stand beside their broker: what passes between them takes no time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from typing import Any, TypeAlias

import msgspec

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.reconfigure.published.changes import Join, Leave
from sapwood.protocol.reconfigure.published.messages import (
    Carried,
    ChangeAsked,
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    Deliver,
    Notification,
    Received,
    Send,
    Subscribe,
    Tick,
    Unsubscribe,
    Waited,
)
from sapwood.protocol.reconfigure.published.plain import PlainBroker
from sapwood.protocol.reconfigure.published.remove_broker import RemoveRequest
from sapwood.protocol.reconfigure.published.swap_link import Swap
from sapwood.protocol.tree import Topology
from sapwood.sim.kernel import Kernel
from sapwood.sim.reconfiguring.setting import Outcome, Setting
from sapwood.trace.judge.checkers import Checker
from sapwood.trace.recorder import Recorder, Sink
from sapwood.trace.schema import CLOCK, DELIVERED, PUBLISHED, SUBSCRIBED, UNSUBSCRIBED, RunSettings

MakeBroker: TypeAlias = Callable[..., PlainBroker]
ANSWERED = "answer"
"""The attribute of what was published because of something else; it is not answered again."""


def entries_in(message: Any) -> int:
    """How many entries of tables a message carries."""
    if isinstance(message, Swap):
        return sum(len(table) for table in message.tables)
    if isinstance(message, RemoveRequest):
        return sum(len(table) for table in message.clients.values())
    return 0


class World:
    """One network of one setting, with one method."""

    def __init__(self, setting: Setting, make: MakeBroker, sinks: Sequence[Sink] = ()) -> None:
        self.setting = setting
        self.kernel = Kernel()
        self.random = Random(f"reconfiguring {setting.seed}")
        self.coordination: Counter[str] = Counter()
        self.carried: Counter[str] = Counter()
        """Notifications with something written on them, by kind."""
        self.entries = 0
        """Of tables, in messages that coordinate."""
        self.routed: Counter[str] = Counter()
        self.off_ring = self.detours = 0
        self.holds: list[float] = []
        self._parse = lru_cache(4096)(Filter)
        self._checker = Checker(settings={"run": RunSettings(settle_seconds=setting.settle)})
        self._record = Recorder("run", [*sinks, self._checker.add])
        self._record.now = lambda: self.kernel.now
        self._last: dict[tuple[str, str, bool], float] = {}
        self._orders: Counter[str] = Counter()
        self._sequences: Counter[str] = Counter()
        self._ticks: dict[str, float] = {}
        self._answered: set[tuple[str, str, int]] = set()
        self._counting = False
        self.brokers = {
            name: make(name, setting.tree.neighbours(name), self._parse)
            for name in setting.tree.brokers
        }
        for change in setting.changes:
            if isinstance(change, Join):
                self.brokers[change.leaf] = make(change.leaf, (), self._parse)
        self.subscriptions = dict.fromkeys(setting.subscriptions)

    # The run

    def run(self) -> Outcome:
        """Let everything happen, and judge it."""
        for client, filter in self.setting.subscriptions:
            self._subscribe(client, filter)
        self.kernel.run()
        self.kernel.run(max(self.kernel.now, self.setting.settle))
        begin = self.kernel.now
        for publication in self.setting.publications:
            at = begin + publication.at
            self.kernel.at(at, self.publish, publication.client, publication.attributes)
        for time, client, filter, is_new in self.setting.churn:
            act = self._subscribe if is_new else self._unsubscribe
            self.kernel.at(begin + time, act, client, filter)
        self.kernel.at(begin + self.setting.change_at, self._change)
        self.kernel.run(begin + self.setting.until)
        self.kernel.run(self.kernel.now + 2 * self.setting.settle)
        for name in self.brokers:
            self._record(name, CLOCK)
        return self._outcome()

    def _change(self) -> None:
        self._counting = True
        for change in self.setting.changes:
            asked = next(iter(self.brokers.values())).initiators(change)
            for name in dict.fromkeys(asked):
                self.handle(name, ChangeAsked(change))

    def _outcome(self) -> Outcome:
        subscriptions = self.routed["Subscribe"] + self.routed["Unsubscribe"]
        return Outcome(
            coordination=dict(sorted(self.coordination.items())),
            subscriptions=subscriptions,
            subscriptions_off_ring=self.off_ring,
            detours=self.detours,
            notifications=self.routed["Notification"],
            entries=self.entries,
            holds=tuple(self.holds),
            stuck=tuple(self._stuck()),
            problems=tuple(self.problems()),
            verdict=self._checker.verdict(),
        )

    def _stuck(self) -> list[str]:
        """Brokers that still take part."""
        return [name for name, one in self.brokers.items() if one.is_busy]

    # Clients

    def _subscribe(self, client: str, filter: str) -> None:
        broker = self.setting.clients[client]
        self.subscriptions[client, filter] = None
        self._record(broker, SUBSCRIBED, client=client, filter=filter)
        self.handle(broker, ClientSubscribed(client, filter))

    def _unsubscribe(self, client: str, filter: str) -> None:
        broker = self.setting.clients[client]
        self.subscriptions.pop((client, filter), None)
        self._record(broker, UNSUBSCRIBED, client=client, filter=filter)
        self.handle(broker, ClientUnsubscribed(client, filter))

    def publish(self, client: str, attributes: dict[str, Value]) -> None:
        """A client publishes."""
        broker = self.setting.clients[client]
        self._sequences[client] += 1
        self._orders[client] += 1
        self._record(
            broker,
            PUBLISHED,
            publisher=client,
            sequence=self._sequences[client],
            client=client,
            client_order=self._orders[client],
            attributes=msgspec.json.encode(attributes).decode(),
        )
        self.handle(broker, ClientPublished(client, self._sequences[client], attributes))

    def _deliver(self, name: str, client: str, notification: Notification) -> None:
        self._orders[client] += 1
        self._record(
            name,
            DELIVERED,
            publisher=notification.publisher,
            sequence=notification.sequence,
            client=client,
            client_order=self._orders[client],
        )
        if ANSWERED in notification.attributes or not self.setting.answer_share:
            return
        key = (client, notification.publisher, notification.sequence)
        if key in self._answered:
            return
        self._answered.add(key)
        if self.random.random() < self.setting.answer_share:
            answer = {**notification.attributes, ANSWERED: True}
            self.kernel.at(self.kernel.now, self.publish, client, answer)

    # Brokers

    def handle(self, name: str, event: Any) -> None:
        """Bring an event to a broker and do what it asks, in order."""
        broker = self.brokers[name]
        for effect in broker.handle(event, self.kernel.now):
            if isinstance(effect, Send):
                self._send(name, effect)
            elif isinstance(effect, Deliver):
                self._deliver(name, effect.client, effect.notification)
            elif isinstance(effect, Waited):
                self.holds.append(effect.seconds)
        self._plan_tick(name, broker.next_at)

    def _send(self, source: str, effect: Send) -> None:
        target = effect.destination
        self._count(source, target, effect)
        delay = self.setting.delays.link(source, target).sample(self.random)
        if effect.out_of_band:
            delay *= self.setting.detour
        channel = (source, target, effect.out_of_band)
        arrival = max(self.kernel.now + delay, self._last.get(channel, 0.0))
        self._last[channel] = arrival
        self.kernel.at(arrival, self.handle, target, Received(source, effect.message))

    def _count(self, source: str, target: str, effect: Send) -> None:
        if not self._counting:
            return
        kind = type(effect.message).__name__
        if effect.out_of_band:
            self.detours += self._hops(source, target) - 1
        if isinstance(effect.message, Notification | Carried):
            self.routed["Notification"] += 1
            self.carried[kind] += isinstance(effect.message, Carried)
        elif isinstance(effect.message, Subscribe | Unsubscribe):
            self.routed[kind] += 1
            ring = {one for change in self.setting.changes for one in change.ring}
            self.off_ring += not ring.issuperset((source, target))
        else:
            self.coordination[kind] += 1
            self.entries += entries_in(effect.message)

    def _hops(self, source: str, target: str) -> int:
        """The way along the ring."""
        for change in self.setting.changes:
            if source in change.ring and target in change.ring:
                apart = abs(change.ring.index(source) - change.ring.index(target))
                return min(apart, change.n - apart)
        return 1

    def _plan_tick(self, name: str, at: float) -> None:
        if at < self._ticks.get(name, math.inf):
            self._ticks[name] = at
            self.kernel.at(max(at, self.kernel.now), self._tick, name)

    def _tick(self, name: str) -> None:
        self._ticks.pop(name, None)
        self.handle(name, Tick())

    # What must hold at the end

    def problems(self) -> list[str]:
        """What is wrong with links and tables when nothing is under way."""
        tree = self.setting.tree
        for change in self.setting.changes:
            tree = change.applied(tree)
        found = []
        for name, broker in self.brokers.items():
            wanted = tree.neighbours(name) if name in tree.brokers else ()
            if set(broker.neighbours) != set(wanted):
                found.append(f"{name} is linked to {', '.join(sorted(broker.neighbours))}")
        return found or self._table_problems(tree)

    def _table_problems(self, tree: Topology) -> list[str]:
        found = []
        for name in tree.brokers:
            broker = self.brokers[name]
            below = {other: self._wanted(tree, other, name) for other in tree.neighbours(name)}
            for other, wanted in below.items():
                held = set(broker.tables.of(other))
                if wanted - held:
                    found.append(f"{name} misses {len(wanted - held)} entries of {other}")
                if held - wanted:
                    found.append(f"{name} has {len(held - wanted)} entries of {other} for nothing")
        return found

    def _wanted(self, tree: Topology, start: str, without: str) -> set[str]:
        """What clients want beyond a link."""
        seen, ahead = {without, start}, [start]
        for name in ahead:
            fresh = [other for other in tree.neighbours(name) if other not in seen]
            seen.update(fresh)
            ahead += fresh
        key = self.brokers[start].tables.key
        return {
            key(client, filter)
            for client, filter in self.subscriptions
            if self._home(client) in ahead
        }

    def _home(self, client: str) -> str:
        """The broker a client is with when all changes are made."""
        broker = self.setting.clients[client]
        for change in self.setting.changes:
            if isinstance(change, Leave) and change.leaf == broker:
                broker = change.neighbour
        return broker
