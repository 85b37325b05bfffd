"""A network whose state and messages a fault spoils at one moment, in virtual time.

For tests, and for `sapwood bench stabilization`.

Brokers and clients are joined by links that keep their order and take a time that is drawn. Every
broker gets a tick each half second, at its own phase, and none in between. What is spoilt are
entries, what was told, what the machine of the refresh keeps, and all messages under way. What is
right is taken from a second network with the same clients, in which nothing was spoilt.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random
from typing import Any, Final, NamedTuple

from sapwood.analysis.stabilization import Periods, network_of
from sapwood.analysis.stabilization.bounds import tables_time
from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.client.refreshing import Refreshing as ClientRefreshing
from sapwood.protocol.client.requests import Requests
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.effects import Effect, ResetStream, Send
from sapwood.protocol.events import ClientUp, ControlReceived, LinkUp, Tick
from sapwood.protocol.link.handshake import Welcome
from sapwood.protocol.messages import (
    CODEC,
    Advertise,
    EdgeRouting,
    Message,
    Refresh,
    Repeat,
    Subscribe,
    TableComplete,
    Unadvertise,
    Unsubscribe,
    Whole,
)
from sapwood.protocol.neighbours import REFRESH, refresh_features
from sapwood.protocol.ports import TICK_SECONDS
from sapwood.protocol.restoration import Stale
from sapwood.protocol.stabilize.edge_tables import TABLES
from sapwood.protocol.stabilize.refresh import Edge as RefreshEdge
from sapwood.protocol.stabilize.refresh import Refreshing
from sapwood.protocol.stabilize.settings import StabilizationSettings
from sapwood.protocol.stabilize.whole import Partial
from sapwood.protocol.subscribing import Subscribing
from sapwood.routing.algorithms import ALGORITHMS
from sapwood.routing.strategy import Entry
from sapwood.sim.kernel import Kernel
from sapwood.sim.scenario import Scenario, from_mapping
from sapwood.wire.frames import HEADER_SIZE

PERIOD: Final = 10.0
DELAY_MIN, DELAY_MAX = 0.05, 0.4
WRONG_TIMES: Final = (-1e9, 1e9, math.nan, math.inf, -math.inf)


class PerturbedClient:
    """A client: its requests, and the part of the library that lets a broker compare."""

    def __init__(self, name: str, broker: str, period: float) -> None:
        self.name = name
        self.broker = broker
        self.requests = Requests()
        self.refreshing = ClientRefreshing(name, self.requests)
        self.refreshing.welcomed(
            Welcome(id=broker, session=1, version=1, features=(REFRESH,), refresh=period), 0.0
        )


class Perturbed:
    """The network."""

    def __init__(
        self,
        seed: int,
        algorithm: str,
        scheme: str = "digest",
        *,
        advertisements: bool = False,
        size: int = 6,
        period: float = PERIOD,
    ) -> None:
        self.random = Random(seed)
        self.kernel = Kernel()
        self.algorithm, self.scheme, self.period = algorithm, scheme, period
        self.advertisements = advertisements
        self.brokers: dict[str, Broker] = {}
        self.clients: dict[str, PerturbedClient] = {}
        self.queues: dict[tuple[str, str], list[bytes]] = {}
        self.counts: dict[str, int] = {}
        self.bytes: dict[str, int] = {}
        self.resets: list[ResetStream] = []
        self._arrivals: dict[tuple[str, str], float] = {}
        self.links = [(f"B{self.random.randrange(1, n)}", f"B{n}") for n in range(2, size + 1)]
        settings = StabilizationSettings(
            refresh=scheme,  # type: ignore[arg-type]
            refresh_seconds=period,
            delay_max=DELAY_MAX,
        )
        for n in range(1, size + 1):
            config = BrokerConfig(
                id=f"B{n}",
                routing=algorithm,
                advertisements_required=advertisements,
                stabilization=settings,
                client_refresh_seconds=period,
            )
            self.brokers[config.id] = Broker(config)
        for a, b in self.links:
            for here, there in ((a, b), (b, a)):
                self.queues[here, there] = []
        for a, b in self.links:
            for here, there in ((a, b), (b, a)):
                up = LinkUp(there, features=refresh_features(scheme))
                self._do(here, self.brokers[here].handle(up, 0.0))
        for name in self.brokers:
            self.kernel.at(self.random.uniform(0, TICK_SECONDS), self._tick, name)

    # Clients

    def connect(self, name: str, broker: str) -> PerturbedClient:
        """A client comes to a broker."""
        client = self.clients[name] = PerturbedClient(name, broker, self.period)
        self.queues[name, broker], self.queues[broker, name] = [], []
        features = () if self.scheme == "off" else (REFRESH,)
        self._do(broker, self.brokers[broker].handle(ClientUp(name, features), self.kernel.now))
        if features:
            phase = self.random.uniform(0, TICK_SECONDS)
            self.kernel.at(self.kernel.now + phase, self._client_tick, client)
        return client

    def open(
        self, client: PerturbedClient, kind: type[Subscribe] | type[Advertise], text: str
    ) -> str:
        """A client subscribes or advertises; the name of its request."""
        request = client.requests.open(kind, text, settle=False)
        self._send(client.name, client.broker, request.message)
        return request.name

    def end(self, client: PerturbedClient, name: str) -> None:
        """A client takes a request back."""
        message = client.requests.end(name, settle=False)
        assert message is not None
        self._send(client.name, client.broker, message)

    def _client_tick(self, client: PerturbedClient) -> None:
        self._client_sends(client)
        self.kernel.at(self.kernel.now + TICK_SECONDS, self._client_tick, client)

    def _client_sends(self, client: PerturbedClient) -> None:
        for message in client.refreshing.due(self.kernel.now):
            self._send(client.name, client.broker, message)

    # Driving

    def _tick(self, name: str) -> None:
        self._do(name, self.brokers[name].handle(Tick(), self.kernel.now))
        self.kernel.at(self.kernel.now + TICK_SECONDS, self._tick, name)

    def _do(self, name: str, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._send(name, effect.destination, effect.message)
            elif isinstance(effect, ResetStream):
                self.resets.append(effect)

    def _send(self, here: str, there: str, message: Message) -> None:
        kind = type(message).__name__
        self.counts[kind] = self.counts.get(kind, 0) + 1
        data = CODEC.encode(message)
        self.bytes[kind] = max(self.bytes.get(kind, 0), len(data))
        self._put(here, there, data)

    def _put(self, here: str, there: str, data: bytes) -> None:
        queue = self.queues.get((here, there))
        if queue is None:
            return  # a stranger, of whom only a fault told
        queue.append(data)
        at = self.kernel.now + self.random.uniform(DELAY_MIN, DELAY_MAX)
        at = self._arrivals[here, there] = max(at, self._arrivals.get((here, there), 0.0))
        self.kernel.at(at, self._arrive, here, there)

    def _arrive(self, here: str, there: str) -> None:
        queue = self.queues[here, there]
        if not queue:
            return  # it was lost
        try:
            message = CODEC.decode(queue.pop(0)[HEADER_SIZE:])
        except Exception:  # noqa: BLE001 - spoilt bytes; a broker counts them
            return
        client = self.clients.get(there)
        if client is None:
            event = ControlReceived(here, message)
            self._do(there, self.brokers[there].handle(event, self.kernel.now))
        elif isinstance(message, Repeat):
            client.refreshing.asked(message)
            self._client_sends(client)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.kernel.run(self.kernel.now + seconds)

    # Looking

    @property
    def diameter(self) -> int:
        """Links between the two brokers that are farthest apart."""
        around: dict[str, list[str]] = {name: [] for name in self.brokers}
        for a, b in self.links:
            around[a].append(b)
            around[b].append(a)

        def far(start: str) -> int:
            ahead, depth = {start: 0}, 0
            for name in (order := [start]):
                for other in around[name]:
                    if other not in ahead:
                        ahead[other] = ahead[name] + 1
                        depth = max(depth, ahead[other])
                        order.append(other)
            return depth

        return max(map(far, self.brokers))

    def bound_of(self, scheme: str) -> float:
        """When everything is right again after a fault, at the latest; infinite with `off`."""
        network = network_of(len(self.brokers), diameter=self.diameter, delay_max=DELAY_MAX)
        periods = Periods(
            refresh=scheme,  # type: ignore[arg-type]
            has_advertisements=self.advertisements,
            refresh_period=self.period,
            client_refresh_period=self.period,
            tick=TICK_SECONDS,
        )
        return tables_time(network, periods)

    def refreshing(self, name: str) -> Refreshing:
        """The part of a broker that compares tables."""
        found = self.brokers[name].machines[-1]
        assert isinstance(found, Refreshing)
        return found

    def count(self, name: str) -> int:
        """How often something happened in all of those."""
        return sum(self.refreshing(one).counts[name] for one in self.brokers)

    def tables(self) -> dict[str, Any]:
        """All that must be right: entries, what was told, who gets everything."""
        return {
            name: (
                [
                    {one: table.texts(one) for one in sorted(table.destinations())}
                    for table in broker.tables
                ],
                [
                    {one: dict(ledger.told) for one, ledger in sorted(table.ledgers.items())}
                    for table in broker.tables
                ],
                {one: held.receives for one, held in sorted(broker.neighbours.items())},
                dict(sorted(broker.forwarding.neighbours.items())),
            )
            for name, broker in self.brokers.items()
        }

    # Faults

    def perturb(self, share: float = 1.0) -> None:
        """Spoil the state of some brokers, and messages on every link."""
        for broker in self.brokers.values():
            if self.random.random() < share:
                self._spoil_entries(broker)
                self._spoil_told(broker)
                if self.scheme != "off":
                    self._spoil_refreshing(broker)
        for queue in self.queues.values():
            self._spoil_messages(queue)
        for here, there in self.queues:
            if there in self.brokers and self.random.random() < 0.3:
                self._put(here, there, CODEC.encode(self._junk()))

    def _some_id(self) -> str:
        random = self.random
        ids = [f"{name}/{n}" for name in (*self.clients, "ghost.1") for n in (1, 2)]
        return random.choice([*ids, Filter(self._some_text()).id, "junk"])

    def _some_text(self) -> str:
        low = self.random.randrange(20)
        return f"x >= {low} and x <= {low + self.random.choice((0, 0, 1, 2, 5))}"

    def _spoil_entries(self, broker: Broker) -> None:
        """Change entries, and what follows from them, but tell nobody."""
        random = self.random
        subscribing = broker.machines[0]
        assert isinstance(subscribing, Subscribing)
        known = [*broker.neighbours, *broker.clients]
        has_amnesia = random.random() < 0.15
        for kind, table in zip((SUBSCRIBED, ADVERTISED), broker.tables, strict=True):
            for entry in list(table):
                if has_amnesia or random.random() < 0.3:
                    subscribing.leave(entry.destination, entry.id, kind)
            for _ in range(random.randrange(6)):
                text = self._some_text()
                place = random.choice(known), self._some_id(), kind
                subscribing.enter(*place, Filter(text), random.choice((text, f"({text})")))
            if random.random() < 0.3:
                filter = Filter(self._some_text())
                broker.add(table, Entry("stranger", self._some_id(), filter))
        for name in broker.neighbours:
            if random.random() < 0.3:
                broker.route(name, random.choice(list(ALGORITHMS)))

    def _spoil_told(self, broker: Broker) -> None:
        """Change what is remembered as told; what differs by now is forgotten."""
        random = self.random
        for table in broker.tables:
            for ledger in table.ledgers.values():
                ledger.presume()
                for told_id in list(ledger.told):
                    if random.random() < 0.3:
                        del ledger.told[told_id]
                for _ in range(random.randrange(3)):
                    ledger.told[self._some_id()] = Filter(self._some_text())

    def _spoil_refreshing(self, broker: Broker) -> None:
        """Change what the machine keeps, and which entries are taken for stale."""
        random = self.random
        machine = self.refreshing(broker.id)
        for name in [*broker.neighbours, *broker.clients, "stranger"]:
            draw = random.random()
            if draw < 0.2:
                machine.edges.pop(name, None)
            elif draw < 0.7:
                lines = [(self._some_id(), self._some_text())]
                machine.edges[name] = RefreshEdge(
                    random.choice(WRONG_TIMES),
                    random.choice((*WRONG_TIMES, *[self.kernel.now + self.period] * 5)),
                    random.random() < 0.5,
                    random.choice((0, 1, 10**9)),
                    {random.choice(TABLES): random.choice((1, 2, 3, 10**6))},
                    Partial(random.choice(TABLES), 0, 1, 2, 1, lines),
                )
        machine.look_at = random.choice(WRONG_TIMES)
        machine.look_at_clients_at = random.choice(WRONG_TIMES)
        machine.expire_at = random.choice((*WRONG_TIMES, machine.expire_at))
        if self.scheme == "hop-lease":
            junk = {(name, self._some_id()): None for name in TABLES}
            machine.leases.flags = dict.fromkeys((*broker.neighbours, "stranger"), junk)
        else:
            for name in broker.neighbours:
                if random.random() < 0.3:
                    ids = [dict.fromkeys(table.texts(name)) for table in broker.tables]
                    stale = Stale(random.choice(WRONG_TIMES), *ids)
                    broker.restoration.stale[name] = stale

    def _junk(self) -> Message:
        random = self.random
        one, text = self._some_id(), self._some_text()
        one_digest, other = (random.choice((b"", random.randbytes(16))) for _ in range(2))
        table = random.choice(TABLES)
        return random.choice(
            (
                Subscribe(one, text),
                Subscribe(one, "no filter at all ("),
                Unsubscribe(one),
                Advertise(one, text),
                Unadvertise(one),
                Refresh(random.choice(list(ALGORITHMS)), one_digest, other),
                Refresh("unheard-of", one_digest, other),
                Repeat(table, random.choice(((), (one_digest, other)))),
                Whole(table, ((one, text),), one_digest, 0, 1, random.randrange(2), 2),
                Whole(table, ((one, text),), other),
                EdgeRouting(random.choice(list(ALGORITHMS))),
                TableComplete(),
            )
        )

    def _spoil_messages(self, queue: list[bytes]) -> None:
        """Lose, double, swap and change what is under way, and put in what nobody sent."""
        random = self.random
        for at in reversed(range(len(queue))):
            draw = random.random()
            if draw < 0.25:
                del queue[at]
            elif draw < 0.4:
                queue.insert(at, queue[at])
            elif draw < 0.55:
                queue[at] = CODEC.encode(self._junk())
            elif draw < 0.65:
                spoilt = bytearray(queue[at])
                spoilt[random.randrange(HEADER_SIZE, len(spoilt))] ^= 1 << random.randrange(8)
                queue[at] = bytes(spoilt)
            elif draw < 0.75 and at:
                queue[at - 1], queue[at] = queue[at], queue[at - 1]


def populated(seed: int, *arguments: Any, **options: Any) -> Perturbed:
    """A network with clients and their requests, some seconds after they came."""
    net = Perturbed(seed, *arguments, **options)
    random = Random(seed)
    for number in range(6):
        client = net.connect(f"c{number}.1", random.choice(list(net.brokers)))
        for _ in range(random.randint(1, 3)):
            net.open(client, Subscribe, text_of(random))
        if net.advertisements:
            net.open(client, Advertise, text_of(random))
    net.run(20.0)
    return net


def text_of(random: Random) -> str:
    """A filter, not always written as brokers would write it."""
    low = random.randrange(20)
    high = low + random.choice((0, 1, 2, 5))
    return random.choice((f"x >= {low} and x <= {high}", f"x between {low} and {high}"))


def last_wrong(net: Perturbed, right: Any, seconds: float, step: float = 0.1) -> float:
    """When the tables were last seen to be wrong within a time from now, in seconds from now."""
    since = net.kernel.now
    last = 0.0

    def look() -> None:
        nonlocal last
        if net.tables() != right:
            last = net.kernel.now - since
        net.kernel.at(net.kernel.now + step, look)

    net.kernel.at(since, look)
    net.kernel.run(since + seconds)
    return last


class Recovery(NamedTuple):
    """How a network came back from a fault; times in seconds since the fault."""

    right_after: float
    """Infinite if tables were still wrong at the end."""
    bound: float
    """When they had to be right; infinite if nothing was promised."""

    @property
    def is_in_time(self) -> bool:
        """Whether they were right, no later than promised."""
        return math.isfinite(self.right_after) and self.right_after <= self.bound


def recover(
    seed: int, algorithm: str, scheme: str = "digest", *, advertisements: bool = False
) -> Recovery:
    """Spoil a network, and look at it until two periods after its tables have to be right.

    Without refresh nothing is promised: it is looked at for as long as one that compares digests.
    """
    net = populated(seed, algorithm, scheme, advertisements=advertisements)
    right = net.tables()
    net.perturb(Random(seed).choice((0.2, 0.6, 1.0)))
    patience = net.bound_of("digest" if scheme == "off" else scheme) + 2 * net.period
    last = last_wrong(net, right, patience)
    return Recovery(last if net.tables() == right else math.inf, net.bound_of(scheme))


def published_scenario(scheme: str) -> Scenario:
    """Clients come and go; then messages are spoilt for a second, and tables at its end."""
    return from_mapping(
        {
            "name": f"stabilization, {scheme}",
            "duration": 40.0,
            "topology": {"shape": "tree", "brokers": 7},
            "stabilization": {"scheme": scheme, "refresh_period": PERIOD},
            "workload": {
                "type": "classes",
                "classes": 20,
                "overlap": 2,
                "arrival_rate": 0.2,
                "departure_rate": 0.02,
                "publication_rate": 0.0,
                "initial_subscriptions": 10,
            },
            "faults": [
                {
                    "type": "messages",
                    "at": 19.0,
                    "seconds": 1.0,
                    "loss": 0.2,
                    "duplication": 0.2,
                    "corruption": 0.2,
                    "insertion": 5.0,
                },
                {"type": "tables", "at": 20.0, "share": 0.8},
            ],
        }
    )
