"""What a case of the swarm is: a network, its routing, and a plan of all that its clients will do.

A plan is complete before anything runs. So the same case can be run under several algorithms, and
what has to be delivered follows from the plan, without asking any broker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.tree import Link, Topology
from sapwood.routing.algorithms import ALGORITHMS, FLOODING, Edge, hierarchical, peer_to_peer
from sapwood.sim.topology.delays import ConstantDelay, UniformDelay

PHASE_SECONDS = 1000.0
"""From the start of one phase to the next: long enough to be quiet whatever the delays."""

TELLING = tuple(name for name in ALGORITHMS if name != FLOODING)
"""The algorithms that tell neighbours something."""


class Do(StrEnum):
    """What a step of a plan does."""

    CONNECT = "connect"
    DISCONNECT = "disconnect"
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    ADVERTISE = "advertise"
    UNADVERTISE = "unadvertise"
    PUBLISH = "publish"
    CUT = "cut"
    JOIN = "join"


class Step(msgspec.Struct, frozen=True):
    """One thing that happens at one time."""

    at: float
    do: Do
    client: str = ""
    """The client's session; empty for links."""
    name: str = ""
    """The broker to connect to, or the name of the (un)subscription or (un)advertisement."""
    filter: str = ""
    attributes: Mapping[str, Value] = {}
    expires_at: float = 0.0
    link: Link = ("", "")
    settle: bool = False


class Variant(StrEnum):
    """How the edges of a case are routed."""

    PEER_TO_PEER = "peer-to-peer"
    HIERARCHICAL = "hierarchical"
    MIXED = "mixed"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A network and a plan."""

    seed: int
    topology: Topology
    delay: ConstantDelay | UniformDelay
    variant: Variant
    root: str
    mix: Mapping[Edge, str]
    """The routing of every edge, where it is mixed."""
    advertisements_required: bool
    advertisement_algorithm: str
    settle: float
    """Seconds after which any change is in effect everywhere."""
    phases: tuple[tuple[Step, ...], ...]
    """In the last one nothing changes any more: clients only publish."""
    links_ever: tuple[Link, ...]

    @property
    def steps(self) -> Iterator[Step]:
        """All steps in the order of time."""
        return (step for phase in self.phases for step in phase)

    @property
    def is_cut(self) -> bool:
        """Whether links come and go."""
        return any(step.do in (Do.CUT, Do.JOIN) for step in self.steps)

    @property
    def replaces(self) -> bool:
        """Whether a client subscribes to something else under a name that it uses already."""
        names: dict[tuple[str, str], str] = {}
        for step in self.steps:
            if step.do is Do.SUBSCRIBE:
                if names.setdefault((step.client, step.name), step.filter) != step.filter:
                    return True
            elif step.do is Do.UNSUBSCRIBE:
                names.pop((step.client, step.name), None)
        return False

    @property
    def has_one_attribute(self) -> bool:
        """Whether all subscriptions are about one and the same attribute."""
        texts = {step.filter for step in self.steps if step.do is Do.SUBSCRIBE}
        boxes = [box for text in texts for box in Filter(text).boxes]
        return len({name for box in boxes for name, _ in box}) == 1

    def algorithms(self) -> tuple[str, ...]:
        """Under which algorithms the case is run, beside flooding."""
        return ("mixed",) if self.variant is Variant.MIXED else TELLING

    def routing(self, algorithm: str) -> dict[Edge, str]:
        """The routing of every edge there may ever be."""
        if algorithm == FLOODING or self.variant is Variant.PEER_TO_PEER:
            return peer_to_peer(self.links_ever, algorithm)
        if self.variant is Variant.HIERARCHICAL:
            return hierarchical(self.links_ever, algorithm, self.root)
        return dict(self.mix)

    def describe(self) -> str:
        """One line about the case."""
        return (
            f"{len(self.topology.brokers)} brokers, {self.variant}, "
            f"advertisements {'required' if self.advertisements_required else 'off'}, "
            f"{sum(1 for _ in self.steps)} steps, {'links change' if self.is_cut else 'fixed tree'}"
        )


def components(brokers: tuple[str, ...], links: list[Link]) -> dict[str, int]:
    """Which part of a network that may have fallen apart each broker is in."""
    part = {broker: number for number, broker in enumerate(brokers)}
    for left, right in links:
        old, new = part[right], part[left]
        part = {broker: new if number == old else number for broker, number in part.items()}
    return part
