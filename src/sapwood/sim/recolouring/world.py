"""Coloured trees with clients on an underlay: built, driven and watched."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import Any

from sapwood.filters.filter import Filter
from sapwood.protocol.stabilize.published.colour_messages import (
    Change,
    ChangeRequested,
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    Deliver,
    Received,
    Send,
    Tick,
)
from sapwood.protocol.stabilize.published.colour_parts import ColourConfig, ColourState
from sapwood.protocol.stabilize.published.ordered_colours import CausalColours, FifoColours
from sapwood.protocol.stabilize.published.reconfiguration_as_fault import ReconfigurationAsFault
from sapwood.protocol.stabilize.published.three_colours import ThreeColours
from sapwood.protocol.stabilize.published.three_colours_printed import PrintedColours
from sapwood.sim.recolouring.judge import NotificationJudge, tree_problems
from sapwood.sim.recolouring.placing import place
from sapwood.sim.recolouring.settings import RecolouringSettings
from sapwood.sim.recolouring.underlay import Delay, Underlay, Words
from sapwood.sim.topology.shapes import broker_names

WORDS = Words(tick=Tick(), received=Received, send=Send)
TYPES: Mapping[str, type[PrintedColours]] = {
    "corrected": ThreeColours,
    "printed": PrintedColours,
    "as fault": ReconfigurationAsFault,
    "fifo": FifoColours,
    "causal": CausalColours,
}
TOPICS = 4


class ColouredWorld:
    """One network: brokers ``B1`` (the root) to ``BN``, a client at each."""

    def __init__(
        self,
        settings: RecolouringSettings,
        parents: Mapping[str, str] | None = None,
        delay: Delay | None = None,
    ) -> None:
        self.settings = settings
        self.random = Random(f"recolouring {settings.seed}")
        count = len(parents) if parents else settings.brokers or self.random.randint(3, 12)
        self.names = broker_names(count)
        settings.check_periods(count)
        self.underlay = Underlay(
            WORDS, delay or self._drawn_delay, Random(self.random.getrandbits(64))
        )
        self.underlay.effects = self._effect
        self.judge = NotificationJudge()
        self.wanted: dict[str, tuple[str, str, float]] = {}
        """By subscription: the client's broker, the filter, and since when."""
        self._sequences: dict[str, int] = {}
        self._parse = lru_cache(1024)(Filter)
        self._build(parents or self._drawn_tree())

    # Building

    def _drawn_delay(self, source: str, target: str, random: Random) -> float:
        return random.uniform(self.settings.delay_min, self.settings.delay_max)

    def _drawn_tree(self) -> dict[str, str]:
        """A random tree in which nobody has more children than a broker takes."""
        parents = {self.names[0]: ""}
        for index, name in enumerate(self.names[1:], start=1):
            taken = list(parents.values())
            free = [
                one for one in self.names[:index] if taken.count(one) < self.settings.degree_max
            ]
            parents[name] = self.random.choice(free)
        return parents

    def _build(self, parents: Mapping[str, str]) -> None:
        for name in self.names:
            machine = TYPES[self.settings.variant](
                self.config(name), Random(self.random.getrandbits(64)), self._parse
            )
            place(machine.state, name, parents)
            machine.start(0.0)
            self.underlay.add(name, machine)

    def config(self, name: str) -> ColourConfig:
        """What a broker is told for ever."""
        settings = self.settings
        return ColourConfig(
            id=name,
            root_group=self.names[: settings.root_group],
            recolor_period=settings.recolor_period,
            height=settings.height(len(self.names)),
            delay_min=settings.delay_min,
            delay_max=settings.delay_max,
            degree_max=settings.degree_max,
            is_hierarchical=settings.is_hierarchical,
            first_color=settings.first_color,
        )

    # Looking

    @property
    def now(self) -> float:
        """The virtual time."""
        return self.underlay.now

    def machine(self, name: str) -> PrintedColours:
        """The machine of a broker."""
        machine = self.underlay.machines[name]
        assert isinstance(machine, PrintedColours)
        return machine

    def state(self, name: str) -> ColourState:
        """The variables of a broker."""
        return self.machine(name).state

    def states(self) -> dict[str, ColourState]:
        """The variables of all brokers that are not lost."""
        return {name: self.state(name) for name in self.underlay.alive}

    @property
    def root(self) -> str:
        """The best broker that acts as root; the first of the group if none does."""
        group = self.names[: self.settings.root_group]
        acting = [n for n in group if n in self.underlay.alive and self.machine(n).is_root]
        return (acting or [n for n in group if n in self.underlay.alive] or list(group))[0]

    def problems(self) -> list[str]:
        """What is wrong with the tree."""
        states = self.states()
        if self.root not in states:
            return ["there is no root"]
        rivals = [name for name in states if self.machine(name).is_root and name != self.root]
        found = [f"{name} acts as root beside {self.root}" for name in rivals]
        return [*found, *tree_problems(states, self.root)]

    def parents(self) -> dict[str, str]:
        """The tree that is current at the root, by child."""
        color = self.state(self.root).current
        return {
            child: name
            for name, state in self.states().items()
            for child in sorted(state.children[color])
        }

    def request(self, child: str, new_parent: str) -> Change:
        """Ask for a broker to be moved: the root is told, or where it is a fault, everybody."""
        state = self.state(child)
        change = Change(child, state.parent[state.current], new_parent)
        everybody = [child, change.old_parent, new_parent]
        told = everybody if self.settings.variant == "as fault" else [self.root]
        for name in told:
            if name:
                self.underlay.handle(name, ChangeRequested(change))
        return change

    # Clients

    def subscribe(self, broker: str, topic: int, name: str = "") -> str:
        """The client of a broker subscribes, and refreshes for ever; the subscription's id."""
        subscription = name or f"{broker}/{topic}"
        text = f"topic = {topic}"
        self.wanted[subscription] = (broker, text, self.now)
        self.underlay.handle(broker, ClientSubscribed(broker, subscription, text))
        phase = self.random.uniform(0, self.settings.refresh_period)
        self.underlay.kernel.at(self.now + phase, self._refresh, subscription)
        return subscription

    def _refresh(self, subscription: str) -> None:
        if subscription not in self.wanted:
            return
        broker, text, _ = self.wanted[subscription]
        again = ClientSubscribed(broker, subscription, text, is_refresh=True)
        self.underlay.handle(broker, again)
        self.underlay.kernel.at(
            self.now + self.settings.refresh_period, self._refresh, subscription
        )

    def unsubscribe(self, subscription: str) -> None:
        """A client gives a subscription up."""
        broker, _, _ = self.wanted.pop(subscription)
        self.underlay.handle(broker, ClientUnsubscribed(broker, subscription))

    def publish(self, broker: str, topic: int) -> int:
        """The client of a broker publishes; the number of the notification."""
        if broker in self.underlay.lost:
            return 0
        sequence = self._sequences[broker] = self._sequences.get(broker, 0) + 1
        attributes: dict[str, Any] = {"topic": topic}
        expected = {
            one
            for one, text, _ in self.wanted.values()
            if one not in self.underlay.lost
            and one != broker
            and self._parse(text).matches(attributes)
        }
        self.judge.published(broker, sequence, self.now, expected)
        self.underlay.handle(broker, ClientPublished(broker, sequence, attributes))
        return sequence

    def publish_for_ever(self) -> None:
        """Somebody publishes something, again and again."""
        if self.settings.publish_period:
            self.publish(self.random.choice(self.names), self.random.randrange(TOPICS))
            following = self.now + self.settings.publish_period
            self.underlay.kernel.at(following, self.publish_for_ever)

    def _effect(self, name: str, effect: Any) -> None:
        if isinstance(effect, Deliver) and effect.client == name:
            self.judge.delivered(effect.client, effect.notification)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.underlay.kernel.run(self.now + seconds)
