"""What a change of the tree is measured on, and what it came to: plain values.

A setting is made once and given to every method, so that all are measured on the same network with
the same clients, publications and delays. Another method only has to be a function from a setting
to an outcome.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from sapwood.filters.values import Value
from sapwood.protocol.reconfigure.published.changes import Change
from sapwood.protocol.tree import Topology
from sapwood.sim.topology.delays import DelayModel
from sapwood.trace.judge.verdict import Verdict


class Publication(msgspec.Struct, frozen=True):
    """A client publishes something."""

    at: float
    client: str
    attributes: dict[str, Value]


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A network with clients, and a change of it."""

    tree: Topology
    delays: DelayModel
    clients: dict[str, str]
    """By client: its broker."""
    subscriptions: tuple[tuple[str, str], ...]
    """Client and filter."""
    publications: tuple[Publication, ...]
    """In the order of time."""
    changes: tuple[Change, ...]
    """All begin at the same time."""
    change_at: float
    until: float
    settle: float = 5.0
    """Seconds after which a subscription is in effect at the latest, and a delivery late."""
    seed: int = 0
    ring_seconds: float = 1.0
    """The longest a message takes once round the ring: the unit of time-outs."""
    answer_share: float = 0.0
    """How often a client publishes at once when it gets something: causal order shows only then."""
    detour: float = 1.0
    """How much slower a message past the links is than one between the same brokers over a link."""
    churn: tuple[tuple[float, str, str, bool], ...] = ()
    """Time, client, filter, and whether it subscribes: what happens while the tree changes."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a change came to."""

    coordination: dict[str, int]
    """Messages by kind, without (un)subscriptions and notifications."""
    subscriptions: int
    """(Un)subscriptions, by link passed, from when the change begins."""
    subscriptions_off_ring: int
    """Those of them that went where nobody takes part."""
    detours: int
    """Links that messages past the links would have had to pass beyond the one they count for."""
    notifications: int
    """Links that notifications passed from when the change begins."""
    holds: tuple[float, ...]
    """Seconds that each notification waited which did."""
    stuck: tuple[str, ...]
    """Brokers that still take part at the end."""
    problems: tuple[str, ...]
    """What is wrong at the end with links and tables."""
    entries: int = 0
    """Entries of tables that the messages which coordinate carried."""
    verdict: Verdict
    """What the checkers say of the deliveries."""

    @property
    def messages(self) -> int:
        """All messages but notifications, those past the links counted once."""
        return sum(self.coordination.values()) + self.subscriptions

    @property
    def hold_max(self) -> float:
        """The longest a notification waited, in seconds."""
        return max(self.holds, default=0.0)

    @property
    def is_right(self) -> bool:
        """Whether the change is done, and nothing was lost, repeated or out of order."""
        return not self.stuck and not self.problems and self.verdict.is_correct


class Method(Protocol):
    """A way to change the tree: a published one, or another to be put beside them."""

    @property
    def promises(self) -> tuple[str, ...]:
        """The violations (`sapwood.trace.judge.verdict`) that it must not show."""

    @property
    def ring_max(self) -> int | None:
        """The longest ring it can change; None: any."""

    def __call__(self, setting: Setting) -> Outcome:
        """Make the changes of a setting, and say what became of everything."""
