"""The simulated network: brokers, links with delays, clients; it carries out effects.

It is a driver like the live runtime: it brings events to the same brokers and does what they ask.
A link keeps the order of what is sent over it, whatever delays are drawn. Clients stand beside
their broker: what passes between them takes no time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple, TypeAlias

import msgspec

from sapwood.errors import TopologyError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.effects import (
    CloseLink,
    Dismiss,
    Forward,
    Measure,
    OpenLink,
    Reborn,
    Record,
    ResetStream,
    Send,
    Withhold,
)
from sapwood.protocol.events import (
    ChangeRequested,
    ClientDown,
    ClientUp,
    ControlReceived,
    DelayMeasured,
    Event,
    FramesReceived,
    LinkDown,
    LinkUp,
    Tick,
)
from sapwood.protocol.forwarding import SharedHeads
from sapwood.protocol.invariants import fault_problems, network_problems
from sapwood.protocol.messages import (
    Advertise,
    Message,
    Repeat,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from sapwood.protocol.neighbours import EDGES, refresh_features
from sapwood.protocol.optimize.messages import SWAPS
from sapwood.protocol.reconfigure.messages import ChangeEnded, Kind
from sapwood.routing.algorithms import Edge, check_edge_routing
from sapwood.sim.client import SimulatedClient
from sapwood.sim.kernel import Kernel
from sapwood.wire.frames import HEADER_SIZE, decode_envelope, decode_head, split

Recorder: TypeAlias = Callable[..., None]
Delay: TypeAlias = Callable[[Random], float]

SETTLING = ("Probe", "Echo")
"""Control messages that only find out whether something has settled: counted apart."""

MEMO_MAX = 65_536
"""Heads, their parts, and filters that all brokers of a network remember together."""


class Station:
    """A broker with what the network keeps for it: its links by neighbour, and when it ticks."""

    __slots__ = ("broker", "door", "links", "name", "tick_at")

    def __init__(self, broker: Broker) -> None:
        self.name = broker.id
        self.broker = broker
        self.links: dict[str, Direction] = {}
        self.tick_at = math.inf
        """The next tick that is scheduled; others that still are have been overtaken."""
        self.door = Direction(self, lambda random: 0.0)


class Direction:
    """One direction of a link: where to, how slow, when the last thing arrives, what was sent."""

    __slots__ = ("control", "delay", "last_arrival", "notifications", "target", "up")

    def __init__(self, target: Station, delay: Delay) -> None:
        self.target = target
        self.delay = delay
        self.last_arrival = 0.0
        self.notifications = 0
        self.control: Counter[str] = Counter()
        self.up = True


Disturb: TypeAlias = Callable[[Direction, Event], list[tuple[float, Event]]]
"""What becomes of something that comes out of a link: how much later it arrives, and as what."""


class Hops(NamedTuple):
    """How many messages went over links so far."""

    notifications: int
    control: int
    """Without those that only find out whether something has settled."""
    settling: int


class Network:
    """Brokers and clients on a kernel."""

    def __init__(
        self,
        random: Random,
        config: Mapping[str, Any] | None = None,
        record: Recorder | None = None,
        make_broker: Callable[..., Broker] = Broker,
    ) -> None:
        self.kernel = Kernel()
        self.brokers: dict[str, Broker] = {}
        self.clients: dict[str, SimulatedClient] = {}
        self.directions: dict[Edge, Direction] = {}
        self.cut: list[Direction] = []
        """What links were that are gone: their counts remain."""
        self.changes: dict[tuple[str, int], ChangeEnded] = {}
        """By broker and request: how the changes of the tree ended that were asked for."""
        self.deliveries: Callable[[str, bytes], None] | None = None
        """Gets the session and the frames of every delivery."""
        self.client_features: tuple[str, ...] = ()
        """What clients can do beyond the first release."""
        self.asked: Callable[[str, Repeat], None] | None = None
        """Is told which client is asked by its broker what it has declared."""
        self.watch: Callable[[str], None] | None = None
        """Is told of every broker at which something but notifications has happened."""
        self._asked = 0
        self._stations: dict[str, Station] = {}
        self._random = random
        self._arrival = self._arrive
        self._control_arrival = self._control_arrives
        """The methods bound once: one of them is scheduled for every hop."""
        self._disturbed: Disturb | None = None
        self._make_broker = make_broker
        self._record = record
        self._config = dict(config or {})
        self._decode = lru_cache(MEMO_MAX)(decode_head)
        self._heads = SharedHeads(MEMO_MAX)
        self._parse = lru_cache(MEMO_MAX)(Filter)
        self._effects: dict[type, Callable[[Station, Any], None]] = {
            Send: self._send,
            Dismiss: lambda station, effect: self.disconnect(effect.client),
            ResetStream: self._reset,
            Record: self._record_effect,
            Reborn: lambda station, effect: None,
            Withhold: lambda station, effect: None,
            OpenLink: self._open,
            Measure: self._measure,
            CloseLink: self._close,
        }

    # Building

    def add_broker(self, name: str) -> Broker:
        """A new broker, without links."""
        if name in self.brokers:
            raise TopologyError(f"there is a broker {name!r} already")
        broker = self.brokers[name] = self._new_broker(name)
        self._stations[name] = Station(broker)
        return broker

    def _new_broker(self, name: str) -> Broker:
        config = BrokerConfig(
            id=name,
            recording=self._record is not None,
            **{"addresses": (f"sim://{name}",), **self._config},
        )
        return self._make_broker(config, decode=self._decode, heads=self._heads, parse=self._parse)

    def add_link(
        self, a: str, b: str, delay: Delay, routing: Mapping[Edge, str], in_tree: bool = True
    ) -> None:
        """Link two brokers; each learns how the two directions are routed."""
        for name in (a, b):
            if name not in self.brokers:
                raise TopologyError(f"link {a}-{b}: there is no broker {name!r}")
        if a == b or (a, b) in self.directions:
            raise TopologyError(f"link {a}-{b}: a link joins two brokers, and there is one at most")
        for here, there in ((a, b), (b, a)):
            direction = Direction(self._stations[there], delay)
            self.directions[here, there] = self._stations[here].links[there] = direction
        for here, there in ((a, b), (b, a)):
            sends, receives = routing[there, here], routing[here, there]
            up = LinkUp(
                there,
                in_tree,
                sends=sends,
                receives=receives,
                features=self._features(here),
            )
            self.handle(here, up)

    def cut_link(self, a: str, b: str) -> None:
        """A link is gone; what is under way on it is lost."""
        if (a, b) not in self.directions:
            raise TopologyError(f"there is no link {a}-{b} to cut")
        for here, there in ((a, b), (b, a)):
            direction = self.directions.pop((here, there))
            direction.up = False
            self.cut.append(direction)
            del self._stations[here].links[there]
        for here, there in ((a, b), (b, a)):
            self.handle(here, LinkDown(there))

    def _open(self, station: Station, effect: OpenLink) -> None:
        """A broker has another one dialled: they are linked, outside the tree.

        The link is as slow, and told what is wanted in the same way, as the others of each end.
        """
        here, there = station.name, effect.broker
        if there not in self.brokers or (here, there) in self.directions:
            return
        delay = next((one.delay for one in station.links.values()), station.door.delay)
        routing = {(there, here): self._usual(here), (here, there): self._usual(there)}
        self.add_link(here, there, delay, routing, in_tree=False)

    def _features(self, name: str) -> tuple[str, ...]:
        """What the brokers of this network can do beyond the first release, as each is set."""
        config = self.brokers[name].config
        swaps = (SWAPS,) if config.optimization.is_on else ()
        return (*refresh_features(config.stabilization.refresh), EDGES, *swaps)

    def _measure(self, station: Station, effect: Measure) -> None:
        """A broker wants to know how long a message takes to another one."""
        direction = station.links.get(effect.neighbour)
        if direction is not None:
            seconds = direction.delay(self._random)
            measured = DelayMeasured(effect.neighbour, seconds)
            back = Direction(station, direction.delay)
            self.kernel.soon(self.kernel.now + 2 * seconds, self._control_arrival, back, measured)

    def _usual(self, name: str) -> str:
        """How a broker has its neighbours told what to send to it."""
        broker = self.brokers[name]
        if broker.config.edges.is_auto:
            return broker.config.routing
        known = [broker.neighbours[one].sends for one in broker.neighbours.tree()]
        return known[0] if known else broker.config.routing

    def _close(self, station: Station, effect: CloseLink) -> None:
        """A broker ends a link."""
        if (station.name, effect.neighbour) in self.directions:
            self.cut_link(station.name, effect.neighbour)

    def _reset(self, station: Station, effect: ResetStream) -> None:
        """A stream begins anew: a client goes, a link comes again, without what is under way."""
        if effect.peer in self.clients:
            self.disconnect(effect.peer)
            return
        here, there = station.name, effect.peer
        direction = self.directions.get((here, there))
        if direction is None:
            return
        neighbour = station.broker.neighbours[there]
        routing = {(there, here): neighbour.sends, (here, there): neighbour.receives}
        self.cut_link(here, there)
        self.add_link(here, there, direction.delay, routing, neighbour.in_tree)

    def restart(self, name: str) -> Broker:
        """A broker crashes and is back at once, with empty tables; the broker it is now.

        What is under way to and from it is lost. Its neighbours and clients are those it had; what
        the clients have declared is known, for the trace, but not in its tables.
        """
        station, before = self._stations[name], self.brokers[name]
        station.broker = self.brokers[name] = after = self._new_broker(name)
        station.tick_at = math.inf
        for other in station.links:
            for here, there in ((name, other), (other, name)):
                lost = self.directions[here, there]
                lost.up = False
                self.cut.append(lost)
                fresh = Direction(lost.target, lost.delay)
                self.directions[here, there] = self._stations[here].links[there] = fresh
        for other, known in before.neighbours.items():
            up = LinkUp(
                other,
                known.in_tree,
                sends=known.sends,
                receives=known.receives,
                features=known.features,
            )
            self.handle(name, up)
        for client in before.clients:
            self.handle(name, ClientUp(client, self.client_features))
            for kind in (SUBSCRIBED, ADVERTISED):
                for entry_id, filter in before.clients.claims(client, kind).items():
                    after.clients.claim(client, kind, entry_id, filter)
        return after

    def build_tree(
        self, links: list[tuple[str, str]], delay: Delay, routing: Mapping[Edge, str]
    ) -> None:
        """All brokers and links of a tree."""
        check_edge_routing(routing)
        for name in dict.fromkeys(name for link in links for name in link):
            self.add_broker(name)
        for a, b in links:
            self.add_link(a, b, delay, routing)

    # Looking

    def hops(self) -> Hops:
        """What went over all links there are and were."""
        directions = [*self.directions.values(), *self.cut]
        control = sum(one.control.total() for one in directions)
        settling = sum(one.control[kind] for one in directions for kind in SETTLING)
        notifications = sum(one.notifications for one in directions)
        return Hops(notifications, control - settling, settling)

    def problems(self) -> list[str]:
        """What does not hold though it must, when nothing is under way any more."""
        return network_problems(self.brokers) + fault_problems(self.brokers)

    def exchange(self, broker: str, old: Edge, new: Edge, kind: Kind = "exchange") -> int:
        """Ask a broker to have one link of the tree exchanged for another; the request."""
        self._asked += 1
        self.handle(broker, ChangeRequested(self._asked, old, new, kind))
        return self._asked

    # What clients do

    def connect(self, session: str, broker: str) -> SimulatedClient:
        """A client's session begins."""
        if broker not in self.brokers:
            raise TopologyError(f"client {session}: there is no broker {broker!r}")
        if session in self.clients or session in self.brokers:
            raise TopologyError(f"client {session}: there is a client or broker of that name")
        client = self.clients[session] = SimulatedClient(session, broker)
        self.handle(broker, ClientUp(session, self.client_features))
        return client

    def disconnect(self, session: str) -> None:
        """A client's session ends."""
        self.handle(self.clients.pop(session).broker, ClientDown(session))

    def subscribe(
        self, session: str, name: str, filter: str, settle: bool = True, lease: float = 0.0
    ) -> int:
        """A client subscribes; the number of its request to be told, zero without one."""
        client, request = self._asking(session, settle)
        self._tell(client, Subscribe(name, filter, request, lease))
        return request

    def unsubscribe(self, session: str, name: str, settle: bool = True) -> int:
        """A client unsubscribes."""
        client, request = self._asking(session, settle)
        self._tell(client, Unsubscribe(name, request))
        return request

    def advertise(
        self, session: str, name: str, filter: str, settle: bool = True, lease: float = 0.0
    ) -> int:
        """A client advertises."""
        client, request = self._asking(session, settle)
        self._tell(client, Advertise(name, filter, request, lease))
        return request

    def unadvertise(self, session: str, name: str, settle: bool = True) -> int:
        """A client takes an advertisement back."""
        client, request = self._asking(session, settle)
        self._tell(client, Unadvertise(name, request))
        return request

    def _asking(self, session: str, settle: bool) -> tuple[SimulatedClient, int]:
        client = self.clients[session]
        return client, client.next_request() if settle else 0

    def _tell(self, client: SimulatedClient, message: Message) -> None:
        self.handle(client.broker, ControlReceived(client.session, message))

    def publish(
        self,
        session: str,
        attributes: Mapping[str, Value],
        payload: bytes = b"",
        expires_at: float = 0.0,
    ) -> int:
        """A client publishes; the sequence number of the notification."""
        client = self.clients[session]
        sequence, frame = client.notification(attributes, self.kernel.now, payload, expires_at)
        if self._record is not None:
            self._record(
                client.broker,
                "published",
                publisher=session,
                sequence=sequence,
                client=session,
                client_order=client.next_order(),
                attributes=msgspec.json.encode(dict(attributes)).decode(),
                bytes=len(frame),
            )
        self.handle(client.broker, FramesReceived(session, frame))
        return sequence

    # Driving

    def handle(self, name: str, event: Event) -> None:
        """Bring an event to a broker and do what it asks, in order."""
        station = self._stations[name]
        self._arrive(station.door, event)
        if type(event) is not FramesReceived:
            if self.watch is not None:
                self.watch(name)
            self._plan_tick(station)

    def _arrive(self, direction: Direction, event: Event) -> None:
        """Something comes out of a link: bring it to the broker and do what it asks, in order.

        To forward notifications is nearly all there is to do, so it is done here, without a call.
        """
        if not direction.up:
            return
        station = direction.target
        kernel, links = self.kernel, station.links
        for effect in station.broker.handle(event, kernel.now):
            if type(effect) is not Forward:
                self._effects[type(effect)](station, effect)
                continue
            forwarded = FramesReceived(station.name, effect.data)
            for destination in effect.destinations:
                if destination in links:
                    onward = links[destination]
                    onward.notifications += effect.count
                    if self._record is not None:
                        self._record_forwarded(station.name, destination, effect.data)
                    arrival = kernel.now + onward.delay(self._random)
                    if arrival < onward.last_arrival:  # noqa: PLR1730 - max() takes longer
                        arrival = onward.last_arrival
                    onward.last_arrival = arrival
                    kernel.soon(arrival, self._arrival, onward, forwarded)
                elif self._record is not None or self.deliveries is not None:
                    self._deliver(destination, effect.data)

    def _send(self, station: Station, effect: Send) -> None:
        direction = station.links.get(effect.destination)
        if direction is not None:
            direction.control[type(effect.message).__name__] += 1
            arrival = self.kernel.now + direction.delay(self._random)
            direction.last_arrival = max(arrival, direction.last_arrival)
            told = ControlReceived(station.name, effect.message)
            self.kernel.soon(direction.last_arrival, self._control_arrival, direction, told)
        elif effect.destination in self.clients:
            self.clients[effect.destination].answer(effect.message)
            if self.asked is not None and isinstance(effect.message, Repeat):
                self.asked(effect.destination, effect.message)
        elif isinstance(effect.message, ChangeEnded):
            self.changes[station.name, effect.message.request] = effect.message

    def _control_arrives(self, direction: Direction, event: Event) -> None:
        """A control message comes out of a link: it may move the next tick."""
        self._arrive(direction, event)
        if self.watch is not None:
            self.watch(direction.target.name)
        self._plan_tick(direction.target)

    # Faults

    def disturb(self, disturbed: Disturb | None) -> None:
        """Let something be done to everything that is sent from now on; None: no longer.

        It is asked when something comes out of a link, and says what arrives, and how much later.
        """
        self._disturbed = disturbed
        self._arrival = self._arrive if disturbed is None else self._arrive_disturbed
        self._control_arrival = (
            self._control_arrives if disturbed is None else self._arrive_disturbed
        )

    def _arrive_disturbed(self, direction: Direction, event: Event) -> None:
        disturb = self._disturbed
        for delay, changed in [(0.0, event)] if disturb is None else disturb(direction, event):
            is_control = isinstance(changed, ControlReceived)
            arrive = self._control_arrives if is_control else self._arrive
            self.kernel.at(self.kernel.now + delay, arrive, direction, changed)

    def insert(self, source: str, target: str, message: Message) -> None:
        """A control message arrives that nobody sent."""
        direction = self.directions[source, target]
        self._control_arrives(direction, ControlReceived(source, message))

    def look_at_clock(self, name: str) -> None:
        """The state of a broker was changed from outside: when it ticks next may have too."""
        station = self._stations[name]
        station.tick_at = math.inf
        self._plan_tick(station)

    def _plan_tick(self, station: Station) -> None:
        """Schedule the next tick of a broker, unless one comes early enough anyway."""
        at = station.broker.next_at
        if at is not None and at < station.tick_at:
            station.tick_at = max(at, self.kernel.now)
            self.kernel.at(station.tick_at, self._tick, station, station.tick_at)

    def _tick(self, station: Station, at: float) -> None:
        """Bring a tick, if it was not overtaken and something is due; else nothing happens.

        So what was scheduled for something that has been done meanwhile keeps no run alive.
        """
        if station.tick_at != at:
            return
        station.tick_at = math.inf
        due = station.broker.next_at
        if due is not None and due <= self.kernel.now:
            self._arrive(station.door, Tick())
            if self.watch is not None:
                self.watch(station.name)
        self._plan_tick(station)

    def _deliver(self, session: str, data: bytes) -> None:
        client = self.clients.get(session)
        if client is None:
            return
        if self.deliveries is not None:
            self.deliveries(session, data)
        if self._record is None:
            return
        for publisher, sequence, size in self._notifications(data):
            self._record(
                client.broker,
                "delivered",
                publisher=publisher,
                sequence=sequence,
                client=session,
                client_order=client.next_order(),
                target=session,
                bytes=size,
            )

    def _record_forwarded(self, source: str, target: str, data: bytes) -> None:
        assert self._record is not None
        for publisher, sequence, size in self._notifications(data):
            self._record(
                source,
                "forwarded",
                publisher=publisher,
                sequence=sequence,
                source=source,
                target=target,
                bytes=size,
            )

    def _record_effect(self, station: Station, effect: Record) -> None:
        if self._record is not None:
            self._record(station.name, effect.kind, **effect.fields)

    def _notifications(self, data: bytes) -> Iterator[tuple[str, int, int]]:
        """Publisher, sequence and size of each notification in a run of frames."""
        for _, head, body in split(data):
            publisher, _ = self._decode(head)
            yield publisher, decode_envelope(body).sequence, HEADER_SIZE + len(head) + len(body)
