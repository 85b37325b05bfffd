"""Exchanges, swaps, plans and removals at the same time, over faithful links: the mixed swarm.

Clients ask for links to be exchanged and swapped, for whole other trees, and for brokers to leave,
inner ones included, one wish after the other or several at once; brokers that have left come back
and get new clients. Everybody publishes, subscribes and unsubscribes meanwhile, some clients are
slow. Nothing fails, so nothing may be lost, repeated or out of order, causal order included, nobody
is told of a loss, every wish is answered, and the traces of all brokers say the same.

``python -m sapwood.sim.faithful.reforming --seed K`` does one seed again and says what is wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from typing import Final

from sapwood.protocol.reconfigure.asking import EXCHANGE, PLAN, REMOVE, SWAP, Wish
from sapwood.protocol.reconfigure.messages import COMPLETED, REFUSED
from sapwood.protocol.tree import Link
from sapwood.sim.faithful import leaving
from sapwood.sim.faithful.swarm import RunawayError
from sapwood.sim.faithful.turning import carrying
from sapwood.sim.seeds import Seeds
from sapwood.sim.topology import random_tree

WEIGHTS: Final[dict[Wish, float]] = {EXCHANGE: 0.4, SWAP: 0.3, PLAN: 0.1, REMOVE: 0.2}
"""How often each is wished for."""

PAUSES: Final = (0.05, 0.3, 1.0)
"""The longest time between two wishes, in seconds, of a run."""

BROKERS_MIN: Final = 3
"""With fewer in the tree nothing is wished for."""

ANSWER_SECONDS: Final = 300.0
"""Within so long every wish is answered: plans wait for those before them."""


def draw_plan(seed: int) -> leaving.Plan:
    """Trees and clients as in the swarm of leaving; connections last."""
    plan = leaving.draw_plan(seed)
    return plan._replace(has_cuts=False, has_strays=False)


class ReformRun(leaving.PlanRun):
    """One plan with wishes of all kinds."""

    def __init__(self, plan: leaving.Plan) -> None:
        super().__init__(plan)
        self.asked: Counter[str] = Counter()
        self._pause = Random(f"pause {plan.seed}").choice(PAUSES)

    def _remove(self) -> None:
        """Somebody wishes for something, again and again."""
        if self.kernel.now >= self._until:
            return
        random = self._random
        (wish,) = random.choices(list(WEIGHTS), list(WEIGHTS.values()))
        if len(self.network.nodes) >= BROKERS_MIN:
            self._ask(wish)
        self.kernel.at(self.kernel.now + random.uniform(0.01, 0.01 + self._pause), self._remove)

    def _ask(self, wish: Wish) -> None:
        random, network = self._random, self.network
        session = random.choice(sorted(network.clients))
        broker, links = "", self._links(wish)
        if wish == REMOVE:
            broker = self._removable()
            if not broker:
                return
            self._is_starting.add(broker)
            self.kernel.at(self.kernel.now + 0.5, self._follow, broker)
        elif not links:
            return
        network.change_tree(session, wish, tuple(links), broker)
        self.asked[wish] += 1

    def _links(self, wish: Wish) -> list[Link]:
        """What to wish for, by what the tree is now; it may be impossible when it is asked for."""
        random, tree = self._random, sorted(carrying(self.network))
        if wish == PLAN:
            names = sorted(self.network.nodes)
            wanted = random_tree(len(names), random)
            called = dict(zip(wanted.brokers, names, strict=True))
            return [(called[left], called[right]) for left, right in wanted.links]
        if wish == EXCHANGE and tree:
            left, right = random.sample(sorted(self.network.nodes), 2)
            return [random.choice(tree), (left, right)]
        for left, right in random.sample(tree, len(tree)):
            others = [*_beside(tree, right, left)]
            if wish == SWAP and others:
                return [(left, right), (left, random.choice(others))]
        return []

    def _removable(self) -> str:
        """A broker that is in the tree and that others can do without, if there is one."""
        network = self.network
        found = [
            name
            for name, node in network.nodes.items()
            if not self._is_starting.intersection((name, *self._around(name)))
            and not node.ending.is_begun
            and node.broker.neighbours.tree()
        ]
        return self._random.choice(sorted(found)) if found else ""

    def _follow(self, name: str) -> None:
        """A broker is to leave: it comes back when it has, and gets clients; it may also stay."""
        is_answered = len(self.answers) >= self.asked.total()
        if name not in self.network.nodes:
            self.removals += 1
            self.kernel.at(self.kernel.now + self._random.uniform(0.5, 2.0), self._restart, name)
        elif is_answered and not self.network.nodes[name].ending.is_begun:
            self._is_starting.discard(name)
        else:
            self.kernel.at(self.kernel.now + 0.5, self._follow, name)

    @property
    def answers(self) -> list[str]:
        """How wishes ended; one that was made before the client had found its broker is refused."""
        clients = self.network.clients.values()
        answers = [answer.outcome for one in clients for answer in one.changed]
        return [*answers, *(REFUSED for one in clients for _ in one.refused)]

    @property
    def steps(self) -> int:
        """Links that were exchanged, and brokers that left, as the answers say."""
        clients = self.network.clients.values()
        answers = (answer for one in clients for answer in one.changed)
        return sum(step.outcome == COMPLETED for one in answers for step in one.steps)

    def _problems(self) -> Iterator[str]:
        self.network.driver.run_until(
            lambda: len(self.answers) >= self.asked.total(), ANSWER_SECONDS
        )
        if len(self.answers) < self.asked.total():
            yield f"{self.asked.total()} wishes, {len(self.answers)} answered"
        self.network.driver.run_until(self.network.has_no_waves, leaving.REST_SECONDS)
        for name, node in self.network.nodes.items():
            if node.broker.turning.ring is not None:
                yield f"{name} is still locked by {node.broker.turning.ring.change}"
        yield from super()._problems()


def _beside(tree: Sequence[Link], broker: str, without: str) -> Iterator[str]:
    """Neighbours of a broker, but for one."""
    for left, right in tree:
        if broker in (left, right):
            other = left if right == broker else right
            if other != without:
                yield other


def problems_of(seed: int, tally: Counter[str] | None = None) -> list[str]:
    """Everything that is wrong with the run of a seed; nothing if it is all right."""
    run = ReformRun(draw_plan(seed))
    try:
        problems = list(islice(run.run(), 20))
    except RunawayError as problem:
        problems = [f"it does not come to rest: {problem}"]
    if tally is not None:
        tally.update({"asked": run.asked.total(), "steps": run.steps, "left": run.removals})
        tally["published"] += sum(len(one.publications) for one in run.network.clients.values())
        tally.update(run.answers)
    return problems


SEEDS: Final = Seeds(
    "python -m sapwood.sim.faithful.reforming",
    __doc__,
    problems_of,
    lambda seed: draw_plan(seed).describe(),
)
command = SEEDS.command


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one seed, or several from it on, and count what happened; 1 if something is wrong."""
    return SEEDS.main_counting(
        problems_of,
        "{asked} wishes, {completed} of them completed, {steps} steps, "
        "{left} brokers left, {published} publications",
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
