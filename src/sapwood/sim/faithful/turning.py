"""Changes of the tree under load, over connections that may fail: the swarm of exchanges.

A random tree with some links more, clients that publish all the time and subscribe and unsubscribe,
and requests to exchange one link for another, some of them at the same time. Without faults nothing
may be lost, repeated or reordered, not even causally; nobody is told of a loss; in the end the tree
is the one that the completed changes make of the first, and all tables agree. With faults, no
broker stays locked, and after a while the tree is one again and delivers everything once.

``python -m sapwood.sim.faithful.turning --seed K`` does one seed again and says what is wrong.
Every third seed has faults.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any, Final, NamedTuple

from sapwood.protocol.reconfigure.messages import COMPLETED
from sapwood.protocol.stabilize.settings import StabilizationSettings
from sapwood.protocol.tree import Groups
from sapwood.routing.algorithms import ALGORITHMS
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.faithful.oracle import Oracle, Tree
from sapwood.sim.faithful.redundant import Plan, PlanRun
from sapwood.sim.faithful.redundant import draw_plan as draw_redundant
from sapwood.sim.faithful.swarm import BoundedKernel, RunawayError
from sapwood.sim.seeds import Seeds

FORM_SECONDS: Final = 60.0
"""Longest time until the first tree is there."""

SETTLE_SECONDS: Final = 4.0
"""How long clients wait before they publish, and everything to come to rest in the end."""

ANSWER_SECONDS: Final = 90.0
"""Longest time until all requests are answered, after the last of them."""

WAVE_SECONDS: Final = 40.0
"""Longest time that a wave is under way, or has lost an echo when links came."""

STEPS_MAX: Final = 4_000_000
SHOWN_MAX: Final = 5
FILTERS: Final = ("n < 5", "n between 3 and 7", "n = 4", "kind = 'a'", "true")


class Wish(NamedTuple):
    """A change that is asked for; which one, among those that are possible then, is drawn."""

    at: float
    draw: float


class Deed(NamedTuple):
    """What a client does."""

    at: float
    client: str
    what: str
    text: str = ""


class Course(NamedTuple):
    """A network without faults, and what happens in it."""

    seed: int
    joins: dict[str, tuple[str, ...]]
    hidden: frozenset[str]
    routing: str
    delay: tuple[float, float]
    pace: float
    """Seconds between two publications of a client."""
    seconds: float
    wishes: tuple[Wish, ...]
    deeds: tuple[Deed, ...]

    def describe(self) -> str:
        """One line about it."""
        return (
            f"{len(self.joins)} brokers, {self.routing}, {len(self.wishes)} changes, "
            f"{len(self.deeds)} deeds, delays {self.delay}"
        )


def draw_course(seed: int) -> Course:
    """The course of a seed."""
    random = Random(f"turning {seed}")
    names = [f"B{number}" for number in range(1, random.randint(3, 8) + 1)]
    random.shuffle(names)
    joins = {name: {random.choice(names[:at])} for at, name in enumerate(names) if at}
    joins[names[0]] = set()
    for _ in range(random.choice((0, 0, 1, 3))):
        here, there = random.sample(names, 2)
        if there not in joins[here] and here not in joins[there]:
            joins[here].add(there)
    dialled = {name for others in joins.values() for name in others}
    hidden = frozenset(name for name in names if name not in dialled and random.random() < 0.3)
    seconds = random.uniform(3.0, 8.0)
    clients = [f"C{name[1:]}.1" for name in sorted(names)]
    deeds = [
        Deed(
            random.uniform(0.0, seconds),
            random.choice(clients),
            random.choice(("subscribe", "subscribe", "unsubscribe")),
            random.choice(FILTERS),
        )
        for _ in range(random.randint(0, 12))
    ]
    wishes = [
        Wish(random.uniform(0.0, seconds), random.random()) for _ in range(random.randint(1, 5))
    ]
    return Course(
        seed,
        {name: tuple(sorted(others)) for name, others in joins.items()},
        hidden,
        random.choice(sorted(ALGORITHMS)),
        random.choice(((0.0005, 0.002), (0.001, 0.02), (0.0, 0.1), (0.02, 0.2))),
        random.choice((0.02, 0.1, 0.3)),
        seconds,
        tuple(sorted(wishes)),
        tuple(sorted(deeds)),
    )


def carrying(network: FaithfulNetwork) -> frozenset[tuple[str, str]]:
    """Links over which both ends let notifications go."""
    nodes = network.nodes
    return frozenset(
        (min(name, other), max(name, other))
        for name, node in nodes.items()
        for other in node.broker.neighbours.tree()
        if other in nodes
        and node.broker.tree.carries(other)
        and nodes[other].broker.tree.carries(name)
    )


class Exchange(NamedTuple):
    """A request as it was made."""

    asker: str
    old: tuple[str, str]
    new: tuple[str, str]
    request: int


def ask(network: FaithfulNetwork, draw: float) -> Exchange | None:
    """Ask for a change that is possible by what the tree is now, if any is."""
    random = Random(f"wish {draw}")
    tree = sorted(carrying(network))
    if not tree:
        return None
    old = random.choice(tree)
    sides = Groups(sorted(network.nodes))
    for left, right in tree:
        if (left, right) != old:
            sides.join(left, right)
    near, far = (
        [name for name in sorted(network.nodes) if sides.find(name) == sides.find(end)]
        for end in old
    )
    new = (random.choice(near), random.choice(far))
    asker = random.choice(sorted(network.nodes))
    if set(new) == set(old):
        return None
    return Exchange(asker, old, new, network.exchange(asker, old, new))


class CourseRun:
    """One course without faults, judged in every respect."""

    def __init__(self, course: Course, **config: Any) -> None:
        self.course = course
        self.kernel = BoundedKernel(STEPS_MAX)
        self.network = FaithfulNetwork(
            Random(course.seed),
            config={
                "routing": course.routing,
                "stabilization": StabilizationSettings(refresh_seconds=2.0, audit_seconds=5.0),
                **config,
            },
            kernel=self.kernel,
            delay=course.delay,
        )
        self.exchanges: list[Exchange] = []
        self.first: frozenset[tuple[str, str]] = frozenset()
        """The tree before the first change."""
        self._sent = 0
        self._until = 0.0
        self._standing: dict[str, list[str]] = {}
        self._names = 0

    def run(self) -> list[str]:
        """Everything that is wrong; nothing if it is all right."""
        network, course = self.network, self.course
        for name in course.joins:
            self._add_broker(name)
        if not network.driver.run_until(self._is_formed, FORM_SECONDS):
            return [f"no tree within {FORM_SECONDS} s"]
        network.driver.run(SETTLE_SECONDS)
        self.first = carrying(network)
        for name in course.joins:
            session = f"C{name[1:]}.1"
            network.connect(session, name)
            network.subscribe(session, "all", self._interest(name))
        network.driver.run(SETTLE_SECONDS)
        self._start()
        self.kernel.run(self._until)
        if not network.driver.run_until(self._is_answered, ANSWER_SECONDS):
            return ["not all requests are answered"]
        network.driver.run(SETTLE_SECONDS)
        network.driver.run_until(network.has_no_waves, WAVE_SECONDS)
        return list(self._judge())

    def _add_broker(self, name: str) -> None:
        course = self.course
        self.network.add_broker(name, course.joins[name], is_hidden=name in course.hidden)

    def _interest(self, name: str) -> str:
        """What the client of a broker wants from the beginning on."""
        return "n >= 0"

    def _start(self) -> None:
        """The tree is there and clients have subscribed: let the course begin."""
        course, start = self.course, self.kernel.now
        self._until = start + course.seconds
        for session in self.network.clients:
            self.kernel.at(start, self._publish, session)
        for wish in course.wishes:
            self.kernel.at(start + wish.at, self._wish, wish)
        for deed in course.deeds:
            self.kernel.at(start + deed.at, self._do, deed)

    def _is_formed(self) -> bool:
        tree, nodes = carrying(self.network), self.network.nodes
        roots = {node.broker.tree.root for node in nodes.values()}
        return len(tree) == len(nodes) - 1 and roots == {min(nodes)}

    def _publish(self, session: str) -> None:
        self._sent += 1
        self.network.publish(session, {"n": self._sent % 10, "kind": "ab"[self._sent % 2]})
        at = self.kernel.now + self.course.pace
        if at < self._until:
            self.kernel.at(at, self._publish, session)

    def _wish(self, wish: Wish) -> None:
        exchange = ask(self.network, wish.draw)
        if exchange is not None:
            self.exchanges.append(exchange)

    def _do(self, deed: Deed) -> None:
        own = self._standing.setdefault(deed.client, [])
        if deed.what == "subscribe":
            self._names += 1
            own.append(f"s{self._names}")
            self.network.subscribe(deed.client, own[-1], deed.text)
        elif own:
            self.network.unsubscribe(deed.client, own.pop(0))

    def _is_answered(self) -> bool:
        return all((one.asker, one.request) in self.network.changes for one in self.exchanges)

    # What must hold

    def _judge(self) -> Iterator[str]:
        network = self.network
        oracle = Oracle(network.clients, Tree((), 0.0))
        yield from islice(oracle.order(), SHOWN_MAX)
        yield from islice((f"lost: {pair}" for pair in oracle.lost()), SHOWN_MAX)
        yield from islice(oracle.unexpected(), SHOWN_MAX)
        for name, client in network.clients.items():
            if client.reports:
                yield f"{name} is told of a loss: {client.reports[0]}"
        yield from self._tree_problems()
        yield from network.problems()
        yield from network.problems_at_rest()
        if network.faults():
            yield f"taken for faults in memory: {network.faults()}"
        for name, node in network.nodes.items():
            if node.broker.turning.ring is not None:
                yield f"{name} is still locked by {node.broker.turning.ring.change}"
            counts = node.broker.reports()["refresh"]
            for what in ("mismatch", "repaired", "silent"):
                if counts[what]:
                    yield f"{name}: {counts[what]} times {what}"

    def _tree_problems(self) -> Iterator[str]:
        """The tree is the first one with all completed changes made.

        One whose answer was lost has no name; if it was asked for twice, it was made once.
        """
        tree = set(self.first)
        changes = {one: self.network.changes[one.asker, one.request] for one in self.exchanges}
        done = [one for one, answer in changes.items() if answer.outcome == COMPLETED]
        for one in sorted(done, key=lambda one: not changes[one].change):
            if changes[one].change or _sorted(one.old) in tree:
                tree ^= {_sorted(one.old), _sorted(one.new)}
        if tree != carrying(self.network):
            found = sorted(carrying(self.network))
            yield f"the tree is {found}, the changes make {sorted(tree)}"


def _sorted(link: tuple[str, str]) -> tuple[str, str]:
    return min(link), max(link)


class FaultyRun(PlanRun):
    """A redundant network with faults, in which changes are asked for all the time."""

    def __init__(self, plan: Plan, wishes: Sequence[Wish], **config: Any) -> None:
        super().__init__(plan, **config)
        self.wishes = wishes
        self.locked: list[str] = []
        """Who was locked for longer than anybody may be."""

    def heal(self) -> float | None:
        """Let faults and changes happen."""
        for wish in self.wishes:
            self.kernel.at(wish.at, self._wish, wish)
        self.kernel.at(0.0, self._look_at_locks)
        return super().heal()

    def _look(self) -> None:
        """Circles before the first change are the tree's own: the tree swarm has the same plans."""
        super()._look()
        if self.kernel.now < self.wishes[0].at:
            self.circles.clear()

    def _wish(self, wish: Wish) -> None:
        ask(self.network, wish.draw)

    def _look_at_locks(self) -> None:
        for name, node in self.network.nodes.items():
            ring = node.broker.turning.ring
            host = self.network.driver.hosts[name]
            if ring is not None and not host.hangs:
                age = host.read_clock(self.kernel.now) - ring.since
                if age > 3 * node.broker.turning.seconds + 1.0:
                    self.locked.append(f"{name} is locked by {ring.change} for {age:.1f} s")
        self.kernel.at(self.kernel.now + 0.5, self._look_at_locks)

    def run(self) -> list[str]:
        """Everything that is wrong; nothing if it is all right."""
        return [*super().run(), *self.locked[:SHOWN_MAX]]


def draw_faulty(seed: int) -> FaultyRun:
    """The run with faults of a seed."""
    random = Random(f"faulty changes {seed}")
    plan = draw_redundant(seed)
    wishes = [Wish(random.uniform(2.0, plan.calm_at), random.random()) for _ in range(6)]
    return FaultyRun(plan, sorted(wishes))


class Outcome(NamedTuple):
    """What a seed came to."""

    problems: list[str]
    about: str
    completed: int
    asked: int
    published: int


def has_faults(seed: int) -> bool:
    """Whether something fails in the run of a seed."""
    return seed % 3 == 2


def outcome_of(seed: int) -> Outcome:
    """What the run of a seed came to."""
    run = draw_faulty(seed) if has_faults(seed) else CourseRun(draw_course(seed))
    about = run.plan.describe() if isinstance(run, FaultyRun) else run.course.describe()
    try:
        problems = run.run()
    except RunawayError as problem:
        problems = [f"it does not come to rest: {problem}"]
    outcomes = Counter(one.outcome for one in run.network.changes.values())
    published = sum(len(one.publications) for one in run.network.clients.values())
    return Outcome(problems, about, outcomes[COMPLETED], outcomes.total(), published)


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the run of a seed; nothing if it is all right."""
    return outcome_of(seed).problems


SEEDS: Final = Seeds(
    "python -m sapwood.sim.faithful.turning",
    __doc__,
    problems_of,
    lambda seed: "with faults" if has_faults(seed) else "without faults",
)
command = SEEDS.command


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one seed, or several from it on, and count what happened; 1 if something is wrong."""

    def counted(seed: int, tally: Counter[str]) -> list[str]:
        found = outcome_of(seed)
        tally.update(asked=found.asked, completed=found.completed, published=found.published)
        return found.problems

    return SEEDS.main_counting(
        counted,
        "{asked} changes asked for, {completed} completed, {published} publications",
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
