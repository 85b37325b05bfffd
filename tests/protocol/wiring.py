"""Brokers wired together without a simulator: every link is a queue of bytes.

What is sent waits in the queue of its link until it is carried over; which link is next is drawn,
if there is something to draw from, so that links are as fast and slow as can be while each keeps
its order. After every event the invariants of the broker that had it are checked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from sapwood.filters.values import Value
from sapwood.matching import MatchIndex
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import Effect, Forward, Send
from sapwood.protocol.events import (
    ClientDown,
    ClientUp,
    Event,
    FramesReceived,
    LinkDown,
    LinkUp,
    NeighbourAway,
    Tick,
)
from sapwood.protocol.invariants import broker_problems, network_problems
from sapwood.protocol.messages import (
    CODEC,
    Advertise,
    Message,
    Refused,
    Settled,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from sapwood.routing.algorithms import Edge, hierarchical, peer_to_peer
from sapwood.wire.frames import (
    decode_envelope,
    decode_head,
    encode_head,
    encode_notification,
    split,
)

STEPS_MAX = 20_000
"""Far more than any test needs."""


def notification(
    publisher: str,
    attributes: Mapping[str, Value],
    sequence: int = 1,
    expires_at: float = 0.0,
    payload: bytes = b"",
) -> bytes:
    """The frame of a notification."""
    head = encode_head(publisher, attributes)
    return encode_notification(head, sequence, 0.0, payload, expires_at)


def names_of(data: bytes) -> list[tuple[str, int]]:
    """Publisher and sequence of each notification in a run."""
    return [(decode_head(head)[0], decode_envelope(body).sequence) for _, head, body in split(data)]


class Wired:
    """Brokers, their links as queues, their clients as lists of what they got."""

    def __init__(
        self,
        links: Iterable[tuple[str, str]],
        *,
        algorithm: str = "covering",
        root: str | None = None,
        random: Random | None = None,
        features: tuple[str, ...] = (),
        **config: Any,
    ) -> None:
        links = list(links)
        self.brokers: dict[str, Broker] = {}
        self.queues: dict[Edge, deque[bytes]] = {}
        self.now = 0.0
        self.at: dict[str, str] = {}
        self.got: dict[str, list[tuple[str, int]]] = {}
        self.answers: dict[str, list[Message]] = {}
        self.rows: list[tuple[str, Effect]] = []
        self.sent: list[tuple[str, str, Message]] = []
        self.forwarded: list[tuple[str, str, int]] = []
        self._random = random
        self._features = features
        self._config = config
        self._sequences: dict[str, int] = {}
        self._requests = 0
        if root is None:
            self._routing = peer_to_peer(links, algorithm)
        else:
            self._routing = hierarchical(links, algorithm, root)
        self._algorithm = algorithm
        for name in dict.fromkeys(name for link in links for name in link):
            self.add_broker(name)
        for a, b in links:
            self.link(a, b)
        self.run()

    def add_broker(self, name: str) -> Broker:
        broker = self.brokers[name] = Broker(BrokerConfig(id=name, **self._config))
        return broker

    # Links

    def link(self, a: str, b: str) -> None:
        for here, there in ((a, b), (b, a)):
            self.queues[here, there] = deque()
        for here, there in ((a, b), (b, a)):
            self.handle(here, self.link_up(here, there))

    def link_up(self, here: str, there: str, *, restarted: bool = False) -> LinkUp:
        """What a broker is told of a link."""
        return LinkUp(
            there,
            sends=self._routing.get((there, here), self._algorithm),
            receives=self._routing.get((here, there), self._algorithm),
            features=self._features,
            restarted=restarted,
        )

    def cut(self, a: str, b: str) -> None:
        for here, there in ((a, b), (b, a)):
            del self.queues[here, there]
        for here, there in ((a, b), (b, a)):
            self.handle(here, LinkDown(there))

    # Restarts

    def crash(self, *names: str) -> None:
        """Brokers lose everything, their clients included; neighbours cannot reach them."""
        for name in names:
            around = self.around(name)
            for other in around:
                self.queues[name, other].clear()
                self.queues[other, name].clear()
                if other not in names:
                    self.handle(other, NeighbourAway(name))
            for client in [one for one, at in self.at.items() if at == name]:
                del self.at[client]
            expected = tuple(around)
            session = self.brokers[name].config.session + 1
            plain = {**self._config, "session": session, "expected": expected}
            self.brokers[name] = Broker(BrokerConfig(id=name, **plain))

    def rejoin(self, a: str, b: str) -> None:
        """A link to a broker that crashed is there again."""
        self.handle(a, self.link_up(a, b, restarted=True))
        self.handle(b, self.link_up(b, a, restarted=True))

    def around(self, name: str) -> list[str]:
        """The neighbours of a broker."""
        return [there for here, there in self.queues if here == name]

    # Clients

    def connect(self, client: str, broker: str) -> None:
        self.at[client] = broker
        self.got[client] = []
        self.answers[client] = []
        self.handle(broker, ClientUp(client))

    def disconnect(self, client: str) -> None:
        self.handle(self.at.pop(client), ClientDown(client))

    def ask(self, client: str, message: Message) -> list[Effect]:
        return self.handle(self.at[client], FramesReceived(client, CODEC.encode(message)))

    def subscribe(self, client: str, entry_id: str, filter: str, *, settle: bool = False) -> int:
        request = self._request(settle)
        self.ask(client, Subscribe(entry_id, filter, request))
        return request

    def unsubscribe(self, client: str, entry_id: str, *, settle: bool = False) -> int:
        request = self._request(settle)
        self.ask(client, Unsubscribe(entry_id, request))
        return request

    def advertise(self, client: str, entry_id: str, filter: str, *, settle: bool = False) -> int:
        request = self._request(settle)
        self.ask(client, Advertise(entry_id, filter, request))
        return request

    def unadvertise(self, client: str, entry_id: str, *, settle: bool = False) -> int:
        request = self._request(settle)
        self.ask(client, Unadvertise(entry_id, request))
        return request

    def _request(self, settle: bool) -> int:
        self._requests += 1
        return self._requests if settle else 0

    def publish(self, client: str, attributes: Mapping[str, Value]) -> tuple[str, int]:
        sequence = self._sequences[client] = self._sequences.get(client, 0) + 1
        frame = notification(client, attributes, sequence)
        self.handle(self.at[client], FramesReceived(client, frame))
        return client, sequence

    def settled(self, client: str) -> dict[int, bool]:
        answers = self.answers[client]
        return {one.request: one.settled for one in answers if isinstance(one, Settled)}

    def refused(self, client: str) -> list[Refused]:
        return [one for one in self.answers[client] if isinstance(one, Refused)]

    # Driving

    def handle(self, name: str, event: Event) -> list[Effect]:
        """Bring an event, do what follows, and give it back to look at."""
        effects = self.brokers[name].handle(event, self.now)
        for effect in effects:
            self._do(name, effect)
        assert broker_problems(self.brokers[name]) == []
        return effects

    def _do(self, name: str, effect: Effect) -> None:
        if isinstance(effect, Forward):
            assert len(names_of(effect.data)) == effect.count > 0
            for destination in effect.destinations:
                if (name, destination) in self.queues:
                    self.forwarded.append((name, destination, effect.count))
                    self.queues[name, destination].append(effect.data)
                else:
                    self.got[destination] += names_of(effect.data)
        elif isinstance(effect, Send):
            if (name, effect.destination) in self.queues:
                self.sent.append((name, effect.destination, effect.message))
                self.queues[name, effect.destination].append(CODEC.encode(effect.message))
            else:
                self.answers[effect.destination].append(effect.message)
        else:
            self.rows.append((name, effect))

    def step(self, edge: Edge | None = None) -> bool:
        """Carry one thing over a link; False if nothing is under way."""
        waiting = [one for one, queue in self.queues.items() if queue]
        if not waiting:
            return False
        if edge is None:
            edge = self._random.choice(waiting) if self._random else waiting[0]
        self.handle(edge[1], FramesReceived(edge[0], self.queues[edge].popleft()))
        return True

    def run(self) -> None:
        """Carry everything over; no time passes."""
        for _ in range(STEPS_MAX):
            if not self.step():
                return
        raise AssertionError(f"no rest after {STEPS_MAX} steps: something goes round in circles")

    def next_tick(self) -> tuple[float, str] | None:
        """When which broker wants the next tick."""
        wanted = [(broker.next_at, name) for name, broker in self.brokers.items()]
        return min(((at, name) for at, name in wanted if at is not None), default=None)

    def tick(self) -> None:
        """Let time pass until the next broker wants a tick, and bring it."""
        wanted = self.next_tick()
        assert wanted is not None
        at, name = wanted
        self.now = max(self.now, at)
        self.handle(name, Tick())

    def run_ticks(self) -> None:
        """Carry everything over and let time pass, until no broker wants a tick any more."""
        self.run()
        while self.next_tick() is not None:
            self.tick()
            self.run()

    def check(self) -> None:
        """What must hold when nothing is under way any more."""
        if not any(self.queues.values()):
            assert network_problems(self.brokers) == []


def line(n: int) -> list[tuple[str, str]]:
    """The links of B1 - B2 - … - Bn."""
    return [(f"B{number}", f"B{number + 1}") for number in range(1, n)]


class Line(Wired):
    """B1 - B2 - … - Bn."""

    def __init__(self, n: int, **options: Any) -> None:
        super().__init__(line(n), **options)


def random_links(n: int, random: Random) -> list[tuple[str, str]]:
    """The links of a random tree."""
    return [(f"B{random.randrange(1, number)}", f"B{number}") for number in range(2, n + 1)]


def load_engine(broker: Broker) -> None:
    """Let the engine match for a broker, and compiled code route its long reads, from now on."""
    assert isinstance(broker.forwarding.index, MatchIndex)
    broker.forwarding.index.engine()
