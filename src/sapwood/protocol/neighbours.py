"""The neighbours of a broker: the one place that knows who they are and how each edge is routed.

Whatever else is kept by neighbour (ledgers, who gets which notification, whose echo is missing) is
derived from this, and `invariants` compares it.
"""

from __future__ import annotations

import msgspec

from sapwood.routing.algorithms import FLOODING

RESTART = "restart"
"""The feature of a neighbour that says when it has told its whole table."""

REFRESH = "refresh"
"""The feature of a neighbour or client that lets its tables be compared, and tells them again."""

MOVES = "moves"
"""The feature of a client whose stream may go on at another broker, and of brokers that hand
clients over to each other."""

EDGES = "edges"
"""The feature of a neighbour that numbers the switches of an edge, and may choose to flood."""

HOP_LEASE = "hop-lease"
"""The feature of a neighbour that tells every entry again, and removes what is not told again."""


STEADY, TAKING, STOPPING = "", "taking", "stopping"
"""Where the edge to a neighbour is in a switch: nowhere; the neighbour tells what it wants, and
still gets everything; it gets everything, and may not know it yet, so what it tells is ignored."""

PHASES = (STEADY, TAKING, STOPPING)


def refresh_features(scheme: str) -> tuple[str, ...]:
    """What a neighbour must be able to do for a scheme of refreshing tables."""
    if scheme == "off":
        return ()
    return (HOP_LEASE,) if scheme == "hop-lease" else (REFRESH,)


class Neighbour(msgspec.Struct):
    """A broker at the other end of a link."""

    in_tree: bool
    sends: str
    """How the neighbour learns what to send here."""
    receives: str
    """How this broker learns what to send there."""
    session: int = 0
    addresses: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    refresh_seconds: float = 0.0
    """How often it compares tables, as it said; zero if it did not."""
    delay: float = 0.0
    """The longest time that a message to it was seen to take, in seconds."""
    announced: str = ""
    """The routing of `sends` as the neighbour knows it; empty if that is not certain."""
    is_away: bool = False
    """Whether it cannot be reached for the time being, or its link is not to carry anything."""
    is_connected: bool = True
    """Whether there is a connection."""
    is_busy: bool = False
    """Whether frames have come from it between the last two ticks."""
    is_congested: bool = False
    """Whether it did not keep up with what is sent to it, at the last tick."""
    is_frozen: bool = False
    """Whether it is told nothing for the time being, though it can be reached."""
    how: str = ""
    """By which algorithm it is told what is wanted here, if it is; empty: as set for all."""
    is_stopped: bool = False
    """Whether the neighbour has chosen to send everything here."""
    inward_number: int = 0
    """Of the last switch of the edge from the neighbour, of `sends`."""
    is_confirmed: bool = False
    """Whether the neighbour has said that it filters by what it was told since that switch."""
    outward_number: int = 0
    """Of the last switch of the edge to the neighbour, of `receives`."""
    outward_phase: str = STEADY
    """Where that switch is."""
    unsettled_at: float = float("inf")
    """When the first comparison came from it while that switch was not complete, if one did."""

    @property
    def floods(self) -> bool:
        """Whether the neighbour sends everything here, so that it need not be told anything."""
        return self.sends == FLOODING

    @property
    def has_announced_flooding(self) -> bool:
        """Whether the neighbour may still believe that it has to send everything here."""
        return self.announced in ("", FLOODING)

    @property
    def may_flood(self) -> bool:
        """Whether something may have come that the neighbour was not told to send."""
        return self.floods or self.has_announced_flooding

    @property
    def is_flooded(self) -> bool:
        """Whether the neighbour gets everything."""
        return self.receives == FLOODING

    @property
    def is_stopping(self) -> bool:
        """Whether what the neighbour tells is ignored: it gets everything."""
        return self.outward_phase == STOPPING

    @property
    def has_edges(self) -> bool:
        """Whether the neighbour numbers the switches of edges."""
        return EDGES in self.features

    def direct(self, sends: str) -> None:
        """Let the neighbour learn in another way what to send here; a switch gets a number."""
        if (sends == FLOODING) != self.floods:
            self.inward_number += 1
            self.is_confirmed = False
        self.sends = sends

    def forget_switches(self, routing: str) -> None:
        """Let both edges be as they are at first: what they were chosen for is over."""
        self.sends = self.receives = routing
        self.announced, self.how, self.outward_phase = "", "", STEADY
        self.inward_number = self.outward_number = 0
        self.unsettled_at = float("inf")
        self.is_stopped = self.is_confirmed = False

    @property
    def is_withheld(self) -> bool:
        """Whether the neighbour is told nothing for the time being."""
        return self.is_away or self.is_frozen

    @property
    def is_held(self) -> bool:
        """Whether there is a connection, and no notification is to go over it or come from it."""
        return self.in_tree and self.is_away and self.is_connected


class Neighbours(dict[str, Neighbour]):
    """All neighbours by name, in the order in which their links came."""

    __slots__ = ()

    def tree(self) -> list[str]:
        """Those in the tree."""
        return [name for name, one in self.items() if one.in_tree]

    def away(self) -> list[str]:
        """Those in the tree that cannot be reached for the time being."""
        return [name for name, one in self.items() if one.in_tree and one.is_away]

    def withheld(self) -> list[str]:
        """Those in the tree that are told nothing for the time being."""
        return [name for name, one in self.items() if one.in_tree and one.is_withheld]

    def is_in_tree(self, name: str) -> bool:
        """Whether there is a link of the tree to a broker."""
        one = self.get(name)
        return one is not None and one.in_tree

    def is_restartable(self, name: str) -> bool:
        """Whether a neighbour says when it has told its whole table."""
        one = self.get(name)
        return one is not None and one.in_tree and RESTART in one.features
