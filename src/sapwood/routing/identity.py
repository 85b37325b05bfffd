"""Identity-based routing: a filter travels once, however many want it (Jaeger 2007, 3.3.2)."""

from __future__ import annotations

from sapwood.filters.filter import Filter
from sapwood.routing.strategy import FilterStrategy


class Identity(FilterStrategy):
    """Owes every distinct filter."""

    def _appear(self, filter: Filter) -> None:
        self._owe(filter.id, filter)

    def _vanish(self, filter: Filter) -> None:
        self._release(filter.id)
