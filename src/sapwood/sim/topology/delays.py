"""How long a message takes over a link: constant, uniform, from an underlay, with jitter.

A model is asked once for each link (`link`), and the link's delay then for every message
(`sample`). That messages on one link do not overtake each other is the network's to see to, not
the model's. All delays are seconds and include what the receiving broker needs to process a
message, as in the papers (thesis 3.3.3: 25 ms; 3.5: 1 to 251 ms; 4.4.3: from the underlay, at
most 100 ms). Every model is bounded: leases and timers are computed from `delay_max`.
"""

from __future__ import annotations

from random import Random
from typing import Protocol

import msgspec

from sapwood.protocol.tree import Topology
from sapwood.sim.parameters import check_at_least, check_order
from sapwood.sim.topology.underlay import Overlay


class LinkDelay(Protocol):
    """The delay of one link."""

    @property
    def delay_min(self) -> float:
        """No message takes less."""

    @property
    def delay_max(self) -> float:
        """No message takes longer."""

    def sample(self, random: Random) -> float:
        """The delay of the next message."""


class DelayModel(Protocol):
    """The delays of all links there are or may come to be."""

    def link(self, left: str, right: str) -> LinkDelay:
        """The delay of the link between two brokers, in either direction."""


class ConstantDelay(msgspec.Struct, frozen=True, tag="constant", forbid_unknown_fields=True):
    """Every message on every link takes the same time."""

    delay: float = 0.025
    """Seconds."""

    def __post_init__(self) -> None:
        check_at_least("delay", self.delay, 0)

    @property
    def delay_min(self) -> float:
        """The delay."""
        return self.delay

    @property
    def delay_max(self) -> float:
        """The delay."""
        return self.delay

    def link(self, left: str, right: str) -> ConstantDelay:
        """The same for all links."""
        return self

    def sample(self, random: Random) -> float:
        """The delay; draws no random number."""
        return self.delay


class UniformDelay(msgspec.Struct, frozen=True, tag="uniform", forbid_unknown_fields=True):
    """Each message takes a time of its own, all between two bounds equally likely."""

    delay_min: float = 0.001
    """Seconds."""
    delay_max: float = 0.251
    """Seconds."""

    def __post_init__(self) -> None:
        check_at_least("delay_min", self.delay_min, 0)
        check_at_least("delay_max", self.delay_max, 0)
        check_order("delay_min", self.delay_min, "delay_max", self.delay_max)

    def link(self, left: str, right: str) -> UniformDelay:
        """The same for all links."""
        return self

    def sample(self, random: Random) -> float:
        """A draw between the bounds."""
        return _between(self.delay_min, self.delay_max, random)


class UnderlayDelay:
    """Each link takes as long as the shortest path below it, and the broker's processing."""

    def __init__(self, overlay: Overlay, processing_seconds: float = 0.00001) -> None:
        check_at_least("processing_seconds", processing_seconds, 0)
        self.overlay = overlay
        self.processing_seconds = processing_seconds

    def link(self, left: str, right: str) -> ConstantDelay:
        """The delay between these two brokers."""
        return ConstantDelay(self.overlay.delay(left, right) + self.processing_seconds)


class JitteredLink(msgspec.Struct, frozen=True):
    """A link's delay and a random part on top."""

    base: LinkDelay
    jitter: float

    @property
    def delay_min(self) -> float:
        """That of the base."""
        return self.base.delay_min

    @property
    def delay_max(self) -> float:
        """That of the base and all of the jitter."""
        return self.base.delay_max + self.jitter

    def sample(self, random: Random) -> float:
        """A draw from the base and one from the jitter."""
        return self.base.sample(random) + _between(0.0, self.jitter, random)


class JitteredDelay:
    """Another model, and up to `jitter` seconds more for each message."""

    def __init__(self, base: DelayModel, jitter: float) -> None:
        check_at_least("jitter", jitter, 0)
        self.base = base
        self.jitter = jitter

    def link(self, left: str, right: str) -> JitteredLink:
        """The delay of the base between these two brokers, jittered."""
        return JitteredLink(self.base.link(left, right), self.jitter)


def delay_bounds(model: DelayModel, topology: Topology) -> tuple[float, float]:
    """The least and the largest delay on the links of a tree; (0, 0) where it has none."""
    links = [model.link(left, right) for left, right in topology.links]
    return (
        min((link.delay_min for link in links), default=0.0),
        max((link.delay_max for link in links), default=0.0),
    )


def _between(lowest: float, highest: float, random: Random) -> float:
    """A draw that rounding cannot push above its bound."""
    return min(highest, lowest + (highest - lowest) * random.random())
