"""Networks whose variables of the tree are spoiled at a stroke: from any state back to one tree.

A network with more links than a tree is right; then a random share of its brokers gets arbitrary
values in everything that the tree is kept by: parents, roots, paths, offers, times, places of links
and surveys. What must hold: nothing raises; within a stated time the tree is right again
(`seconds_to_heal`), and it stays so.

``python -m sapwood.sim.faithful.spoilt_tree --seed K`` does one seed again and says what is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from random import Random
from typing import Final, TypeVar

from sapwood.protocol.node import Node
from sapwood.protocol.ports import TICK_SECONDS
from sapwood.protocol.stabilize.beacon import Beacon, Offer
from sapwood.protocol.stabilize.book import Book, Known
from sapwood.protocol.stabilize.fragment import Purpose, Subject
from sapwood.protocol.stabilize.seeking import Seeking
from sapwood.protocol.stabilize.timing import Timing
from sapwood.sim.faithful.redundant import HEAL_SECONDS, Plan, PlanRun, draw_plan
from sapwood.sim.faithful.swarm import RunawayError
from sapwood.sim.seeds import Seeds

Drawn = TypeVar("Drawn")

SPOILED_AT: Final = 20.0
"""When variables are spoiled: after everything has come to rest."""

DELAY_SECONDS: Final = 0.002
"""Time that every message takes at least."""

STAY_SECONDS: Final = 30.0
"""How long the tree is looked at after it is right again."""

BACK_SECONDS: Final = 5.0
"""Time in which a connection that was ended is there again."""


class Spoiler:
    """Draws arbitrary values of the right kind, and puts them into a node."""

    def __init__(self, random: Random, names: Sequence[str]) -> None:
        self._random = random
        self._names = [*names, "0ghost", "Zghost"]

    def spoil(self, node: Node, now: float) -> None:
        """Give every variable of the tree another value, more or less."""
        for change in (
            self._spoil_standing,
            self._spoil_times,
            self._spoil_offers,
            self._spoil_fragment,
            self._spoil_neighbours,
            self._spoil_peers,
            self._spoil_seeking,
        ):
            if self._random.random() < 0.7:
                change(node, now)

    def _some(self, choices: Sequence[Drawn]) -> Drawn:
        return self._random.choice(choices)

    def _time(self, now: float) -> float:
        around = now + self._random.uniform(-100.0, 100.0)
        return self._some((around, around, float("-inf"), float("inf"), float("nan"), 0.0))

    def _path(self) -> tuple[str, ...]:
        return tuple(self._random.sample(self._names, self._random.randint(0, 4)))

    def _is_so(self) -> bool:
        return self._random.random() < 0.5

    def _beacon(self, sender: str) -> Beacon:
        root = self._some(self._names)
        path = self._some(((root, sender), (*self._path(), sender), self._path()))
        return Beacon(
            root,
            self._some((1000, 0, -1, 10**9)),
            self._some((0.0, self._random.uniform(0.0, 20.0), -5.0, float("nan"))),
            path,
            self._some(("", *self._names)),
            self._is_so(),
            self._is_so(),
            self._is_so(),
            self._is_so(),
            self._is_so(),
            self._some((1, -5, 10**9)),
            self._some((0.0, -1.0, 1e9, float("nan"))),
            self._some((0.0, -1.0, 1e9, float("nan"))),
        )

    def _spoil_standing(self, node: Node, now: float) -> None:
        tree = node.broker.tree
        tree.parent = self._some(("", *self._names))
        tree.root = self._some(self._names)
        tree.priority = self._some((0, 1000, -7))
        tree.path = self._path()
        tree.adopted_under = (self._some(self._names), self._some(self._names))
        tree.asks_under = self._some((("", ""), (tree.parent, tree.root)))
        tree.has_had_parent = self._is_so()

    def _spoil_times(self, node: Node, now: float) -> None:
        tree = node.broker.tree
        for name in ("adopted_at", "watched_until", "pulse_at", "ticked_at", "survey_at"):
            setattr(tree, name, self._time(now))
        tree.better_since = self._some((None, self._time(now)))
        tree.delay_tree = self._some((0.0, -1.0, 1e9, float("nan")))
        tree.kept = {name: self._time(now) for name in self._names if self._is_so()}
        tree.apart = {name: self._time(now) for name in self._names if self._is_so()}

    def _spoil_offers(self, node: Node, now: float) -> None:
        tree = node.broker.tree
        for name in self._names:
            if self._is_so():
                waited = self._some((0.0, 50.0, -1.0, 1e9))
                offer = Offer(self._beacon(name), self._time(now), waited, self._is_so())
                tree.offers[name] = offer
            elif self._is_so():
                tree.offers.pop(name, None)

    def _spoil_fragment(self, node: Node, now: float) -> None:
        fragment = node.broker.tree.fragment
        for purpose in Purpose:
            subject = Subject(self._some(self._names), self._some(self._names))
            if self._is_so():
                fragment.asked[purpose] = (subject, self._time(now))
            if self._is_so():
                fragment.shown[purpose] = subject

    def _spoil_neighbours(self, node: Node, now: float) -> None:
        for one in node.broker.neighbours.values():
            one.in_tree, one.is_away, one.is_connected = self._is_so(), self._is_so(), self._is_so()
            one.delay = self._some((0.0, one.delay))

    def _spoil_peers(self, node: Node, now: float) -> None:
        for peer in node.peers.values():
            if not peer.is_client:
                peer.channel.is_held, peer.in_tree = self._is_so(), self._is_so()

    def _spoil_seeking(self, node: Node, now: float) -> None:
        (seeking,) = (one for one in node.broker.machines if isinstance(one, Seeking))
        seeking.book = Book(
            (name, Known((self._some(self._names),), self._time(now)))
            for name in self._names
            if self._is_so()
        )
        seeking.awaited = {name: self._time(now) for name in self._names if self._is_so()}
        seeking.save_at, seeking.saved_at = self._time(now), self._time(now)
        seeking.seek_at = self._time(now)
        seeking.sought = {name: self._time(now) for name in self._names if self._is_so()}


class SpoiledRun(PlanRun):
    """A network without faults whose variables are spoiled once."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.healed_after: float | None = None
        """Seconds from the fault to the tree that was right, and stayed so."""
        self.spoiled: list[str] = []

    def run(self) -> list[str]:
        """Everything that is wrong; nothing if it is all right."""
        kernel, plan = self.kernel, self.plan
        for name, at in plan.starts.items():
            kernel.at(at, self._start, name)
        kernel.run(SPOILED_AT)
        problems = [f"before anything was spoiled: {one}" for one in self._wrong()]
        if problems:
            return problems
        random = Random(f"spoiling {plan.seed}")
        spoiler = Spoiler(random, list(plan.joins))
        self.spoiled = sorted(random.sample(list(plan.joins), random.randint(1, len(plan.joins))))
        for name in self.spoiled:
            spoiler.spoil(self.network.nodes[name], kernel.now)
        patience = self.seconds_to_heal()
        right_since = self._right_since(patience + STAY_SECONDS)
        if right_since is None:
            return [f"{STAY_SECONDS + patience:.1f} s later: {one}" for one in self._wrong()]
        self.healed_after = right_since - SPOILED_AT
        if self.healed_after > patience:
            return [f"right only {self.healed_after:.1f} s later, wanted {patience:.1f} s"]
        return []

    def _right_since(self, seconds: float) -> float | None:
        """Look at the tree for so long: since when it has been right; None if it is not."""
        since: float | None = None
        end = self.kernel.now + seconds
        while self.kernel.now < end:
            self.kernel.run(self.kernel.now + TICK_SECONDS / 5)
            if list(self._wrong()):
                since = None
            elif since is None:
                since = self.kernel.now
        return since

    def seconds_to_heal(self) -> float:
        """A + V + ξ + 2Nδ + H + 3τ, with A again for links that are kept in vain."""
        node = next(iter(self.network.nodes.values()))
        settings = node.broker.tree.settings
        delay = max(one.broker.tree.delay for one in self.network.nodes.values())
        count = len(self.plan.joins)
        timing = Timing(settings, delay)
        across = count * delay
        times = 2 * timing.age_max(across) + timing.news_seconds(across)
        times += settings.beacon_seconds + 2 * count * delay + timing.hold_seconds(across)
        return times + 3 * TICK_SECONDS + BACK_SECONDS


def draw_calm_plan(seed: int) -> Plan:
    """A small network of a seed, without any other fault.

    Every message takes its time: what goes round a circle would otherwise do so for ever at once.
    """
    plan = draw_plan(seed)
    least, longest = plan.delay
    return plan._replace(
        faults=(),
        delay=(max(least, DELAY_SECONDS), max(longest, DELAY_SECONDS)),
        calm_at=SPOILED_AT + HEAL_SECONDS + STAY_SECONDS,
    )


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with a seed; nothing if it is all right."""
    try:
        return SpoiledRun(draw_calm_plan(seed)).run()
    except RunawayError as problem:
        return [f"it does not come to rest: {problem}"]


SEEDS: Final = Seeds(
    "python -m sapwood.sim.faithful.spoilt_tree",
    __doc__,
    problems_of,
    lambda seed: draw_calm_plan(seed).describe(),
)
command, failures, main = SEEDS.command, SEEDS.failures, SEEDS.main


if __name__ == "__main__":
    sys.exit(main())
