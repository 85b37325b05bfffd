"""What `sapwood bench network` finds, and what it is to reach."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

OWN = "Sapwood"
TRACED = "Sapwood, traced"
BEFORE = "Sapwood before"

RATE, PROCESSOR, P50, P99 = "messages_per_second", "processor_ns_per_message", "p50_us", "p99_us"


class Target(NamedTuple):
    """What the ratio of our figure to a peer's has to be."""

    bound: float
    is_least: bool = True

    def is_met(self, ratio: float) -> bool:
        """Whether a ratio is good enough."""
        return ratio >= self.bound if self.is_least else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.is_least else '≤'} {self.bound:,g}"

    @classmethod
    def of(cls, workload: str, peer: str) -> Target | None:
        """What is to be reached under a workload beside a peer; None if nothing is promised."""
        if peer == BEFORE:
            return _KEPT_LATENCY if workload == LATENCY else _KEPT
        return TARGETS.get((workload, peer))


LATENCY = "latency"
TRACING = "tracing"

_KEPT = Target(0.95)
_KEPT_LATENCY = Target(1.05, is_least=False)
"""Beside another release: no workload may become slower."""

TARGETS: dict[tuple[str, str], Target] = {
    ("W1", "mosquitto"): Target(12),
    ("W1u", "mosquitto"): Target(1.2),
    ("W2", "mosquitto"): Target(40),
    ("W3", "mosquitto"): Target(8),
    ("W3d", "mosquitto"): Target(4),
    (LATENCY, "mosquitto"): Target(1.2, is_least=False),
    ("W1", "NATS"): Target(0.8),
    ("W2", "NATS"): Target(1.5),
    ("W3", "NATS"): Target(0.8),
    ("W3d", "NATS"): Target(0.3),
    ("W4/2", "NATS"): Target(0.8),
    ("W4/3", "NATS"): Target(0.8),
    ("W5/1000", "RabbitMQ"): Target(100),
    ("W5/10000", "RabbitMQ"): Target(1000),
    ("W5/1000", "ActiveMQ"): Target(20),
    ("W5/10000", "ActiveMQ"): Target(20),
}
"""Ratios to reach, by workload and peer: of rates, and of the p50 for the latency."""

TRACED_SHARE_TARGET = 0.75
"""Share of the rate without a trace that is to be reached with one."""


class Outcome(NamedTuple):
    """What one workload gave."""

    name: str
    about: str
    figures: dict[str, dict[str, float]]
    """By peer: medians over the rounds."""
    rounds: dict[str, list[float]]
    """By peer: the figure of each round that is compared."""

    @property
    def compared(self) -> str:
        """The figure of which ratios are taken."""
        return P50 if self.name == LATENCY else RATE

    def ratio(self, peer: str) -> float | None:
        """Our figure divided by a peer's."""
        if OWN not in self.figures or peer not in self.figures:
            return None
        return self.figures[OWN][self.compared] / self.figures[peer][self.compared]

    def ratios(self) -> dict[str, float]:
        """Our figure divided by that of each peer."""
        found = {peer: self.ratio(peer) for peer in self.figures if peer != OWN}
        return {peer: ratio for peer, ratio in found.items() if ratio is not None}

    def processor_ratios(self) -> dict[str, float]:
        """How often as much we do with the same processor time; what else runs matters less."""
        own = self.figures.get(OWN, {}).get(PROCESSOR)
        return {
            peer: figures[PROCESSOR] / own
            for peer, figures in self.figures.items()
            if own and peer != OWN and PROCESSOR in figures
        }

    def for_machines(self) -> dict[str, Any]:
        """All of it, for JSON."""
        targets = {
            peer: str(target)
            for peer in self.figures
            if (target := Target.of(self.name, peer)) is not None
        }
        return {
            "about": self.about,
            "figures": self.figures,
            "rounds": self.rounds,
            "ratios": self.ratios(),
            "processor_ratios": self.processor_ratios(),
            "targets": targets,
        }


def medians(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    """The median of each figure over the rounds in which it was found."""
    names = dict.fromkeys(name for each in rounds for name in each)
    return {name: median(each[name] for each in rounds if name in each) for name in names}


def targets_met(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """How many of the targets that could be judged are met, and how many those are."""
    judged = [
        target.is_met(ratio)
        for outcome in outcomes
        for peer, ratio in outcome.ratios().items()
        if (target := Target.of(outcome.name, peer)) is not None
    ]
    return sum(judged), len(judged)
