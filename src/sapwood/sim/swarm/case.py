"""Random cases for the swarm: a network, its routing, and everything its clients will do.

A case is drawn from a seed alone and is complete before anything runs. So the same case can be run
under several algorithms, and what has to be delivered follows from the plan, without asking any
broker: that is the swarm's own oracle, beside the checkers on the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from random import Random
from typing import NamedTuple

import msgspec

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.tree import Link, Topology
from sapwood.routing.algorithms import (
    ALGORITHMS,
    FLOODING,
    Edge,
    check_edge_routing,
    hierarchical,
    peer_to_peer,
)
from sapwood.sim.swarm.values import draw_attributes, draw_filter
from sapwood.sim.topology import SHAPES, make_topology
from sapwood.sim.topology.delays import ConstantDelay, UniformDelay

PHASE_SECONDS = 1000.0
"""From the start of one phase to the next: long enough to be quiet whatever the delays."""

TELLING = tuple(name for name in ALGORITHMS if name != FLOODING)
"""The algorithms that tell neighbours something."""


class Do(StrEnum):
    """What a step of a plan does."""

    CONNECT = "connect"
    DISCONNECT = "disconnect"
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    ADVERTISE = "advertise"
    UNADVERTISE = "unadvertise"
    PUBLISH = "publish"
    CUT = "cut"
    JOIN = "join"


class Step(msgspec.Struct, frozen=True):
    """One thing that happens at one time."""

    at: float
    do: Do
    client: str = ""
    """The client's session; empty for links."""
    name: str = ""
    """The broker to connect to, or the name of the (un)subscription or (un)advertisement."""
    filter: str = ""
    attributes: Mapping[str, Value] = {}
    expires_at: float = 0.0
    link: Link = ("", "")
    settle: bool = False


class Variant(StrEnum):
    """How the edges of a case are routed."""

    PEER_TO_PEER = "peer-to-peer"
    HIERARCHICAL = "hierarchical"
    MIXED = "mixed"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A network and a plan."""

    seed: int
    topology: Topology
    delay: ConstantDelay | UniformDelay
    variant: Variant
    root: str
    mix: Mapping[Edge, str]
    """The routing of every edge, where it is mixed."""
    advertisements_required: bool
    advertisement_algorithm: str
    settle: float
    """Seconds after which any change is in effect everywhere."""
    phases: tuple[tuple[Step, ...], ...]
    """In the last one nothing changes any more: clients only publish."""
    links_ever: tuple[Link, ...]

    @property
    def steps(self) -> Iterator[Step]:
        """All steps in the order of time."""
        return (step for phase in self.phases for step in phase)

    @property
    def is_cut(self) -> bool:
        """Whether links come and go."""
        return any(step.do in (Do.CUT, Do.JOIN) for step in self.steps)

    @property
    def replaces(self) -> bool:
        """Whether a client subscribes to something else under a name that it uses already."""
        names: dict[tuple[str, str], str] = {}
        for step in self.steps:
            if step.do is Do.SUBSCRIBE:
                if names.setdefault((step.client, step.name), step.filter) != step.filter:
                    return True
            elif step.do is Do.UNSUBSCRIBE:
                names.pop((step.client, step.name), None)
        return False

    @property
    def has_one_attribute(self) -> bool:
        """Whether all subscriptions are about one and the same attribute."""
        texts = {step.filter for step in self.steps if step.do is Do.SUBSCRIBE}
        boxes = [box for text in texts for box in Filter(text).boxes]
        return len({name for box in boxes for name, _ in box}) == 1

    def algorithms(self) -> tuple[str, ...]:
        """Under which algorithms the case is run, beside flooding."""
        return ("mixed",) if self.variant is Variant.MIXED else TELLING

    def routing(self, algorithm: str) -> dict[Edge, str]:
        """The routing of every edge there may ever be."""
        if algorithm == FLOODING or self.variant is Variant.PEER_TO_PEER:
            return peer_to_peer(self.links_ever, algorithm)
        if self.variant is Variant.HIERARCHICAL:
            return hierarchical(self.links_ever, algorithm, self.root)
        return dict(self.mix)

    def describe(self) -> str:
        """One line about the case."""
        return (
            f"{len(self.topology.brokers)} brokers, {self.variant}, "
            f"advertisements {'required' if self.advertisements_required else 'off'}, "
            f"{sum(1 for _ in self.steps)} steps, {'links change' if self.is_cut else 'fixed tree'}"
        )


class _Session:
    """A connected client, as the plan knows it."""

    def __init__(self, name: str, broker: str) -> None:
        self.name = name
        self.broker = broker
        self.subscribed: dict[str, str] = {}
        self.advertised: dict[str, str] = {}

    def new_name(self, random: Random) -> str:
        """A name it does not use now, though others may, or it did before."""
        used = {**self.subscribed, **self.advertised}
        return random.choice([str(n) for n in range(len(used) + 5) if str(n) not in used])


class Planner:
    """Draws steps, and remembers what is connected, subscribed and linked by then."""

    def __init__(
        self, random: Random, topology: Topology, *, advertisements: bool, asks: bool
    ) -> None:
        self._random = random
        self._topology = topology
        self._advertisements = advertisements
        self.is_eager = random.random() < 0.25
        """Whether clients publish so much that something is under way at every change."""
        self._pool = self._draw_pool()
        self._wide = ["true", *(draw_filter(random, parts_max=1) for _ in range(3))]
        self._sessions: list[_Session] = []
        self._count = 0
        self._clients_max = random.randint(2, 8)
        self._replaces = random.random() < 0.25
        self._settle_share = random.choice((0.0, 0.3, 1.0)) if asks else 0.0
        self._expires = random.random() < 0.3
        self._links = list(topology.links)
        self._down: list[Link] = []
        self.links_ever = list(topology.links)

    def _draw_pool(self) -> list[str]:
        """The filters of a case; eager clients have ranges that hide each other."""
        random = self._random
        pool = [draw_filter(random) for _ in range(random.randint(2, 12))]
        if self.is_eager:
            pool = [f"n between {random.randint(0, 3)} and {random.randint(5, 9)}" for _ in "1234"]
            pool += ["n >= 0", draw_filter(random)]
        return pool

    def busy(self, start: float, length: float, count: int, links_move: str) -> Iterator[Step]:
        """A phase in which everything changes; some things happen at the same moment.

        Not after an unadvertisement: to the checkers, what is published at that moment is
        advertised still, and the broker refuses it.
        """
        random = self._random
        moments = sorted(random.uniform(0, length) for _ in range(count))
        at, last = start, Do.CONNECT
        for moment in moments:
            if last is Do.UNADVERTISE or random.random() >= 0.2:
                at = start + moment
            for step in self._draw(at, links_move):
                last = step.do
                yield step

    def repaired(self, at: float) -> Iterator[Step]:
        """The cut links come back, as they were or somewhere else."""
        while self._down:
            yield self._join(at, elsewhere=False)

    def calm(self, start: float, count: int) -> Iterator[Step]:
        """The last phase: one client more at every broker publishes, nothing else changes."""
        publishers = []
        for broker in self._topology.brokers:
            session = self._connect(broker)
            publishers.append(session)
            yield Step(start, Do.CONNECT, session.name, broker)
            if self._advertisements and self._random.random() < 0.6:
                filter = self._random.choice(self._wide + self._pool)
                yield self._advertise(start, session, filter)
        for index in range(count):
            at = start + PHASE_SECONDS / 4 + index
            session = publishers[index % len(publishers)]
            yield Step(at, Do.PUBLISH, session.name, attributes=self._attributes(session))

    def _draw(self, at: float, links_move: str) -> Iterator[Step]:
        random = self._random
        if links_move and random.random() < 0.05:
            yield from self._move_link(at, links_move)
            return
        if not self._sessions or (
            len(self._sessions) < self._clients_max and random.random() < 0.15
        ):
            session = self._connect(random.choice(self._topology.brokers))
            yield Step(at, Do.CONNECT, session.name, session.broker)
            if self._advertisements and random.random() < 0.8:
                yield self._advertise(at, session, random.choice(self._wide))
            return
        session = random.choice(self._sessions)
        weights = (88, 6, 5, 1) if self.is_eager else (50, 25, 20, 5)
        kind = random.choices(("publish", "more", "less", "leave"), weights)[0]
        if kind == "publish":
            yield self._publish(at, session)
        elif kind == "more":
            yield self._more(at, session)
        elif kind == "less" and (session.subscribed or session.advertised):
            yield self._less(at, session)
        elif kind == "leave":
            self._sessions.remove(session)
            yield Step(at, Do.DISCONNECT, session.name)

    def _connect(self, broker: str) -> _Session:
        self._count += 1
        session = _Session(f"C{self._count % 9}.{self._count}", broker)
        self._sessions.append(session)
        return session

    def _more(self, at: float, session: _Session) -> Step:
        """Subscribe or advertise: anew, the same again, or something else in its place."""
        random = self._random
        if self._advertisements and random.random() < 0.3:
            return self._advertise(at, session, random.choice(self._wide + self._pool))
        known = list(session.subscribed)
        name, filter = session.new_name(random), random.choice(self._pool)
        if known and random.random() < 0.2:
            name = random.choice(known)
            if not self._replaces:
                filter = session.subscribed[name]
        session.subscribed[name] = filter
        return Step(at, Do.SUBSCRIBE, session.name, name, filter, settle=self._asks())

    def _less(self, at: float, session: _Session) -> Step:
        random = self._random
        if session.advertised and (not session.subscribed or random.random() < 0.3):
            name = random.choice(list(session.advertised))
            del session.advertised[name]
            return Step(at, Do.UNADVERTISE, session.name, name, settle=self._asks())
        name = random.choice(list(session.subscribed))
        del session.subscribed[name]
        return Step(at, Do.UNSUBSCRIBE, session.name, name, settle=self._asks())

    def _advertise(self, at: float, session: _Session, filter: str) -> Step:
        name = session.new_name(self._random)
        session.advertised[name] = filter
        return Step(at, Do.ADVERTISE, session.name, name, filter, settle=self._asks())

    def _publish(self, at: float, session: _Session) -> Step:
        random = self._random
        attributes = self._attributes(session)
        expires_at = 0.0
        if self._expires and random.random() < 0.3:
            expires_at = at + random.choice((0.0, 1e-4, 0.01, 0.1, 1.0, PHASE_SECONDS))
        return Step(at, Do.PUBLISH, session.name, attributes=attributes, expires_at=expires_at)

    def _attributes(self, session: _Session) -> dict[str, Value]:
        """What a client publishes; mostly what it has advertised, where that is required."""
        attributes = draw_attributes(self._random)
        if self.is_eager:
            attributes["n"] = self._random.randint(2, 6)
        if self._advertisements:
            offers = [Filter(text) for text in session.advertised.values()]
            for _ in range(10):
                if any(offer.matches(attributes) for offer in offers):
                    break
                attributes = draw_attributes(self._random)
        return attributes

    def _asks(self) -> bool:
        return self._random.random() < self._settle_share

    def _move_link(self, at: float, how: str) -> Iterator[Step]:
        """Cut a link, or let one come back; never more than two are away."""
        random = self._random
        if self._down and (len(self._down) == 2 or random.random() < 0.6):
            yield self._join(at, elsewhere=how == "elsewhere")
        elif self._links:
            link = random.choice(self._links)
            self._links.remove(link)
            self._down.append(link)
            yield Step(at, Do.CUT, link=link)

    def _join(self, at: float, elsewhere: bool) -> Step:
        """A link between the parts that the cut left, the same one or another."""
        link = self._down.pop(self._random.randrange(len(self._down)))
        if elsewhere:
            parts = components(self._topology.brokers, self._links)
            left = [broker for broker in parts if parts[broker] == parts[link[0]]]
            right = [broker for broker in parts if parts[broker] == parts[link[1]]]
            link = (self._random.choice(left), self._random.choice(right))
        self._links.append(link)
        self.links_ever.append(link)
        return Step(at, Do.JOIN, link=link)


def components(brokers: tuple[str, ...], links: list[Link]) -> dict[str, int]:
    """Which part of a network that may have fallen apart each broker is in."""
    part = {broker: number for number, broker in enumerate(brokers)}
    for left, right in links:
        old, new = part[right], part[left]
        part = {broker: new if number == old else number for broker, number in part.items()}
    return part


def draw_case(seed: int) -> Case:
    """The case of a seed."""
    random = Random(f"swarm {seed}")
    topology = make_topology(random.choice(list(SHAPES)), random.randint(2, 16), random)
    delay = _draw_delay(random)
    variant = random.choices(list(Variant), (60, 20, 20))[0]
    advertisements = random.random() < 0.35
    settle = max(0.001, 2.02 * (len(topology.brokers) - 1) * delay.delay_max)
    # Without delays, what settles and what is published at one moment have no order.
    asks = delay.delay_max > 0
    planner = Planner(random, topology, advertisements=advertisements, asks=asks)
    phases = _draw_phases(random, planner, settle, variant)
    return Case(
        seed=seed,
        topology=topology,
        delay=delay,
        variant=variant,
        root=random.choice(topology.brokers),
        mix=_draw_mix(random, topology) if variant is Variant.MIXED else {},
        advertisements_required=advertisements,
        advertisement_algorithm=random.choice(list(ALGORITHMS)),
        settle=settle,
        phases=phases,
        links_ever=tuple(dict.fromkeys(planner.links_ever)),
    )


def _draw_phases(
    random: Random, planner: Planner, settle: float, variant: Variant
) -> tuple[tuple[Step, ...], ...]:
    links_move = ""
    if random.random() < 0.3:
        anywhere = variant is Variant.PEER_TO_PEER and random.random() < 0.5
        links_move = "elsewhere" if anywhere else "back"
    phases = []
    busy = random.randint(1, 2)
    for number in range(busy):
        length = min(PHASE_SECONDS / 4, settle * random.choice((0.5, 3, 10, 30)))
        count = 250 if planner.is_eager else random.choice((10, 40, 100))
        start = number * PHASE_SECONDS
        steps = [*planner.busy(start, length, count, links_move)]
        if random.random() < 0.8:
            steps += planner.repaired(start + PHASE_SECONDS / 2)
        phases.append(tuple(steps))
    phases.append(tuple(planner.calm(busy * PHASE_SECONDS, random.randint(5, 20))))
    return tuple(phases)


def _draw_delay(random: Random) -> ConstantDelay | UniformDelay:
    kind = random.choice(("constant", "uniform", "none", "hardly any", "uneven"))
    if kind in ("uniform", "uneven"):
        return UniformDelay(0.001, 0.251) if kind == "uniform" else UniformDelay(0.0, 1.0)
    return ConstantDelay({"constant": 0.025, "hardly any": 1e-6, "none": 0.0}[kind])


def _draw_mix(random: Random, topology: Topology) -> dict[Edge, str]:
    """A random valid mix: where an edge floods, all that lead to it flood too."""
    routing = {
        edge: random.choice(TELLING)
        for left, right in topology.links
        for edge in ((left, right), (right, left))
    }
    waiting = [edge for edge in routing if random.random() < 0.2]
    while waiting:
        source, target = waiting.pop()
        if routing[source, target] != FLOODING:
            routing[source, target] = FLOODING
            before = [other for other in topology.neighbours(source) if other != target]
            waiting += [(other, source) for other in before]
    check_edge_routing(routing)
    return routing


class Claim(NamedTuple):
    """A subscription or advertisement of the plan: from when to when."""

    client: str
    filter: Filter
    start: float
    end: float


class Oracle:
    """What a plan obliges the network to deliver, worked out from the plan alone."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._filters: dict[str, Filter] = {}
        self._broker: dict[str, str] = {}
        self._open: dict[tuple[Do, str, str], tuple[str, float]] = {}
        self._claims: dict[Do, list[Claim]] = {Do.SUBSCRIBE: [], Do.ADVERTISE: []}
        self._publications: list[tuple[str, int, Step, dict[str, int]]] = []
        self._changes: list[float] = []
        self._joins: list[float] = []
        self._links = list(case.topology.links)
        self._read()

    def expected(self, since: float = 0.0) -> set[tuple[str, int, str]]:
        """The (publisher, sequence, client) that must be delivered, published from a time on."""
        found = set()
        for publisher, sequence, step, parts in self._publications:
            if step.at < since or not self._is_bound(publisher, step):
                continue
            for claim in self._claims[Do.SUBSCRIBE]:
                if (
                    claim.start + self._case.settle <= step.at < claim.end - self._case.settle
                    and parts[self._broker[claim.client]] == parts[self._broker[publisher]]
                    and claim.filter.matches(dict(step.attributes))
                ):
                    found.add((publisher, sequence, claim.client))
        return found

    def expiring(self) -> dict[tuple[str, int], float]:
        """When each publication that may expire under way does so."""
        return {
            (publisher, sequence): step.expires_at
            for publisher, sequence, step, _ in self._publications
            if self._may_expire(step)
        }

    def moved(self) -> set[tuple[str, int]]:
        """The publications that may be under way when a link comes back elsewhere.

        A notification that went over the old link may go over the new one as well, or be overtaken
        there by a later one. That is what makes reconfiguration an algorithm of its own (thesis 4):
        a link that is cut and one that comes, and nothing else, promise no better.
        """
        case = self._case
        if set(case.links_ever) == set(case.topology.links):
            return set()
        lifetime = case.settle / 2  # once through the longest tree there can be
        return {
            (publisher, sequence)
            for publisher, sequence, step, _ in self._publications
            if any(step.at <= at <= step.at + lifetime for at in self._joins)
        }

    def entries_at_rest(self) -> dict[str, int]:
        """How many entries all tables have in the end, under simple and identity-based routing.

        A subscription is in the table of its own broker, and in that of every other broker whose
        side of the last link on the way has an advertiser for it, where advertisements count.
        """
        standing = [claim for claim in self._claims[Do.SUBSCRIBE] if claim.end == float("inf")]
        simple = identity = len(standing)
        for here, there in self._links_in_the_end():
            near, far = self._behind(there, here), self._behind(here, there)
            told = [
                claim.filter
                for claim in standing
                if self._broker[claim.client] in near and self._is_wanted_behind(claim.filter, far)
            ]
            simple += len(told)
            identity += len({filter.id for filter in told})
        return {"simple": simple, "identity": identity}

    def _links_in_the_end(self) -> Iterator[Edge]:
        """Both directions of every link: from the broker that tells to the one that is told."""
        return (edge for a, b in self._links for edge in ((a, b), (b, a)))

    def _behind(self, here: str, there: str) -> set[str]:
        """The brokers beyond a link, seen from here."""
        links = [link for link in self._links if set(link) != {here, there}]
        parts = components(self._case.topology.brokers, links)
        return {broker for broker, part in parts.items() if part == parts[there]}

    def _is_wanted_behind(self, filter: Filter, behind: set[str]) -> bool:
        case = self._case
        if not case.advertisements_required or case.advertisement_algorithm == FLOODING:
            return True
        return any(
            claim.filter.overlaps(filter)
            for claim in self._claims[Do.ADVERTISE]
            if claim.end == float("inf") and self._broker[claim.client] in behind
        )

    def _may_expire(self, step: Step) -> bool:
        return 0 < step.expires_at <= step.at + self._case.settle

    def _is_bound(self, publisher: str, step: Step) -> bool:
        """Whether what is published has to arrive: the tree stands still, and it is allowed."""
        settle = self._case.settle
        if self._may_expire(step):
            return False
        if any(step.at - settle < at <= step.at + settle for at in self._changes):
            return False
        if not self._case.advertisements_required:
            return True
        return any(
            claim.client == publisher
            and claim.start + settle <= step.at < claim.end
            and claim.filter.matches(dict(step.attributes))
            for claim in self._claims[Do.ADVERTISE]
        )

    def _read(self) -> None:
        """Go through the plan once."""
        links = self._links
        sequences: dict[str, int] = {}
        for step in self._case.steps:
            if step.do is Do.CONNECT:
                self._broker[step.client] = step.name
            elif step.do is Do.DISCONNECT:
                for key in [key for key in self._open if key[1] == step.client]:
                    self._close(key, step.at)
            elif step.do in (Do.CUT, Do.JOIN):
                self._changes.append(step.at)
                if step.do is Do.JOIN:
                    self._joins.append(step.at)
                (links.remove if step.do is Do.CUT else links.append)(step.link)
            elif step.do is Do.PUBLISH:
                sequence = sequences[step.client] = sequences.get(step.client, 0) + 1
                parts = components(self._case.topology.brokers, links)
                self._publications.append((step.client, sequence, step, parts))
            else:
                self._note(step)
        for key in list(self._open):
            self._close(key, float("inf"))

    def _note(self, step: Step) -> None:
        is_subscription = step.do in (Do.SUBSCRIBE, Do.UNSUBSCRIBE)
        key = (Do.SUBSCRIBE if is_subscription else Do.ADVERTISE, step.client, step.name)
        known = self._open.get(key)
        if step.do is key[0]:
            if known is not None and known[0] == step.filter:
                return
            if known is not None:
                self._close(key, step.at)
            self._open[key] = (step.filter, step.at)
        elif known is not None:
            self._close(key, step.at)

    def _close(self, key: tuple[Do, str, str], at: float) -> None:
        text, start = self._open.pop(key)
        filter = self._filters.get(text)
        if filter is None:
            filter = self._filters[text] = Filter(text)
        self._claims[key[0]].append(Claim(key[1], filter, start, at))
