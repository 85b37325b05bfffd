"""Changes that hang while the root is lost: the swarm of locks behind which the tree turns round.

A broker that is locked stands still: it keeps its parent and goes on telling of a root that may be
gone, for as long as the lock lasts. Those beside it find other roots meanwhile and link up with
each other by links that stood by. If one of these carried while the link to the locked broker
carries too, notifications could go round in a circle. The specification of changes beside beacons
(its rule C8) has the locked broker hold neighbours that tell of another root for long. Here a link
that no survey has approved carries only after its end below has held all links to brokers that do
not say that they hang below it (docs/decisions/turning-waves.md), so the locked broker need not.

In each run a change is begun, a link of its ring brings nothing for longer than a deadline lasts,
and the root is killed at the same moment. There must never be a circle, and in the end one tree.

``python -m sapwood.sim.faithful.hanging --seed K`` does one seed again and says what is wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from sapwood.protocol.stabilize.settings import TreeSettings
from sapwood.sim.faithful.redundant import Plan, PlanRun
from sapwood.sim.faithful.swarm import RunawayError
from sapwood.sim.faithful.turning import ask
from sapwood.sim.seeds import Seeds

BROKERS: Final = (5, 8)
BEGIN_SECONDS: Final = 8.0
"""When the change is asked for: the tree is there by then."""

AGAIN_SECONDS: Final = 1.0
"""How long is waited for a lock before another change is asked for."""

STEP_SECONDS: Final = 0.002
CHANGE_SECONDS: Final = 15.0
"""When a change is undone: long after the root counts as lost, so that locks outlast it."""

HANGS_SECONDS: Final = (18.0, 33.0)
"""How long a link brings nothing: longer than a deadline, and than two."""

LOOK_SECONDS: Final = 0.02
CALM_SECONDS: Final = 60.0


def draw_plan(seed: int) -> Plan:
    """A ring of brokers with links across: many that stand by."""
    random = Random(f"hanging {seed}")
    names = [f"B{number}" for number in range(1, random.randint(*BROKERS) + 1)]
    random.shuffle(names)
    joins = {}
    for number, name in enumerate(names):
        following = names[(number + 1) % len(names)]
        across = [other for other in names if other != name and random.random() < 0.25]
        joins[name] = tuple(dict.fromkeys((following, *across)))
    delay = random.choice(((0.0005, 0.002), (0.001, 0.02), (0.0, 0.1)))
    return Plan(seed, joins, frozenset(), dict.fromkeys(names, 0.0), delay, (), CALM_SECONDS)


class HangingRun(PlanRun):
    """One plan in which a change hangs while the root is lost."""

    def __init__(self, plan: Plan, **config: Any) -> None:
        super().__init__(plan, **config)
        self.random = Random(f"hanging run {plan.seed}")
        self.hung = ""
        """The change that hangs."""
        self.apart_seconds = 0.0
        """How long a broker was locked while a neighbour over a carrying link off the ring told of
        another root: what the specification has held."""

    def heal(self) -> float | None:
        """Let the change begin, hang, and end somehow."""
        self.kernel.at(BEGIN_SECONDS, self._ask)
        self.kernel.at(BEGIN_SECONDS, self._look_at_roots)
        return super().heal()

    def _look(self) -> None:
        """Circles before the change are the tree's own: the tree swarm looks for them."""
        super()._look()
        if not self.hung:
            self.circles.clear()

    def _ask(self) -> None:
        ask(self.network, self.random.random())
        self._wait_for_lock(self.kernel.now + AGAIN_SECONDS)

    def _wait_for_lock(self, until: float) -> None:
        locked = [one for one in self.network.nodes.values() if one.broker.turning.ring is not None]
        if locked and self.random.random() < 0.5:  # at any moment of it
            self._hang(self.random.choice(sorted(one.broker.id for one in locked)))
        elif self.kernel.now < until:
            self.kernel.at(self.kernel.now + STEP_SECONDS, self._wait_for_lock, until)
        elif self.kernel.now + AGAIN_SECONDS < self.plan.calm_at / 2:
            self._ask()

    def _hang(self, name: str) -> None:
        """Let a link of the ring bring nothing any more, and kill the root."""
        network, kernel = self.network, self.kernel
        ring = network.nodes[name].broker.turning.ring
        assert ring is not None
        self.hung = ring.change
        other = self.random.choice(ring.sides)
        root = network.nodes[name].broker.tree.root
        network.freeze(name, other)
        kernel.at(kernel.now + self.random.choice(HANGS_SECONDS), network.thaw, name, other)
        if root in network.nodes:
            network.crash(root)
            self.gone.add(root)

    def _look_at_roots(self) -> None:
        for node in self.network.nodes.values():
            tree, ring = node.broker.tree, node.broker.turning.ring
            if ring is not None and any(
                offer.is_live and offer.beacon.root != tree.root and tree.carries(name)
                for name, offer in tree.offers.items()
                if name not in ring.sides
            ):
                self.apart_seconds += LOOK_SECONDS
        self.kernel.at(self.kernel.now + LOOK_SECONDS, self._look_at_roots)


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the run of a seed; nothing if it is all right."""
    return run_of(seed)[1]


def run_of(seed: int) -> tuple[HangingRun, list[str]]:
    """The run of a seed, and what is wrong with it."""
    run = HangingRun(draw_plan(seed), tree=TreeSettings(change_seconds=CHANGE_SECONDS))
    try:
        return run, run.run()
    except RunawayError as problem:
        return run, [f"it does not come to rest: {problem}"]


SEEDS: Final = Seeds(
    "python -m sapwood.sim.faithful.hanging",
    __doc__,
    problems_of,
    lambda seed: draw_plan(seed).describe(),
)
command = SEEDS.command


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one seed, or several from it on, and count what happened; 1 if something is wrong."""

    def counted(seed: int, tally: Counter[str]) -> list[str]:
        run, problems = run_of(seed)
        tally.update(hung=int(bool(run.hung)), apart=int(run.apart_seconds > 0))
        tally["seconds"] += round(run.apart_seconds)
        return problems

    return SEEDS.main_counting(
        counted,
        "{hung} changes hung while the root was lost; in {apart} a locked "
        "broker had a neighbour with another root, for {seconds} s in all",
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
