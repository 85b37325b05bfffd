"""Subscriptions and advertisements over time: from when to when, and settled since when.

A *declaration* is one of either: a client said at some time that it wants (or publishes) what a
filter matches, and perhaps later that it does not any more. Saying it again changes nothing.
"""

from __future__ import annotations

from typing import Final

from sapwood.errors import TraceRowError
from sapwood.trace.judge import rules
from sapwood.trace.judge.filterbook import FilterBook
from sapwood.trace.schema import (
    ADVERTISED,
    SETTLED,
    SUBSCRIBED,
    UNADVERTISED,
    UNSUBSCRIBED,
    Row,
)

DECLARATION_KINDS: Final = (SUBSCRIBED, UNSUBSCRIBED, SETTLED, ADVERTISED, UNADVERTISED)
"""The kinds of rows that say something about a declaration."""


class Declaration:
    """One client's subscription or advertisement, from its row to the row that ended it."""

    __slots__ = ("client", "ended", "number", "seen", "settled", "started")

    def __init__(self, client: str, number: int, started: Row) -> None:
        self.client = client
        self.number = number
        self.started = started
        self.ended: Row | None = None
        self.settled: float | None = None
        """When a ``settled`` row said so."""

        self.seen = [started.at]
        """When a row showed that the declaration stood, in order of time."""

    def settled_at(self, settle: float) -> float:
        """When it was in effect everywhere."""
        return rules.settled_at(self.started.at, self.settled, settle)

    def validity(self, settle: float) -> rules.Validity:
        """Its times, as the definitions of correctness take them."""
        ended = rules.NEVER if self.ended is None else self.ended.at
        settled = self.settled_at(settle)
        return rules.Validity(self.number, self.started.at, settled, ended, tuple(self.seen))


class Declarations:
    """All declarations of one sort, built from rows in the order of time."""

    def __init__(self) -> None:
        self.all: list[Declaration] = []
        self._open: dict[tuple[str, int], Declaration] = {}
        self._of_client: dict[str, dict[int, list[Declaration]]] = {}

    def of(self, client: str) -> dict[int, list[Declaration]]:
        """A client's declarations, by the number of their filter."""
        return self._of_client.get(client, {})

    def start(self, client: str, number: int, row: Row) -> None:
        """A declaration is made, or repeated."""
        standing = self._open.get((client, number))
        if standing is not None:
            standing.seen.append(row.at)
            return
        declaration = Declaration(client, number, row)
        self.all.append(declaration)
        self._open[client, number] = declaration
        self._of_client.setdefault(client, {}).setdefault(number, []).append(declaration)

    def settle(self, client: str, number: int, row: Row) -> None:
        """A declaration is in effect everywhere; without such a declaration, nothing."""
        declaration = self._open.get((client, number))
        if declaration is not None:
            declaration.seen.append(row.at)
            if declaration.settled is None:
                declaration.settled = row.at

    def end(self, client: str, number: int, row: Row) -> None:
        """A declaration is withdrawn; without such a declaration, nothing."""
        declaration = self._open.pop((client, number), None)
        if declaration is not None:
            declaration.ended = row


class DeclarationBook:
    """Subscriptions and advertisements of a run."""

    def __init__(self, filters: FilterBook) -> None:
        self._filters = filters
        self.subscriptions = Declarations()
        self.advertisements = Declarations()

    def apply(self, row: Row) -> None:
        """Take a row of one of `DECLARATION_KINDS`, in the order of time."""
        if row.client is None:
            raise TraceRowError(f"{row.describe()} has no client")
        client, number = row.client, self._filters.number(row)
        if row.kind == SUBSCRIBED:
            self.subscriptions.start(client, number, row)
        elif row.kind == UNSUBSCRIBED:
            self.subscriptions.end(client, number, row)
        elif row.kind == ADVERTISED:
            self.advertisements.start(client, number, row)
        elif row.kind == UNADVERTISED:
            self.advertisements.end(client, number, row)
        else:
            self._settle(client, number, row)

    def _settle(self, client: str, number: int, row: Row) -> None:
        """The `message` of a ``settled`` row names the kind of row that has settled.

        Without it, both a subscription and an advertisement may be meant.
        """
        if row.message in {None, SUBSCRIBED}:
            self.subscriptions.settle(client, number, row)
        if row.message in {None, ADVERTISED}:
            self.advertisements.settle(client, number, row)


def in_time(row: Row) -> tuple[float, str, int, int]:
    """The order in which rows of different brokers are taken to have happened."""
    return (row.at, row.broker, row.session, row.step)
