"""The baseline: a change of the tree is a fault, from which the tables recover (thesis 4.5.1).

One topology, one table. A change takes effect at each broker as soon as it hears of it, and nobody
looks after the tables: what the clients refresh goes over the new links, what is not refreshed for
two lease periods is removed (second chance, thesis 3.3). So notifications are lost until the first
refresh has come the new way, and the system was not in a legitimate state meanwhile (figure 4.17).

It runs on the parts of the coloured trees with one colour only, which never changes. The lease
period stands where those have the recolour period: after it, tables are as good as new.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from sapwood.protocol.due import is_due
from sapwood.protocol.stabilize.published.colour_messages import (
    COLORS,
    ChangeRequested,
    ClientSubscribed,
    ColoredSubscribe,
    Effect,
    Message,
)
from sapwood.protocol.stabilize.published.colour_parts import ColourConfig
from sapwood.protocol.stabilize.published.coloured_routing import CLIENT, ParseFilter
from sapwood.protocol.stabilize.published.three_colours_printed import (
    MessageHandler,
    PrintedColours,
)

ONLY = 0
"""The one colour."""


class ReconfigurationAsFault(PrintedColours):
    """One broker whose tree is changed from outside, without coordination."""

    def __init__(self, config: ColourConfig, random: Random, parse: ParseFilter) -> None:
        super().__init__(config, random, parse)
        self.state.old = self.state.current = self.state.new = ONLY
        self.refreshed: set[tuple[str, str]] = set()
        """Destination and id of the entries that were refreshed in this lease period."""

    def _message_handlers(self) -> dict[type, MessageHandler]:
        """Only what carries subscriptions and notifications."""
        kept: Mapping[type, MessageHandler] = super()._message_handlers()
        handlers = {kind: kept[kind] for kind in kept if kind.__name__.startswith("Colored")}
        return {**handlers, ColoredSubscribe: self._subscribed}

    @property
    def _period(self) -> float:
        return self.config.recolor_period

    def _tick(self, now: float) -> list[Effect]:
        """At the end of a lease period, what was not refreshed in it has had its chance."""
        if not is_due(self.state.timer_at, now, self._period):
            return []
        self._reset_timer(now)
        table = self.state.tables[ONLY]
        for destination, entry_id, _ in list(self.routing.entries(ONLY)):
            if (destination, entry_id) not in self.refreshed:
                del table[destination][entry_id]
        for destination in [name for name, entries in table.items() if not entries]:
            del table[destination]
        self.refreshed.clear()
        return []

    def _subscribed(self, source: str, message: ColoredSubscribe, now: float) -> list[Effect]:
        self.refreshed.add((source, message.id))
        return self.routing.subscribe(source, message)

    def _client_subscribed(self, event: ClientSubscribed, now: float) -> list[Effect]:
        message = ColoredSubscribe(ONLY, event.id, event.filter)
        return self._subscribed(CLIENT + event.client, message, now)

    def _change_requested(self, event: ChangeRequested, now: float) -> list[Effect]:
        """Whoever hears of a change makes it, at once."""
        self._apply((event.change,))
        for color in range(COLORS):
            self.state.children[color] = set(self.state.children[ONLY])
            self.state.parent[color] = self.state.parent[ONLY]
        return []

    def is_linked(self, name: str, message: Message | Any) -> bool:
        """Whether somebody is a neighbour."""
        return name in set(self.state.neighbours(ONLY))
