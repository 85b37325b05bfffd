"""Routing tables per colour: what subscriptions and notifications do on a coloured tree.

Subscriptions are entered into the table of the colour they carry and go on over the topology of
that colour; so do notifications (thesis 4.5.3, integration of self-stabilizing routing). A table is
emptied when its colour becomes the new one, and filled again by the refreshes of clients: that is
the second chance of leases, done by the rotation of colours. Routing is simple: each subscription
travels by itself, under its own id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from sapwood.errors import FilterError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.stabilize.published.colour_messages import (
    COLORS,
    ColoredNotification,
    ColoredSubscribe,
    ColoredUnsubscribe,
    Deliver,
    Effect,
    Send,
)
from sapwood.protocol.stabilize.published.colour_parts import ColourConfig, ColourState

ParseFilter: TypeAlias = Callable[[str], Filter]

CLIENT = "@"
"""The first sign of a destination that is a client: no broker is called so."""


class ColouredRouting:
    """The routing layer of one broker, on the same state as the tree below it."""

    def __init__(self, config: ColourConfig, state: ColourState, parse: ParseFilter) -> None:
        self.config = config
        self.state = state
        self._parse = parse

    def subscribe(self, source: str, message: ColoredSubscribe) -> list[Effect]:
        """Enter a subscription and pass it on; a refresh is no different."""
        color = message.color % COLORS
        self.state.tables[color].setdefault(source, {})[message.id] = message.filter
        onward = ColoredSubscribe(color, message.id, message.filter, message.hops + 1)
        return self._pass_on(source, onward)

    def unsubscribe(self, source: str, message: ColoredUnsubscribe) -> list[Effect]:
        """Take a subscription out and pass that on, known here or not."""
        color = message.color % COLORS
        table = self.state.tables[color]
        if source in table:
            table[source].pop(message.id, None)
            if not table[source]:
                del table[source]
        return self._pass_on(source, ColoredUnsubscribe(color, message.id, message.hops + 1))

    def _pass_on(self, source: str, message: ColoredSubscribe | ColoredUnsubscribe) -> list[Effect]:
        """Send on what is wanted: to the parent, or to all neighbours of the colour."""
        if message.hops > self.config.hops_max:
            return []
        state = self.state
        if self.config.is_hierarchical:
            parent = state.parent[message.color]
            neighbours = iter([parent] if parent else [])
        else:
            neighbours = state.neighbours(message.color)
        return [Send(name, message) for name in neighbours if name != source]

    def route(self, source: str, message: ColoredNotification) -> list[Effect]:
        """Send a notification to those who want it, over the topology of its colour."""
        color = message.color % COLORS
        onward = ColoredNotification(
            color, message.publisher, message.sequence, message.attributes, message.hops + 1
        )
        wanted = self._wanting(color, message.attributes)
        effects: list[Effect] = [
            Deliver(name.removeprefix(CLIENT), message)
            for name in wanted
            if name.startswith(CLIENT) and name != source
        ]
        if onward.hops > self.config.hops_max:
            return effects
        parent = self.state.parent[color]
        for name in self.state.neighbours(color):
            goes_up = self.config.is_hierarchical and name == parent
            if name != source and (goes_up or name in wanted):
                effects.append(Send(name, onward))
        return effects

    def _wanting(self, color: int, attributes: dict[str, Value]) -> list[str]:
        """The destinations with an entry that matches."""
        return [
            destination
            for destination, entries in sorted(self.state.tables[color].items())
            if any(self._matches(text, attributes) for text in entries.values())
        ]

    def _matches(self, text: str, attributes: dict[str, Value]) -> bool:
        """Whether a filter matches; an entry that was spoilt matches nothing."""
        try:
            return self._parse(text).matches(attributes)
        except FilterError:
            return False

    def entries(self, color: int) -> Iterator[tuple[str, str, str]]:
        """Destination, id and filter of each entry in a colour."""
        for destination, entries in self.state.tables[color].items():
            for entry_id, text in entries.items():
                yield destination, entry_id, text
