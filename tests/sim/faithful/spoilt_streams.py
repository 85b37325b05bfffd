"""Spoil what nodes and sessions keep of links and streams, one place or many, in virtual time.

A network of two brokers and four clients with notifications in both directions; at some moment
values in memory change. Within a stated time the links carry again: what is published from then on
arrives exactly once and in order, and whoever may have missed something before was told.

``python tests/sim/faithful/spoilt_streams.py --seed K`` does a random one again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf, nan
from random import Random
from typing import Any, NamedTuple

from sapwood.protocol.link.limits import ClientLimits, LinkLimits
from sapwood.protocol.link.spool import FrameRun
from sapwood.protocol.stabilize.settings import StabilizationSettings
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.seeds import Seeds

CHECK_SECONDS = 2.0
BOUND = CHECK_SECONDS + 1.0 + 3.0 + 1.0 + 3.0 + 5.0
"""The period and two ticks; the silence of a connection and the challenge of whoever seems to be
there; the grace of a client whose secret was spoilt; the longest pause between two attempts."""

BROKERS = ("B1", "B2")
SENDERS = {"p.1": "B1", "q.1": "B2"}
READERS = {"r.1": "B1", "s.1": "B2"}

MOMENTS = ("idle", "busy", "away", "slow")
"""When: nothing under way; frames under way; no connection; and a reader that does not keep up."""

SKIPPED = {
    "Node.deadline": "only a driver looks at it, between two regular ticks",
    "Channel.limits": "configuration",
    "MemorySpool._splits_runs": "configuration",
    "Flow._slow_seconds": "configuration",
    "Flow._peers": "the node's own",
    "Search._known": "configuration",
    "Search._random": "a source of random numbers",
    "Dialing._random": "a source of random numbers",
    "Publishing._name": "who the client is",
    "Publishing._room_bytes": "configuration",
}


class Place(NamedTuple):
    """A field of an object, or an item of a collection."""

    name: str
    owner: Any
    key: Any
    is_item: bool = False

    def get(self) -> Any:
        return self.owner[self.key] if self.is_item else getattr(self.owner, self.key)

    def set(self, value: Any) -> None:
        if self.is_item:
            self.owner[self.key] = value
        else:
            setattr(self.owner, self.key, value)


class Spoilt(NamedTuple):
    """A place and what it is to hold."""

    place: str
    value: int
    """Which of the values for its type."""


def _fields(name: str, owner: Any, skipped: Iterable[str] = ()) -> Iterator[Place]:
    kind = type(owner).__name__
    slots = [one for base in type(owner).__mro__ for one in getattr(base, "__slots__", ())]
    for key in dict.fromkeys((*slots, *getattr(owner, "__dict__", ()))):
        if key not in {"_node", *skipped} and f"{kind}.{key}" not in SKIPPED:
            yield Place(f"{name}{kind}.{key}", owner, key)


def _runs(name: str, spool: Any) -> Iterator[Place]:
    for part in ("_sent", "_waiting"):
        runs = getattr(spool, part)
        if runs:
            for number in sorted({0, len(runs) - 1}):
                yield Place(f"{name}MemorySpool.{part}[{number}]", runs, number, is_item=True)


def _stream(name: str, channel: Any) -> Iterator[Place]:
    yield from _fields(name, channel, ("spool",))
    yield from _fields(name, channel.spool, ("_sent", "_waiting"))
    yield from _runs(name, channel.spool)


def node_places(node: Any) -> Iterator[Place]:
    """All places of a node's links: whoever adds a field finds it here."""
    for peer_name, peer in node.peers.items():
        name = f"{node.config.id}/{peer_name}/"
        yield from _fields(name, peer, ("channel",))
        yield from _stream(name, peer.channel)
        if peer.line is not None:
            yield from _fields(name, peer.line)
    name = f"{node.config.id}/"
    yield from _fields(name, node.flow)
    yield from _fields(name, node.checking)
    for number in range(len(node.keepalive.due)):
        yield Place(f"{name}Keepalive.due[{number}]", node.keepalive.due, number, is_item=True)
    yield from _fields(name, node.keepalive)
    yield from _fields(name, node.admission)
    yield from _fields(name, node.dialing, ("targets",))
    for target in node.dialing.targets:
        yield from _fields(name, target)
    yield from _fields(name, node.membership)
    for key in ("client_count", "changed", "_acknowledge_at", "_look_at"):
        yield Place(f"{name}Node.{key}", node, key)
    for key in ("_to_flush", "_to_acknowledge", "surveys", "_was_restoring"):
        yield Place(f"{name}Node.{key}", node, key)


def session_places(session: Any) -> Iterator[Place]:
    """All places of a client's stream and of its search for a broker."""
    name = f"{session.name}/"
    yield from _stream(name, session.channel)
    if session._line is not None:
        yield from _fields(name, session._line)
    yield from _fields(name, session._search)
    yield from _fields(name, session._streams)
    for key in ("_call_until", "_retry_at", "_look_at", "_acknowledge_at", "_check_at"):
        yield Place(f"{name}ClientSession.{key}", session, key)
    for key in ("_has_checks", "_errors", "_confirming", "_last_ping", "_line"):
        yield Place(f"{name}ClientSession.{key}", session, key)
    for key in ("_in_flight_bytes", "_frames_bytes"):
        yield Place(f"{name}Publishing.{key}", session.publishing, key)


def _values(value: Any) -> tuple[Any, ...]:
    """What a place may hold instead."""
    if isinstance(value, bool):
        return (not value, None)
    if isinstance(value, int):
        return (0, -1, value + 1, 2**40, 2**70, None, nan)
    if isinstance(value, float):
        return (0.0, -1e12, 1e12, nan, inf, None)
    if isinstance(value, str):
        return ("", "ghost", None)
    if isinstance(value, FrameRun):
        return (
            value._replace(frames=value.frames + 1),
            value._replace(size=value.size + 1),
            value._replace(data=b"\xff" * 40),
            value._replace(data=b"\x02\x00"),
            value._replace(data=None, size=0),
            None,
        )
    if isinstance(value, dict):
        return ({}, {"ghost": None}, None)
    if isinstance(value, list):
        return ([], [None], [b"\x00garbage"], None)
    if isinstance(value, tuple):
        return ((), (None,), *((((1e12, *value[1:])),) if value else ()))
    if value is None:
        return (0, 1e12, nan, "ghost")
    return (None,)


def values_of(place: Place) -> tuple[Any, ...]:
    """What a place may hold instead; the application itself reads how much was published."""
    values = _values(place.get())
    return values[:4] if "Publishing." in place.name else values


class Scene:
    """A network with a load, in which something is spoilt."""

    def __init__(self, seed: int, moment: str) -> None:
        self.random = Random(seed)
        self.moment = moment
        link = LinkLimits(
            silence_seconds=3.0,
            slow_seconds=1.0,
            retry_max_seconds=1.0,
            buffer_bytes=65536 if moment == "slow" else 2**20,
        )
        client = ClientLimits(silence_seconds=3.0, grace_seconds=3.0)
        self.network = FaithfulNetwork(
            Random(seed),
            config={
                "link": link,
                "client": client,
                "stabilization": StabilizationSettings(refresh_seconds=CHECK_SECONDS),
                "raises_faults": False,
                "restore_seconds": 1.0,
            },
        )
        self.network.add_broker("B1")
        self.network.add_broker("B2", ("B1",))
        for name, broker in (SENDERS | READERS).items():
            self.network.connect(name, broker, check_seconds=CHECK_SECONDS, raises_faults=False)
        self._run_until(self._is_whole, 20.0)
        for name in READERS:
            self.network.subscribe(name, "all", "n >= 0")
        self._run_until(self._is_settled, 20.0)

    def _run_until(self, condition: Callable[[], bool], seconds: float) -> bool:
        return self.network.driver.run_until(condition, seconds)

    def _is_whole(self) -> bool:
        network = self.network
        return network.is_linked(*BROKERS) and all(
            client.is_connected for client in network.clients.values()
        )

    def _is_settled(self) -> bool:
        return all(self.network.clients[name].subscriptions["all"].is_settled for name in READERS)

    def publish(self, count: int, seconds: float, size: int = 10) -> None:
        """Publish, spread over some time, from both sides."""
        kernel = self.network.kernel
        for number in range(count):
            at = kernel.now + seconds * number / count
            for name in SENDERS:
                kernel.at(at, self.network.publish, name, {"n": number}, bytes(size))

    def places(self) -> dict[str, Place]:
        """All places there are now."""
        found = [place for node in self.network.nodes.values() for place in node_places(node)]
        for client in self.network.clients.values():
            found += session_places(client.session)
        return {place.name: place for place in found}

    def prepare(self) -> None:
        """Bring about the moment."""
        network, driver = self.network, self.network.driver
        if self.moment == "idle":
            driver.run(1.0)
        elif self.moment == "busy":
            self.publish(50, 2.0)
            driver.run(0.995)
        elif self.moment == "away":
            network.refuse(*BROKERS)
            network.cut(*BROKERS)
            self.publish(20, 0.5)
            driver.run(0.7)
        else:
            network.slow(*BROKERS, 40_000)
            self.publish(100, 1.0, size=1000)
            driver.run(1.0)

    def spoil(self, chosen: Iterable[Spoilt]) -> list[str]:
        """Change some places; which."""
        places, done = self.places(), []
        for one in chosen:
            place = places.get(one.place)
            if place is None:
                continue
            before = place.get()
            values = values_of(place)
            value = values[one.value % len(values)]
            place.set(value)
            done.append(f"{one.place} = {value!r} instead of {before!r}")
        return done

    def judge(self, spoilt_at: float) -> Iterator[str]:
        """Let it heal, and say what is wrong."""
        network, driver = self.network, self.network.driver
        driver.run(0.1)
        if self.moment == "away":
            network.refuse(*BROKERS, is_refused=False)
        if self.moment == "slow":
            network.slow(*BROKERS, 0)
        self.publish(20, 1.0)
        driver.run(BOUND)
        if not self._run_until(self._is_whole, 1.0):
            yield f"not whole after {BOUND} s"
        start = network.kernel.now
        self.publish(20, 1.0)
        driver.run(2.0)
        yield from self._calm(start)
        yield from self._told(spoilt_at)
        yield from network.problems()

    def _calm(self, start: float) -> Iterator[str]:
        clients = self.network.clients
        for sender in SENDERS:
            wanted = [one.sequence for one in clients[sender].publications if one.at >= start]
            for reader in READERS:
                first = wanted[0] if wanted else 0
                got = [
                    one.sequence
                    for one in clients[reader].deliveries
                    if one.publisher == sender and one.sequence >= first
                ]
                if got != wanted or len(wanted) != 20:
                    yield f"{reader} got {got} of {sender}, not {wanted}"

    def _told(self, spoilt_at: float) -> Iterator[str]:
        """Whoever misses something was told, or the one who published it."""
        clients = self.network.clients
        for sender in SENDERS:
            source = clients[sender]
            for reader in READERS:
                wanted = clients[reader].subscriptions["all"]
                for one in source.publications:
                    if (
                        (sender, one.sequence) not in wanted.got
                        and one.sequence not in source.unconfirmed
                        and wanted.had_settled(one.at)
                        and not any(report.at >= one.at for report in wanted.reports)
                    ):
                        when = one.at - spoilt_at
                        yield f"{reader} misses {sender}:{one.sequence} of {when:.3f}, untold"


def problems_of(seed: int, moment: str, chosen: Iterable[Spoilt]) -> list[str]:
    """What is wrong after some places were spoilt; nothing if all is right again."""
    scene = Scene(seed, moment)
    scene.prepare()
    done = scene.spoil(chosen)
    found = list(scene.judge(scene.network.kernel.now))
    return [*found[:6], *done] if found else []


def single_places(moment: str, seed: int = 1) -> Mapping[str, int]:
    """All places at a moment, each with the number of its values."""
    scene = Scene(seed, moment)
    scene.prepare()
    return {name: len(values_of(place)) for name, place in scene.places().items()}


def draw(seed: int) -> tuple[str, list[Spoilt]]:
    """A random moment, and a random share of all places then."""
    random = Random(seed)
    moment = random.choice(MOMENTS)
    share = random.choice((0.005, 0.02, 0.1, 0.5))
    names = single_places(moment, seed)
    return moment, [
        Spoilt(name, random.randrange(count))
        for name, count in names.items()
        if random.random() < share
    ]


def failure_of(seed: int) -> list[str]:
    """What is wrong with what a seed spoils; nothing if all is right again."""
    moment, chosen = draw(seed)
    return problems_of(seed, moment, chosen)


SEEDS = Seeds(
    "python tests/sim/faithful/spoilt_streams.py", __doc__, failure_of, lambda s: draw(s)[0]
)
failures = SEEDS.failures


if __name__ == "__main__":
    sys.exit(SEEDS.main())
