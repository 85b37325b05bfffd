"""What a broker of a coloured tree is given and what it keeps (thesis 4.5.3).

The configuration is taken to be in ROM: it is never corrupted. Everything else is in
`ColourState`, plain data, and a transient fault may turn it into anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from sapwood.errors import ParameterError
from sapwood.protocol.stabilize.published.colour_messages import COLORS, Change

FIRST_COLORS = ("new", "current", "both")
REQUESTS_MAX = 64
"""Changes that the root keeps for later; what comes beyond them is rejected."""


class ColourConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker of a coloured tree knows for ever."""

    id: str
    root_group: tuple[str, ...]
    """The root, and who takes its task over if it is lost, in this order."""
    recolor_period: float
    """Seconds between two recolour messages of the root (ξ)."""
    height: int
    """No tree is higher; the number of brokers will do (h)."""
    delay_min: float
    delay_max: float
    """Seconds a message takes between any two brokers (δmin, δmax)."""
    degree_max: int = 3
    """Children that a broker takes (b)."""
    is_hierarchical: bool = True
    """Whether subscriptions travel only towards the root, and every notification reaches it."""
    first_color: str = "new"
    """How a new subscription is coloured: `new` as printed; `both`, active earlier (4.5.5);
    `current`, the way that the thesis warns of. Refreshes are always coloured new."""
    slack: float = 0.001
    """Seconds by which a time-out is longer than what must not time out."""

    def __post_init__(self) -> None:
        if not self.root_group:
            raise ParameterError("is empty; name the root at least", "root_group")
        if self.first_color not in FIRST_COLORS:
            raise ParameterError(
                f"is {self.first_color!r}; wanted one of {', '.join(FIRST_COLORS)}", "first_color"
            )
        for name in ("recolor_period", "height", "degree_max", "slack"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ParameterError(f"is {value}; wanted a finite number above 0", name)
        if not 0 <= self.delay_min <= self.delay_max < math.inf:
            raise ParameterError(
                f"is {self.delay_max}; wanted a finite number, {self.delay_min} or more, "
                "which is delay_min and not below 0",
                "delay_max",
            )

    @property
    def rank(self) -> int | None:
        """The place in the root group, if there is one."""
        return self.root_group.index(self.id) if self.id in self.root_group else None

    @property
    def timeout(self) -> float:
        """How long a broker other than the root waits for a recolour message (Eq. 4.1)."""
        return self.recolor_period + self.height * (self.delay_max - self.delay_min) + self.slack

    @property
    def question_timeout(self) -> float:
        """How long a broker that looks for a place waits for an answer."""
        return 2 * self.delay_max + self.slack

    @property
    def pause(self) -> float:
        """How long a broker that found no place waits before it looks again.

        The print assumes that a parent is found within a recolour period (4.5.3, stabilization
        time): so several attempts must fit into one.
        """
        return max(self.recolor_period / 8, self.question_timeout)

    @property
    def hops_max(self) -> int:
        """The longest path in a tree: what has passed more links goes round in a cycle."""
        return 2 * self.height


class ColourState(msgspec.Struct, kw_only=True):
    """The variables of a broker, per colour where the thesis has them so."""

    old: int = 2
    current: int = 0
    new: int = 1
    children: list[set[str]] = msgspec.field(default_factory=lambda: [set() for _ in range(COLORS)])
    parent: list[str] = msgspec.field(default_factory=lambda: [""] * COLORS)
    flags: set[str] = msgspec.field(default_factory=set)
    """The children that have acknowledged the last recolour message."""
    tables: list[dict[str, dict[str, str]]] = msgspec.field(
        default_factory=lambda: [{} for _ in range(COLORS)]
    )
    """By colour, then by destination and id: the text of a filter."""
    timer_at: float = 0.0
    """When the broker runs into its time-out."""
    asked: str = ""
    """Whom this broker has asked for a place, if it looks for one."""
    requests: list[Change] = msgspec.field(default_factory=list)
    """At the root: the changes that the next recolour message takes along."""
    path: tuple[str, ...] = ()
    """Corrected: from the root to this broker, as the last recolour message said."""
    retry_at: float = 0.0
    """Corrected: when the question for a place is asked again."""
    attempt: int = 0
    """Corrected: which of the root group is asked."""
    reigns: bool = False
    """Root group: whether this broker acts as the root."""
    heard_at: float = 0.0
    """Root group: when a better member was heard last."""

    def rotate(self, color: int) -> None:
        """The new colour is current from now on, and another one is new (algorithms 9, 10)."""
        self.old, self.current, self.new = self.current, self.new, color % COLORS
        self.children[self.new] = set(self.children[self.current])
        self.parent[self.new] = self.parent[self.current]
        self.tables[self.new] = {}

    def forget_child(self, name: str) -> None:
        """Somebody is no child any more, in no colour."""
        for children in self.children:
            children.discard(name)
        self.flags.discard(name)

    def neighbours(self, color: int) -> Iterator[str]:
        """The parent and the children in a colour, in a fixed order."""
        parent = self.parent[color]
        if parent:
            yield parent
        yield from sorted(self.children[color] - {parent})
