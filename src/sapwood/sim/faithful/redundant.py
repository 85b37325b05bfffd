"""Networks with more links than a tree has, whose brokers and links come and go: the tree swarm.

Hubs that everybody can dial, sites that can only dial out, rings and meshes: started together or
spread, with links cut and restored, processes that hang, crash, come back or never do. What must
hold: never a circle of links that carry; after the last fault one root and one tree for all that
can reach each other, within a stated time; and then everything is delivered exactly once. Until
then a notification may come more than once, but not often.

``python -m sapwood.sim.faithful.redundant --seed K`` does one seed again and says what is wrong.
With ``--family rings`` they are rings of which all there is to see is how they start, with
``--family hubs`` sites that join two hubs and whose links are cut.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from sapwood.protocol.stabilize.seeking import Seeking
from sapwood.protocol.stabilize.settings import TreeSettings
from sapwood.protocol.tree import Groups
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.faithful.swarm import BoundedKernel, RunawayError
from sapwood.sim.seeds import Seeds

LOOK_SECONDS: Final = 0.02
"""How often the links of the tree are looked at."""

WRONG_SECONDS: Final = 0.1
"""How often is looked whether the tree is right."""

LATE_SECONDS: Final = 0.01
"""So long after the faults end whoever is still missing is started again."""

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

    @property
    def faults_end_at(self) -> float:
        """When the last broker has started, and the last fault is over."""
        ends = (min(one.at + one.seconds, self.calm_at) for one in self.faults)
        return max((*self.starts.values(), *ends))

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


def draw_ring(seed: int) -> Plan:
    """A ring that nothing happens to, started together or spread over a second."""
    random = Random(f"ring {seed}")
    names = [f"B{number}" for number in range(1, random.randint(3, 8) + 1)]
    random.shuffle(names)
    joins: dict[str, tuple[str, ...]] = {
        name: (names[number - 1],) for number, name in enumerate(names)
    }
    spread = random.choice((0.0, 1.0))
    starts = {name: random.uniform(0.0, spread) for name in names}
    delay = (0.0, random.choice((0.0, 0.001, 0.02, 0.1)))
    return Plan(seed, joins, frozenset(), starts, delay, (), 3.0)


def draw_hubs(seed: int) -> Plan:
    """Two hubs and sites that join both; links are cut and restored at any time."""
    random = Random(f"hubs {seed}")
    names = [f"B{number}" for number in range(1, random.randint(4, 7) + 1)]
    random.shuffle(names)
    hubs = tuple(names[:2])
    joins: dict[str, tuple[str, ...]] = dict.fromkeys(names[2:], hubs)
    joins[hubs[0]] = hubs[1:] if random.random() < 0.5 else ()
    joins[hubs[1]] = ()
    links = [(name, other) for name, others in joins.items() for other in others]
    calm_at = random.uniform(4.0, 30.0)
    faults = sorted(
        Fault(
            random.uniform(0.0, calm_at),
            random.choice(("part", "freeze")),
            *random.choice(links),
            random.choice((0.05, 0.3, 2.0, 6.0, 15.0)),
        )
        for _ in range(random.randint(1, 4))
    )
    spread = random.choice((0.0, 1.0))
    starts = {name: random.uniform(0.0, spread) for name in names}
    delay = (0.0, random.choice((0.0, 0.001, 0.02, 0.1)))
    return Plan(seed, joins, frozenset(names[2:]), starts, delay, tuple(faults), calm_at)


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

    def __init__(self, plan: Plan, **config: Any) -> None:
        self.plan = plan
        self.kernel = BoundedKernel(STEPS_MAX)
        self.network = FaithfulNetwork(
            Random(plan.seed), config=config, kernel=self.kernel, delay=plan.delay
        )
        self.gone: set[str] = set()
        """Brokers that never come back."""
        self.circles: list[float] = []
        """When links that carry formed a circle."""
        self.tree_changed_at = 0.0
        """When the tree was last seen to be another one."""
        self._tree: frozenset[tuple[str, str]] = frozenset()
        self._sent = 0
        self._wrong_at = 0.0
        """When the tree was last seen to be wrong, since the last fault."""

    @property
    def heal_seconds(self) -> float:
        """Within so long the tree is right.

        Whoever has heard of brokers that are gone dials them in vain first, one at a time.
        """
        return HEAL_SECONDS + len(self.gone) * TreeSettings().seek_seconds

    # What happens

    def run(self) -> list[str]:
        """Everything that is wrong; nothing if it is all right."""
        healed_after = self.heal()
        problems = [f"after {self.heal_seconds} s: {one}" for one in self._wrong()]
        if healed_after is not None:
            problems += self._calm()
        if self.circles:
            problems.append(f"a circle carries at {self.circles[0]:.2f}, {len(self.circles)} looks")
        problems += self._copies()
        problems += self.network.problems()
        return problems

    def heal(self) -> float | None:
        """Let the faults happen; seconds from the last one until the tree was right, if it was.

        The start of the last broker counts as a fault, and so does one that is still missing when
        the calm begins.
        """
        kernel, plan = self.kernel, self.plan
        for name, at in plan.starts.items():
            kernel.at(at, self._start, name)
        kernel.at(0.0, self._look)
        for fault in plan.faults:
            kernel.at(fault.at, self._begin, fault)
            if fault.seconds:
                kernel.at(min(fault.at + fault.seconds, plan.calm_at), self._end, fault)
        kernel.at(plan.faults_end_at, self._look_for_wrong)
        kernel.run(plan.calm_at + LATE_SECONDS)
        last_fault_at = plan.faults_end_at
        for name in plan.joins:
            if name not in self.gone and name not in self.network.nodes:
                self.network.restart(name)
                last_fault_at = kernel.now
        healed = self.network.driver.run_until(lambda: not list(self._wrong()), self.heal_seconds)
        return max(0.0, self._wrong_at - last_fault_at) if healed else None

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

    def _look_for_wrong(self) -> None:
        if any(True for _ in self._wrong()):
            self._wrong_at = self.kernel.now
        self.kernel.at(self.kernel.now + WRONG_SECONDS, self._look_for_wrong)

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
                is_known = self.network.is_linked(left, right) or self._seeks(left, right)
                if left != right and (is_planned or is_known):
                    reach.join(left, right)
        return reach

    def _seeks(self, left: str, right: str) -> bool:
        """Whether a broker dials another one of which it has only heard, since somebody is lost."""
        broker = self.network.nodes[left].broker
        has_lost = any(
            not broker.neighbours[name].is_connected for name in broker.neighbours.tree()
        )
        has_heard = any(right in one.book for one in broker.machines if isinstance(one, Seeking))
        return has_lost and has_heard and right not in self.plan.hidden

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


FAMILIES: Final = {"any": draw_plan, "rings": draw_ring, "hubs": draw_hubs}
"""What a plan is drawn by."""


def problems_of(seed: int, family: str = "any") -> list[str]:
    """Everything that is wrong with the plan of a seed; nothing if it is all right."""
    try:
        return PlanRun(FAMILIES[family](seed)).run()
    except RunawayError as problem:
        return [f"it does not come to rest: {problem}"]


def seeds_of(family: str) -> Seeds:
    """The seeds of a family of networks."""
    program = "python -m sapwood.sim.faithful.redundant"
    return Seeds(
        program if family == "any" else f"{program} --family {family}",
        __doc__,
        lambda seed: problems_of(seed, family),
        lambda seed: FAMILIES[family](seed).describe(),
    )


def command(seed: int, family: str = "any") -> str:
    """What to type to see a seed again."""
    return seeds_of(family).command(seed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check seeds of a family; 1 if something is wrong."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--family", choices=FAMILIES, default="any", help="which networks")
    chosen, others = parser.parse_known_args(arguments)
    return seeds_of(chosen.family).main(others)


if __name__ == "__main__":
    sys.exit(main())
