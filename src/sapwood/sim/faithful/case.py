"""Random cases for the faithful swarm: a network, what its clients do, and what goes wrong.

A case is drawn from a seed alone and is complete before anything runs. It has two phases: one of
faults under load, and one of calm, in which everything must come back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from random import Random
from typing import Final

import msgspec

from sapwood.filters.values import Value
from sapwood.protocol.link.limits import ClientLimits, LinkLimits
from sapwood.routing.algorithms import ALGORITHMS
from sapwood.sim.faithful.driver import Crash
from sapwood.sim.faithful.host import Clock

FILTERS: Final = ("n >= 0", "n < 5", "n between 3 and 7", "n = 4", "kind = 'a'", "true")
"""What clients subscribe to: some cover others, some overlap."""

HIDDEN_SHARE: Final = 0.25
CALM_PUBLICATIONS: Final = 3
"""How often each client publishes when all is calm."""


class Do(StrEnum):
    """What a step of a plan does."""

    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    PUBLISH = "publish"
    CUT = "cut"
    CUT_AFTER = "cut after"
    FREEZE = "freeze"
    FREEZE_ONE_WAY = "freeze one way"
    REFUSE = "refuse"
    SLOW = "slow"
    HANG = "hang"
    CRASH = "crash"
    STOP = "stop"


LINK_FAULTS: Final = (
    Do.CUT,
    Do.CUT_AFTER,
    Do.FREEZE,
    Do.FREEZE_ONE_WAY,
    Do.REFUSE,
    Do.SLOW,
)
PROCESS_FAULTS: Final = (Do.HANG, Do.CRASH, Do.STOP)
FAULTS: Final = (*LINK_FAULTS, *PROCESS_FAULTS)


class Step(msgspec.Struct, frozen=True):
    """One thing that happens at one time, and perhaps ends after a while."""

    at: float
    do: Do
    who: str
    """The client, the broker, or the first end of the connection."""
    other: str = ""
    """The other end."""
    seconds: float = 0.0
    """How long a fault lasts; a process that ended is started again after that."""
    size: int = 0
    """Bytes: of a payload, until a connection breaks, or each second."""
    name: str = ""
    filter: str = ""
    attributes: Mapping[str, Value] = {}
    crash: Crash = Crash.KILLED


class ClientPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A client: which brokers it knows, and its limits."""

    session: str
    brokers: tuple[str, ...]
    buffer_bytes: int
    silence_seconds: float
    slow_policy: str = ""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A network and a plan."""

    seed: int
    brokers: tuple[str, ...]
    joins: Mapping[str, tuple[str, ...]]
    """By broker: whom it dials."""
    hidden: tuple[str, ...]
    """Brokers that nobody can dial."""
    edges: tuple[tuple[str, str], ...]
    clocks: Mapping[str, Clock]
    delay: tuple[float, float]
    routing: str
    restore_seconds: float
    link: LinkLimits
    client: ClientLimits
    clients: tuple[ClientPlan, ...]
    steps: tuple[Step, ...]
    """In the order of time."""
    calm_at: float
    calm: tuple[Step, ...]
    """What is published when all is calm; the times count from then."""

    @property
    def faults(self) -> Iterator[Step]:
        """What goes wrong."""
        return (step for step in self.steps if step.do in FAULTS)

    @property
    def has_crash(self) -> bool:
        """Whether a process ends without a word."""
        return any(step.do is Do.CRASH for step in self.steps)

    @property
    def is_lossless(self) -> bool:
        """Whether nothing can be lost: no process ends, nobody fails over, all fits in buffers.

        A client that stays away for longer than its grace loses its stream too.
        """
        away = any(step.do in (Do.CRASH, Do.STOP) for step in self.steps)
        fails_over = any(len(client.brokers) > 1 for client in self.clients)
        roomy = min(
            self.link.buffer_bytes,
            self.client.buffer_bytes,
            *(client.buffer_bytes for client in self.clients),
        )
        return not away and not fails_over and roomy >= 2**20 and self.client.grace_seconds >= 300

    def describe(self) -> str:
        """One line about the case."""
        faults: dict[str, int] = {}
        for step in self.faults:
            faults[step.do] = faults.get(step.do, 0) + 1
        listed = ", ".join(f"{count} {name}" for name, count in faults.items()) or "no faults"
        return (
            f"{len(self.brokers)} brokers, {len(self.hidden)} hidden, {len(self.clients)} clients, "
            f"{self.routing}, buffers {self.link.buffer_bytes}/{self.client.buffer_bytes}: {listed}"
        )


def draw_case(seed: int) -> Case:
    """The case of a seed."""
    random = Random(f"faithful swarm {seed}")
    brokers = tuple(f"B{number}" for number in range(1, random.randint(2, 7) + 1))
    edges = tuple(
        (brokers[random.randrange(number)], brokers[number]) for number in range(1, len(brokers))
    )
    hidden = _draw_hidden(random, brokers, edges)
    joins = _draw_joins(random, brokers, edges, hidden)
    clients = _draw_clients(random, brokers)
    names = (*brokers, *(client.session for client in clients))
    calm_at = random.uniform(6.0, 16.0)
    planner = _Planner(random, edges, clients, calm_at)
    return Case(
        seed=seed,
        brokers=brokers,
        joins=joins,
        hidden=hidden,
        edges=edges,
        clocks={name: _draw_clock(random) for name in names},
        delay=random.choice(((0.0, 0.0), (0.001, 0.02), (0.02, 0.02), (0.0, 0.3))),
        routing=random.choice(list(ALGORITHMS)),
        restore_seconds=random.choice((2.0, 5.0, 10.0)),
        link=_draw_link(random),
        client=_draw_client(random),
        clients=clients,
        steps=tuple(sorted(planner.steps(brokers), key=lambda step: step.at)),
        calm_at=calm_at,
        calm=tuple(planner.calm()),
    )


def _draw_hidden(
    random: Random, brokers: tuple[str, ...], edges: tuple[tuple[str, str], ...]
) -> tuple[str, ...]:
    """Brokers that nobody can dial: never two that are neighbours."""
    hidden: list[str] = []
    for broker in brokers:
        around = {end for edge in edges if broker in edge for end in edge}
        if random.random() < HIDDEN_SHARE and not around & set(hidden):
            hidden.append(broker)
    return tuple(hidden)


def _draw_joins(
    random: Random,
    brokers: tuple[str, ...],
    edges: tuple[tuple[str, str], ...],
    hidden: tuple[str, ...],
) -> dict[str, tuple[str, ...]]:
    """Who dials whom: one side of each edge, or both."""
    joins: dict[str, tuple[str, ...]] = dict.fromkeys(brokers, ())
    for left, right in edges:
        ways = [(left, right)] if left in hidden else [(right, left)] if right in hidden else []
        if not ways:
            ways = random.choice(([(left, right)], [(right, left)], [(left, right), (right, left)]))
        for dialler, dialled in ways:
            joins[dialler] = (*joins[dialler], dialled)
    return joins


def _draw_clients(random: Random, brokers: tuple[str, ...]) -> tuple[ClientPlan, ...]:
    fails_over = random.random() < 0.4
    size = random.choice((2**20, 2**20, 16_384))
    plans = []
    for number in range(1, random.randint(2, 8) + 1):
        known = min(len(brokers), random.randint(2, 3) if fails_over else 1)
        plans.append(
            ClientPlan(
                session=f"C{number}.{random.randint(1, 9)}",
                brokers=tuple(random.sample(brokers, known)),
                buffer_bytes=size,
                silence_seconds=random.choice((2.0, 4.0)),
            )
        )
    return tuple(plans)


def _draw_clock(random: Random) -> Clock:
    return Clock(random.uniform(0, 1e6), random.uniform(0.995, 1.005))


def _draw_link(random: Random) -> LinkLimits:
    return LinkLimits(
        buffer_bytes=random.choice((2**20, 2**20, 65_536, 8192)),
        control_bytes=2**20,
        window_bytes=random.choice((2**18, 8192, 1024)),
        silence_seconds=random.choice((1.0, 4.0, 4.0)),
        slow_seconds=random.choice((0.5, 2.0, 5.0)),
        retry_first_seconds=random.choice((0.05, 0.2)),
        retry_max_seconds=random.choice((0.5, 2.0, 5.0)),
    )


def _draw_client(random: Random) -> ClientLimits:
    return ClientLimits(
        buffer_bytes=random.choice((2**20, 2**20, 65_536, 8192)),
        control_bytes=2**20,
        window_bytes=random.choice((2**18, 8192, 1024)),
        silence_seconds=random.choice((2.0, 4.0)),
        grace_seconds=random.choice((300.0, 300.0, 20.0, 2.0)),
        slow_policy=random.choices(("drop_oldest", "disconnect", "block"), (6, 1, 2))[0],
    )


class _Planner:
    """Draws what happens in the two phases."""

    def __init__(
        self,
        random: Random,
        edges: tuple[tuple[str, str], ...],
        clients: tuple[ClientPlan, ...],
        calm_at: float,
    ) -> None:
        self._random = random
        self._edges = edges
        self._clients = clients
        self._calm_at = calm_at
        self._from = random.choice((0.0, 3.0))
        """When things begin to go wrong."""
        self._payload = random.choice((0, 100, 100, 2000))

    def steps(self, brokers: tuple[str, ...]) -> Iterator[Step]:
        """The phase of faults."""
        yield from self._subscriptions()
        yield from self._publications()
        kinds = self._draw_kinds()
        for _ in range(self._random.randint(2, 12)):
            yield self._fault(self._random.choice(kinds), brokers)

    def calm(self) -> Iterator[Step]:
        """The phase of calm."""
        for client in self._clients:
            for number in range(CALM_PUBLICATIONS):
                attributes: dict[str, Value] = {
                    "calm": True,
                    "n": self._random.randint(0, 9),
                    "kind": self._random.choice("ab"),
                }
                yield Step(number * 0.1, Do.PUBLISH, client.session, attributes=attributes)

    def _draw_kinds(self) -> list[Do]:
        """Each case has some kinds of faults, so that some have few."""
        random = self._random
        kinds = [kind for kind in LINK_FAULTS if random.random() < 0.5]
        kinds += [kind for kind in PROCESS_FAULTS if random.random() < 0.4]
        return kinds or [Do.CUT]

    def _subscriptions(self) -> Iterator[Step]:
        random = self._random
        for client in self._clients:
            for number in range(random.randint(0, 3)):
                at = random.choice((0.0, random.uniform(0, self._calm_at * 0.8)))
                filter = random.choice(FILTERS)
                name = f"{client.session}/{number}"
                yield Step(at, Do.SUBSCRIBE, client.session, name=name, filter=filter)
                if random.random() < 0.2:
                    end = random.uniform(at, self._calm_at)
                    yield Step(end, Do.UNSUBSCRIBE, client.session, name=name)

    def _publications(self) -> Iterator[Step]:
        random = self._random
        at = 0.0
        for _ in range(random.randint(30, 150)):
            if random.random() < 0.5:
                at = random.uniform(0.5, self._calm_at)
            attributes: dict[str, Value] = {"n": random.randint(0, 9), "kind": random.choice("ab")}
            client = random.choice(self._clients).session
            yield Step(max(at, 0.5), Do.PUBLISH, client, size=self._payload, attributes=attributes)

    def _fault(self, kind: Do, brokers: tuple[str, ...]) -> Step:
        random = self._random
        at = random.uniform(self._from, self._calm_at)
        seconds = random.choice((0.05, 0.5, 2.0, 8.0)) * random.uniform(0.5, 1.5)
        if kind in PROCESS_FAULTS:
            who = random.choice(brokers)
            if kind is Do.HANG and random.random() < 0.3:
                who = random.choice(self._clients).session
            crash = random.choice(list(Crash))
            return Step(at, kind, who, seconds=seconds, crash=crash)
        who, other = self._pair()
        size = 0
        if kind is Do.CUT_AFTER:
            size = random.choice((10, 300, 3000, 30_000))
            size = random.randint(1, size)
        elif kind is Do.SLOW:
            size = random.choice((2000, 10_000, 50_000))
        return Step(at, kind, who, other, seconds, size)

    def _pair(self) -> tuple[str, str]:
        """Two ends of a connection, in either direction."""
        random = self._random
        pair = random.choice(self._edges)
        if random.random() < 0.4:
            client = random.choice(self._clients)
            pair = (client.session, random.choice(client.brokers))
        return pair if random.random() < 0.5 else (pair[1], pair[0])
