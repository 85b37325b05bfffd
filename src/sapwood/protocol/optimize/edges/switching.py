"""Switching an edge between flooding and telling, without loss, repetition or disorder.

Of the edge from i to j: that j begins to tell is decided by j, if nobody else it sends to is
flooded; that i begins to flood is decided by i, if it is itself sent everything by all others. Each
condition is on edges of the broker that decides, in states it has entered itself, so no two
decisions can meet badly: an edge that tells never has a flooding successor. Every notification
goes over an edge at most once in any state; i sends all that is wanted, or more, until it filters.

What a broker keeps of each edge is in `Neighbour`, and how edges have to be routed in
`Core.misrouted`: that everybody else has to send everything while some neighbour gets everything
is what mends states that only a fault, or a new link, can bring about.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.due import past
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.machine import Machine, MessageHandler
from sapwood.protocol.messages import EdgeRouting
from sapwood.protocol.neighbours import STEADY, STOPPING, TAKING, Neighbour
from sapwood.protocol.optimize.edges.messages import (
    NUMBER_MAX,
    Filtering,
    PleaseTell,
    Stop,
    Stopped,
    Tell,
)
from sapwood.routing.algorithms import ALGORITHMS, FLOODING

HELD_SECONDS = 60.0
"""For how long no edge floods by choice where a change of the tree needs edges that tell."""

COUNTS = ("told", "stopped", "contradicted", "unanswered")
"""Switches of edges to this broker to telling; of edges from it to flooding; how often the two ends
of an edge did not agree; and how often a switch was begun anew because no answer came in time, as
over a link that is slow."""


class Switching(Machine):
    """The part of one broker in the switches of its edges."""

    name = "edges"

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.counts: Counter[str] = Counter()
        self.held_until = -math.inf
        """Until when no edge from here is to flood by choice: a change of the tree is about to
        come."""

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """What the other ends of edges say about them."""
        return {
            EdgeRouting: self._edge_routing,
            Tell: self._tell,
            Filtering: self._filtering,
            Stop: self._stop,
            Stopped: self._stopped,
            PleaseTell: self._asked_to_tell,
        }

    # Deciding

    def flooding_refusal(self, name: str) -> str:
        """Why a neighbour cannot be flooded by choice now; empty if it can."""
        one = self.core.neighbours.get(name)
        if one is None or not one.in_tree or not one.has_edges:
            return f"{name} is no neighbour in the tree that knows switches"
        if one.is_flooded or one.outward_phase != STEADY:
            return f"{name} gets everything already"
        if one.is_withheld or not one.is_connected:
            return f"{name} cannot be told now"
        for other, two in self.core.neighbours.items():
            if other != name and two.in_tree and not two.floods:
                return f"{other} is told what to send, so what {name} wants has to be known"
        return ""

    def telling_refusal(self, name: str) -> str:
        """Why a neighbour cannot be told what to send here now; empty if it can."""
        one = self.core.neighbours.get(name)
        if one is None or not one.in_tree or not one.has_edges:
            return f"{name} is no neighbour in the tree that knows switches"
        if not one.floods:
            return f"{name} is told already"
        if one.is_withheld or not one.is_connected:
            return f"{name} cannot be told now"
        for other, two in self.core.neighbours.items():
            if other != name and two.in_tree and two.is_flooded:
                return f"{other} gets everything, so what it wants is not known"
        return ""

    def flood(self, name: str) -> list[Effect]:
        """Send a neighbour everything from now on, as this broker prefers to."""
        assert not self.flooding_refusal(name)
        self.counts["stopped"] += 1
        return self._ask_to_stop(name, self.core.neighbours[name].outward_number, is_chosen=True)

    def tell(self, name: str, how: str) -> list[Effect]:
        """Tell a neighbour from now on what to send here, or in another way than before.

        If somebody else is flooded it is told as soon as that has ended.
        """
        one = self.core.neighbours[name]
        one.how, one.is_stopped = how, False
        return self.core.tell_all()

    def _ask_to_stop(self, name: str, number: int, *, is_chosen: bool) -> list[Effect]:
        """Send a neighbour everything, forget what it wants, and have it stop telling that."""
        core, one = self.core, self.core.neighbours[name]
        one.outward_number = min(max(one.outward_number, number) + 1, NUMBER_MAX)
        one.outward_phase, one.unsettled_at = STOPPING, math.inf
        self._forget(name)
        effects: list[Effect] = [Send(name, Stop(one.outward_number, is_chosen))]
        return effects + core.route(name, FLOODING)

    def _forget(self, name: str) -> None:
        """Forget what a neighbour wants; what it advertises stays."""
        table = self.core.subscriptions
        for entry in table.of(name):
            self.core.remove(table, name, entry.id)

    # For a change of the tree

    def is_held(self, now: float) -> bool:
        """Whether edges are not to flood now; a time that cannot be is over."""
        return now < self.held_until <= now + HELD_SECONDS

    def ask_to_tell(self, path: tuple[str, ...], now: float) -> list[Effect]:
        """Have edges tell that a change on a path needs to: on it, and away from it.

        What is to be known on the path comes from the leaves: whoever cannot tell since others
        flood asks these first.
        """
        return self._make_tell(path, "", HELD_SECONDS, now)

    def _asked_to_tell(self, source: str, message: PleaseTell, now: float) -> list[Effect]:
        one = self.core.neighbours.get(source)
        if one is None or not 0 <= message.seconds <= HELD_SECONDS:
            return self.core.drops.count(Drop.MALFORMED, source)
        return self._make_tell(message.path, source, message.seconds, now)

    def _make_tell(
        self, path: tuple[str, ...], source: str, seconds: float, now: float
    ) -> list[Effect]:
        core = self.core
        if core.config.is_hierarchical:
            return []  # its edges follow the tree
        self.held_until = now + seconds
        effects: list[Effect] = []
        for name, one in core.neighbours.items():
            if name == source or (core.id in path and name in path):
                one.is_stopped = False
            is_asked = one.in_tree and one.is_flooded and one.outward_phase == STEADY
            if name != source and is_asked and one.has_edges and not one.is_withheld:
                effects.append(Send(name, PleaseTell(path, seconds)))
        return [*effects, *core.tell_all()]

    # As the end that sends

    def _edge_routing(self, source: str, message: EdgeRouting, now: float) -> list[Effect]:
        """A neighbour has to get everything from now on, or what it wants."""
        core, one = self.core, self.core.neighbours.get(source)
        if one is None or message.routing not in ALGORITHMS:
            return core.drops.count(Drop.MALFORMED, source)
        if not one.has_edges:
            return core.route(source, message.routing)
        floods = message.routing == FLOODING
        is_behind = message.number < one.outward_number
        if is_behind or (one.is_stopping and (message.number == one.outward_number or not floods)):
            return core.drops.count(Drop.OLD_SWITCH, source)
        was_flooded = one.is_flooded
        one.outward_number, one.outward_phase = message.number, STEADY
        effects = core.route(source, message.routing)
        if was_flooded and not floods:
            effects.append(Send(source, Filtering(message.number)))
        return effects

    def _tell(self, source: str, message: Tell, now: float) -> list[Effect]:
        """A neighbour begins to tell what it wants; until it has told all, it gets everything."""
        one = self.core.neighbours.get(source)
        if one is None or message.number <= one.outward_number:
            return self.core.drops.count(Drop.OLD_SWITCH, source)
        one.outward_number, one.outward_phase = message.number, TAKING
        self._forget(source)
        return self.core.route(source, FLOODING)

    def _stopped(self, source: str, message: Stopped, now: float) -> list[Effect]:
        """A neighbour knows that it gets everything: what it tells from now on holds."""
        one = self.core.neighbours.get(source)
        if one is None or not one.is_stopping or message.number != one.outward_number:
            return self.core.drops.count(Drop.OLD_SWITCH, source)
        one.outward_phase = STEADY
        return []

    def confirm(self, source: str, routing: str, number: int, now: float) -> list[Effect]:
        """A neighbour compares: it says how the edge to it is routed, and since which switch.

        If the two ends do not agree, or a switch is not complete two periods after the first
        comparison that found it so, all is sent, and both begin anew with a number that neither
        has used.
        """
        core, one = self.core, self.core.neighbours[source]
        if not one.has_edges:
            return core.route(source, routing)
        is_alike = (routing == FLOODING) == one.is_flooded and number == one.outward_number
        if one.outward_phase == STEADY and is_alike:
            one.unsettled_at = math.inf
            return core.route(source, routing)
        if one.outward_phase != STEADY:
            one.unsettled_at = past(one.unsettled_at, now)
            if now - one.unsettled_at <= 2 * core.config.stabilization.refresh_seconds:
                return []
        self.counts["contradicted" if one.outward_phase == STEADY else "unanswered"] += 1
        return self._ask_to_stop(source, number, is_chosen=False)

    # As the end that tells

    def _stop(self, source: str, message: Stop, now: float) -> list[Effect]:
        """A neighbour sends everything: it need not be told what is wanted, and has forgotten."""
        core, one = self.core, self.core.neighbours.get(source)
        if one is None or message.number < one.inward_number:
            return core.drops.count(Drop.OLD_SWITCH, source)
        one.inward_number, one.is_confirmed = message.number, False
        one.is_stopped = message.is_chosen
        one.sends = one.announced = FLOODING
        core.subscriptions.switch(source, FLOODING)
        core.subscriptions.retell(source, {})
        return [Send(source, Stopped(message.number)), *core.tell_all()]

    def _filtering(self, source: str, message: Filtering, now: float) -> list[Effect]:
        one = self.core.neighbours.get(source)
        if one is None or one.floods or message.number != one.inward_number:
            return self.core.drops.count(Drop.OLD_SWITCH, source)
        one.is_confirmed = True
        self.counts["told"] += 1
        return []

    def link_back(self, neighbour: str, now: float) -> list[Effect]:
        """What was under way to a neighbour comes only now, and so does its answer."""
        self.core.neighbours[neighbour].unsettled_at = math.inf
        return []

    # Looking

    def report(self) -> dict[str, Any]:
        """How every edge of this broker is routed."""
        return {
            **{name: self.counts[name] for name in COUNTS},
            "by_neighbour": {
                name: described(one) for name, one in self.core.neighbours.items() if one.in_tree
            },
        }

    def problems(self) -> Iterator[str]:
        """An edge that tells has no flooding successor, as far as this broker sees."""
        tree = {name: one for name, one in self.core.neighbours.items() if one.in_tree}
        flooded = [name for name, one in tree.items() if one.is_flooded]
        for name, one in tree.items():
            others = [other for other in flooded if other != name]
            if not one.floods and others and self.core.config.edges.is_auto:
                yield f"{name} is told what to send, and {others[0]} gets everything"
            if one.outward_phase != STEADY and not one.is_flooded:
                yield f"{name} is filtered in the midst of a switch ({one.outward_phase})"


def described(one: Neighbour) -> dict[str, Any]:
    """How the two edges of a link are routed."""
    return {
        "sends": one.sends,
        "sends_number": one.inward_number,
        "receives": one.receives,
        "receives_number": one.outward_number,
        "switching": one.outward_phase,
    }
