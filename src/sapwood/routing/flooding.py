"""Flooding: notifications go everywhere, so nobody is told of any filter (Jaeger 2007, 3.3.2)."""

from __future__ import annotations

from sapwood.routing.strategy import Entry, Strategy


class Flooding(Strategy):
    """Owes nothing: the neighbour forwards every notification."""

    def add(self, entry: Entry) -> None:
        """Nothing to tell."""

    def remove(self, entry: Entry) -> None:
        """Nothing to tell."""
