"""Draws what the clients of a case do, step by step, so that every step is possible."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.tree import Link, Topology
from sapwood.sim.swarm.plan import PHASE_SECONDS, Do, Step, components
from sapwood.sim.swarm.values import draw_attributes, draw_filter


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
