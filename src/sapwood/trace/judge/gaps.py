"""Gaps: where rows are known to be missing, and what can then not be judged.

A ``trace_gap`` row says that rows of its broker may be missing between the row before it (by
session and step) and itself. Judging a pair by rows that may be missing would call the network to
account for what only its records have lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.trace.schema import Row

BEGINNING = float("-inf")


class Gaps:
    """The recorded gaps of a run, and which clients have been seen at which brokers."""

    def __init__(self) -> None:
        self._of_broker: dict[str, list[tuple[float, float]]] = {}
        self._brokers: dict[str, set[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._of_broker)

    def record(self, row: Row, before: float) -> None:
        """A ``trace_gap`` row, and the time of the row before it at that broker."""
        span = (min(before, row.at), row.at)
        self._of_broker.setdefault(row.broker, []).append(span)

    def seen(self, client: str, broker: str) -> None:
        """A broker has a row about a client of its own."""
        brokers = self._brokers.get(client)
        if brokers is None:
            self._brokers[client] = {broker}
        else:
            brokers.add(broker)

    def hide(self, client: str, since: float, until: float) -> bool:
        """Whether a row about a client, of a time in this span, may be missing.

        A client that no row speaks of may have been anywhere.
        """
        brokers: Iterable[str] = self._brokers.get(client) or self._of_broker
        return any(
            start <= until and end >= since
            for broker in brokers
            for start, end in self._of_broker.get(broker, ())
        )
