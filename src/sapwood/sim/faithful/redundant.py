"""Networks with more links than a tree has, whose brokers and links come and go: the tree swarm.

Hubs that everybody can dial, sites that can only dial out, rings and meshes: started together or
spread, with links cut and restored, processes that hang, crash, come back or never do. What must
hold: never a circle of links that carry; after the last fault one root and one tree for all that
can reach each other, within a stated time; and then everything is delivered exactly once. Until
then a notification may come more than once, but not often.

``python -m sapwood.sim.faithful.redundant --seed K`` does one seed again and says what is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from sapwood.protocol.tree import Groups
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.faithful.swarm import BoundedKernel, RunawayError

LOOK_SECONDS: Final = 0.02
"""How often the links of the tree are looked at."""

COPIES_MAX: Final = 10
"""How often a notification may come to a client while the tree is not right."""

HEAL_SECONDS: Final = 60.0
"""More than all times of the tree together, with the delays of these networks."""

STEPS_MAX: Final = 2_000_000


class Fault(NamedTuple):
    """Something goes wrong, and perhaps ends."""

    at: float
    kind: str
    who: str
    other: str = ""
    seconds: float = 0.0
    """How long it lasts; without an end if that is zero."""


class Plan(NamedTuple):
    """A network, and what happens to it."""

    seed: int
    joins: dict[str, tuple[str, ...]]
    hidden: frozenset[str]
    starts: dict[str, float]
    delay: tuple[float, float]
    faults: tuple[Fault, ...]
    calm_at: float

    @property
    def links(self) -> list[tuple[str, str]]:
        """All pairs of brokers of which one dials the other."""
        return [(name, other) for name, others in self.joins.items() for other in others]

    def describe(self) -> str:
        """One line about it."""
        faults = Counter(fault.kind for fault in self.faults)
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(faults.items()))
        return f"{len(self.joins)} brokers, {len(self.links)} links: {listed or 'no faults'}"


def draw_plan(seed: int) -> Plan:
    """The plan of a seed."""
    random = Random(f"redundant {seed}")
    count = random.randint(3, 8)
    names = [f"B{number}" for number in range(1, count + 1)]
    random.shuffle(names)
    joins, hidden = random.choice((_ring, _hubs))(random, names)
    spread = random.choice((0.0, 1.0))
    calm_at = random.uniform(5.0, 40.0)
    faults = sorted(_draw_faults(random, joins, calm_at))
    return Plan(
        seed,
        joins,
        hidden,
        {name: random.uniform(0.0, spread) for name in names},
        random.choice(((0.0, 0.0), (0.0005, 0.002), (0.001, 0.02), (0.0, 0.1))),
        tuple(faults),
        calm_at,
    )


def _ring(
    random: Random, names: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """Everybody dials the next one, and some others."""
    joins = {}
    for number, name in enumerate(names):
        following = names[(number + 1) % len(names)]
        others = [other for other in names if other != name and random.random() < 0.15]
        joins[name] = tuple(dict.fromkeys((following, *others)))
    return joins, frozenset()


def _hubs(
    random: Random, names: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """Sites that nobody can dial join two hubs, or one."""
    hubs = names[:2]
    joins: dict[str, tuple[str, ...]] = dict.fromkeys(hubs, ())
    if random.random() < 0.5:
        joins[hubs[0]] = (hubs[1],)
    for name in names[2:]:
        joins[name] = tuple(hubs if random.random() < 0.8 else hubs[:1])
    return joins, frozenset(names[2:])


def _draw_faults(
    random: Random, joins: dict[str, tuple[str, ...]], calm_at: float
) -> Iterator[Fault]:
    links = [(name, other) for name, others in joins.items() for other in others]
    for _ in range(random.randint(0, 4)):
        at = random.uniform(1.0, calm_at)
        seconds = random.choice((0.2, 2.0, 8.0, 20.0))
        kind = random.choice(("cut", "part", "freeze", "hang", "crash", "stop", "kill"))
        name, other = random.choice(links)
        if kind in ("cut", "part", "freeze"):
            yield Fault(at, kind, name, other, seconds)
        else:
            broker = random.choice(list(joins))
            yield Fault(at, kind, broker, "", 0.0 if kind == "kill" else seconds)


class PlanRun:
    """One plan, from its start to the end of the calm."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.kernel = BoundedKernel(STEPS_MAX)
        self.network = FaithfulNetwork(Random(plan.seed), kernel=self.kernel, delay=plan.delay)
        self.gone: set[str] = set()
        """Brokers that never come back."""
        self.circles: list[float] = []
        """When links that carry formed a circle."""
        self.tree_changed_at = 0.0
        """When the tree was last seen to be another one."""
        self._tree: frozenset[tuple[str, str]] = frozenset()
        self._sent = 0

    # What happens

    def run(self) -> list[str]:
        """Everything that is wrong; nothing if it is all right."""
        kernel, plan = self.kernel, self.plan
        for name, at in plan.starts.items():
            kernel.at(at, self._start, name)
        kernel.at(0.0, self._look)
        for fault in plan.faults:
            kernel.at(fault.at, self._begin, fault)
            if fault.seconds:
                kernel.at(min(fault.at + fault.seconds, plan.calm_at), self._end, fault)
        kernel.run(plan.calm_at + 0.01)
        for name in plan.joins:
            if name not in self.gone:
                self.network.restart(name)
        healed = self.network.driver.run_until(lambda: not list(self._wrong()), HEAL_SECONDS)
        problems = [f"after {HEAL_SECONDS} s: {one}" for one in self._wrong()]
        if healed:
            problems += self._calm()
        if self.circles:
            problems.append(f"a circle carries at {self.circles[0]:.2f}, {len(self.circles)} looks")
        problems += self._copies()
        problems += self.network.problems()
        return problems

    def _start(self, name: str) -> None:
        plan = self.plan
        self.network.add_broker(name, plan.joins[name], is_hidden=name in plan.hidden)
        session = f"C{name[1:]}.1"
        self.network.connect(session, name)
        self.network.subscribe(session, "all", "n >= 0")
        self._publish(session)

    def _publish(self, session: str) -> None:
        """Each client publishes ten times a second until the calm."""
        self._sent += 1
        self.network.publish(session, {"n": self._sent})
        at = self.kernel.now + 0.1
        if at < self.plan.calm_at:
            self.kernel.at(at, self._publish, session)

    def _begin(self, fault: Fault) -> None:
        network, who = self.network, fault.who
        if fault.kind in ("cut", "part"):
            network.refuse(who, fault.other)
            network.cut(who, fault.other)
        elif fault.kind == "freeze":
            network.freeze(who, fault.other)
        elif fault.kind == "hang":
            network.driver.hang(network.driver.hosts[who])
        elif fault.kind == "stop":
            network.stop(who)
        elif len(self.plan.joins) - len(self.gone) > 2 or fault.kind == "crash":
            network.crash(who)
            if fault.kind == "kill":
                self.gone.add(who)

    def _end(self, fault: Fault) -> None:
        network, who = self.network, fault.who
        if fault.kind in ("cut", "part"):
            network.refuse(who, fault.other, is_refused=False)
        elif fault.kind == "freeze":
            network.thaw(who, fault.other)
        elif fault.kind == "hang":
            network.driver.resume(network.driver.hosts[who])
        elif who not in self.gone:
            network.restart(who)

    def _look(self) -> None:
        tree = self._carrying()
        if self._has_circle(tree):
            self.circles.append(self.kernel.now)
        if tree != self._tree:
            self._tree, self.tree_changed_at = tree, self.kernel.now
        self.kernel.at(self.kernel.now + LOOK_SECONDS, self._look)

    def _carrying(self) -> frozenset[tuple[str, str]]:
        """Links over which both ends let notifications go."""
        nodes = self.network.nodes
        return frozenset(
            (min(name, other), max(name, other))
            for name, node in nodes.items()
            for other in node.broker.neighbours.tree()
            if other in nodes
            and node.broker.tree.carries(other)
            and nodes[other].broker.tree.carries(name)
        )

    def _has_circle(self, tree: frozenset[tuple[str, str]]) -> bool:
        groups = Groups(self.network.nodes)
        return not all(groups.join(left, right) for left, right in sorted(tree))

    # What must hold

    def _reach(self) -> Groups:
        """Who can reach whom: by links of the plan, or because somebody has heard of somebody."""
        nodes = self.network.nodes
        reach = Groups(nodes)
        for left in nodes:
            for right in nodes:
                is_planned = right in self.plan.joins[left]
                if left != right and (is_planned or self.network.is_linked(left, right)):
                    reach.join(left, right)
        return reach

    def _wrong(self) -> Iterator[str]:
        """What of the tree is not right though nothing fails any more."""
        nodes = self.network.nodes
        tree = self._carrying()
        reach, joined = self._reach(), Groups(nodes)
        for left, right in sorted(tree):
            if not joined.join(left, right):
                yield f"the link {left}-{right} closes a circle"
        parts: dict[str, list[str]] = {}
        for name in nodes:
            parts.setdefault(reach.find(name), []).append(name)
        for part in parts.values():
            if len({joined.find(name) for name in part}) > 1:
                yield f"{', '.join(sorted(part))} are not one tree: {sorted(tree)}"
            roots = {nodes[name].broker.tree.root for name in part}
            if roots != {min(part)}:
                yield f"{', '.join(sorted(part))} have the roots {', '.join(sorted(roots))}"

    def _calm(self) -> Iterator[str]:
        """The tree is right: everything is delivered, once."""
        network = self.network
        network.driver.run(5.0)
        for session, client in network.clients.items():
            if client.failed is None and self._home(session) in network.nodes:
                network.subscribe(session, "calm", "calm = true")
        network.driver.run(15.0)
        changed_at = self.tree_changed_at
        before = {name: len(client.publications) for name, client in network.clients.items()}
        for session in network.clients:
            if self._home(session) in network.nodes:
                network.publish(session, {"calm": True})
        network.driver.run(5.0)
        yield from self._missing(before)
        yield from self._in_vain()
        if changed_at != self.tree_changed_at:
            yield f"the tree changes at {self.tree_changed_at:.2f}, long after it was right"

    def _in_vain(self) -> Iterator[str]:
        """Links that are part of the tree and do not carry, though both ends are there."""
        nodes = self.network.nodes
        for name, node in nodes.items():
            for other in node.broker.neighbours.tree():
                if other in nodes and not node.broker.tree.carries(other):
                    yield f"{name} keeps its link to {other} in vain"

    def _missing(self, before: dict[str, int]) -> Iterator[str]:
        network = self.network
        reach = self._reach()
        for publisher, client in network.clients.items():
            for one in client.publications[before[publisher] :]:
                for reader, other in network.clients.items():
                    homes = self._home(publisher), self._home(reader)
                    if not all(home in network.nodes for home in homes):
                        continue
                    got = sum(
                        (got.publisher, got.sequence) == (publisher, one.sequence)
                        for got in other.deliveries
                    )
                    wanted = int(reach.find(homes[0]) == reach.find(homes[1]))
                    if got != wanted:
                        yield f"{publisher}:{one.sequence} came {got} times to {reader}"

    def _home(self, session: str) -> str:
        return f"B{session[1:].partition('.')[0]}"

    def _copies(self) -> Iterator[str]:
        for reader, client in self.network.clients.items():
            copies = Counter((got.publisher, got.sequence) for got in client.deliveries)
            for (publisher, sequence), count in copies.items():
                if count > COPIES_MAX:
                    yield f"{publisher}:{sequence} came {count} times to {reader}"


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the plan of a seed; nothing if it is all right."""
    try:
        return PlanRun(draw_plan(seed)).run()
    except RunawayError as problem:
        return [f"it does not come to rest: {problem}"]


def command(seed: int) -> str:
    """What to type to see a seed again."""
    return f"python -m sapwood.sim.faithful.redundant --seed {seed}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one seed, or several from it on; 1 if something is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m sapwood.sim.faithful.redundant", description=__doc__
    )
    parser.add_argument("--seed", type=int, required=True, metavar="K", help="the first seed")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="how many seeds")
    options = parser.parse_args(arguments)
    wrong = 0
    for seed in range(options.seed, options.seed + options.count):
        problems = problems_of(seed)
        if problems:
            wrong += 1
            lines = [f"seed {seed} ({draw_plan(seed).describe()}):", *problems[:8]]
            sys.stdout.write("\n  ".join(lines) + f"\n  again: {command(seed)}\n")
            sys.stdout.flush()
    sys.stderr.write(f"{options.count} seeds, {wrong} with problems\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
