"""A tree of subtrees beside one big tree of the same brokers (thesis 4.5.5, scalability).

Inside a site messages are quick, between sites they are slow. One big tree has to reckon with the
slow ones everywhere, and with its whole height; a subtree only with its own.
"""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import Any

import msgspec

from sapwood.analysis.stabilization.published import recolor_period_least
from sapwood.filters.filter import Filter
from sapwood.protocol.stabilize.published.colour_messages import (
    Change,
    ChangeRequested,
    ClientPublished,
    ClientSubscribed,
    Deliver,
    Tick,
)
from sapwood.protocol.stabilize.published.colour_parts import ColourConfig, ColourState
from sapwood.protocol.stabilize.published.three_colours import ThreeColours
from sapwood.protocol.stabilize.published.tree_of_subtrees import (
    SubtreeBroker,
    TreeReceived,
    TreeSend,
)
from sapwood.sim.recolouring.judge import tree_problems
from sapwood.sim.recolouring.placing import place
from sapwood.sim.recolouring.underlay import Underlay, Words

MAIN_TREE = "main"
WORDS = Words(tick=Tick(), received=TreeReceived, send=TreeSend)


class SubtreeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sites of some brokers each, and the delays within and between them."""

    seed: int = 0
    sites: int = 3
    brokers: int = 4
    """In each site, its root among them."""
    refresh_period: float = 10.0
    delay_near: float = 0.02
    delay_far: float = 1.0
    is_divided: bool = True
    """Whether each site is a subtree; else all are one big tree."""


class SubtreesWorld:
    """Sites ``S1`` and so on, each a chain of brokers ``S1.1`` (its root), ``S1.2``, …"""

    def __init__(self, settings: SubtreeSettings) -> None:
        self.settings = settings
        self._random = Random(f"subtrees {settings.seed}")
        self.sites = {
            f"S{site}": [f"S{site}.{number}" for number in range(1, settings.brokers + 1)]
            for site in range(1, settings.sites + 1)
        }
        self.delivered: list[tuple[str, str, int, float]] = []
        """Client, publisher, sequence and time of each delivery."""
        self.underlay = Underlay(WORDS, self._delay, Random(self._random.getrandbits(64)))
        self.underlay.effects = self._effect
        self._parse = lru_cache(1024)(Filter)
        self.trees = self._trees()
        self._build()

    def _delay(self, source: str, target: str, random: Random) -> float:
        is_near = source.partition(".")[0] == target.partition(".")[0]
        longest = self.settings.delay_near if is_near else self.settings.delay_far
        return random.uniform(longest / 2, longest)

    def _trees(self) -> dict[str, dict[str, str]]:
        """By tree: the parents of its brokers; the root's is empty."""
        roots = [brokers[0] for brokers in self.sites.values()]
        main = {name: "" if name == roots[0] else roots[0] for name in roots}
        sites = {
            site: {name: brokers[index - 1] if index else "" for index, name in enumerate(brokers)}
            for site, brokers in self.sites.items()
        }
        if self.settings.is_divided:
            return {MAIN_TREE: main, **sites}
        whole = {name: parent for tree in sites.values() for name, parent in tree.items()}
        return {MAIN_TREE: {**whole, **main}}

    def period(self, tree: str) -> float:
        """The recolour period of a tree: what Eq. 4.2 asks for, and a little more."""
        least = recolor_period_least(
            self.settings.refresh_period,
            len(self.trees[tree]),
            self._longest(tree),
            shape="hierarchical",
        )
        return least * 1.05

    def _longest(self, tree: str) -> float:
        return self.settings.delay_far if tree == MAIN_TREE else self.settings.delay_near

    def _build(self) -> None:
        for site, brokers in self.sites.items():
            for name in brokers:
                machines = {
                    tree: self._machine(tree, name)
                    for tree, parents in self.trees.items()
                    if name in parents
                }
                home = site if site in machines else MAIN_TREE
                self.underlay.add(name, SubtreeBroker(home, machines, MAIN_TREE))

    def _machine(self, tree: str, name: str) -> ThreeColours:
        parents = self.trees[tree]
        root = next(one for one, parent in parents.items() if not parent)
        config = ColourConfig(
            id=name,
            root_group=(root,),
            recolor_period=self.period(tree),
            height=len(parents),
            delay_min=0.0,
            delay_max=self._longest(tree),
            degree_max=max(3, len(self.sites)),
        )
        machine = ThreeColours(config, Random(self._random.getrandbits(64)), self._parse)
        place(machine.state, name, parents)
        machine.start(0.0)
        return machine

    # Looking and acting

    def broker(self, name: str) -> SubtreeBroker:
        """A broker."""
        broker = self.underlay.machines[name]
        assert isinstance(broker, SubtreeBroker)
        return broker

    def state(self, tree: str, name: str) -> ColourState:
        """The variables of a broker in one of its trees."""
        return self.broker(name).machines[tree].state

    def home(self, name: str) -> str:
        """The tree in which a broker has its clients."""
        return self.broker(name).home

    def problems(self, tree: str) -> list[str]:
        """What is wrong with a tree."""
        parents = self.trees[tree]
        root = next(one for one, parent in parents.items() if not parent)
        return list(tree_problems({name: self.state(tree, name) for name in parents}, root))

    def subscribe(self, name: str, text: str) -> None:
        """The client of a broker subscribes and refreshes for ever."""
        self.underlay.handle(name, ClientSubscribed(name, f"{name}/1", text))
        self._refresh(name, text)

    def _refresh(self, name: str, text: str) -> None:
        again = ClientSubscribed(name, f"{name}/1", text, is_refresh=True)
        self.underlay.handle(name, again)
        following = self.underlay.now + self.settings.refresh_period
        self.underlay.kernel.at(following, self._refresh, name, text)

    def publish(self, name: str, sequence: int, attributes: dict[str, Any]) -> None:
        """The client of a broker publishes."""
        self.underlay.handle(name, ClientPublished(name, sequence, attributes))

    def _effect(self, name: str, effect: Any) -> None:
        if isinstance(effect, Deliver) and effect.client == name:
            one = effect.notification
            self.delivered.append((name, one.publisher, one.sequence, self.underlay.now))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.underlay.kernel.run(self.underlay.now + seconds)

    # Measuring

    def change_delay(self, child: str, new_parent: str, seconds_max: float) -> float | None:
        """How long it takes until a broker has moved within its site, if it does in time."""
        tree = self.home(child)
        root = next(one for one, parent in self.trees[tree].items() if not parent)
        state = self.state(tree, child)
        change = Change(child, state.parent[state.current], new_parent)
        self.underlay.handle(root, ChangeRequested(change))

        def is_made() -> bool:
            color = self.state(tree, root).current
            return self.state(tree, child).parent[color] == new_parent

        return self._time_until(is_made, seconds_max)

    def recovery_time(self, child: str, seconds_max: float) -> float | None:
        """How long it takes until a broker that its parent forgot is in the tree again."""
        tree = self.home(child)
        state = self.state(tree, child)
        self.state(tree, state.parent[state.current]).forget_child(child)
        return self._time_until(lambda: not self.problems(tree), seconds_max)

    def _time_until(self, is_so: Any, seconds_max: float) -> float | None:
        start = self.underlay.now
        while self.underlay.now < start + seconds_max:
            self.run(self.settings.delay_near / 2)
            if is_so():
                return self.underlay.now - start
        return None
