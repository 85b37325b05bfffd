"""Finding a violation when it happens, so that a simulation can stop right there.

What is lost, and what is out of causal order, shows only at the end
(`sapwood.trace.judge.checkers`). The rest can be seen at once by somebody who gets all rows in the
order in which they happened.
"""

from __future__ import annotations

from sapwood.errors import TraceRowError
from sapwood.trace.judge.causes import Key
from sapwood.trace.judge.checkers import key_checked
from sapwood.trace.judge.declarations import DECLARATION_KINDS, DeclarationBook
from sapwood.trace.judge.filterbook import FilterBook
from sapwood.trace.judge.verdict import (
    DUPLICATED,
    OUT_OF_ORDER_FIFO,
    UNEXPECTED,
    Violation,
    violation,
)
from sapwood.trace.schema import (
    DELIVERED,
    PUBLISHED,
    SETTLE_SECONDS_DEFAULT,
    Row,
    check_settle,
)


class Watch:
    """Takes the rows of one run as they happen; says at once what is duplicated or unexpected.

    Also what is out of FIFO order. Every violation it reports is one in the verdict at the end, if
    rows come in the order of time and of their clients, and none is missing. (Of two rows of the
    same time it believes the order in which they come, where the verdict gives the benefit of the
    doubt.)
    """

    def __init__(self, settle: float = SETTLE_SECONDS_DEFAULT) -> None:
        self._settle = check_settle(settle)
        self._filters = FilterBook()
        self._declarations = DeclarationBook(self._filters)
        self._published: dict[Key, Row] = {}
        self._delivered: dict[str, dict[Key, Row]] = {}
        self._highest: dict[tuple[str, str], Row] = {}

    def add(self, row: Row) -> Violation | None:
        """Take a row; the violation it shows, if any."""
        if row.kind == DELIVERED:
            return self._deliver(row)
        if row.kind == PUBLISHED:
            self._published.setdefault(key_checked(row), row)
        elif row.kind in DECLARATION_KINDS:
            self._declarations.apply(row)
        return None

    def _deliver(self, row: Row) -> Violation | None:
        key, client = key_checked(row), row.client
        if client is None:
            raise TraceRowError(f"{row.describe()} has no client")
        delivered = self._delivered.setdefault(client, {})
        first = delivered.setdefault(key, row)
        if first is not row:
            return violation(DUPLICATED, client, first, row)
        published = self._published.get(key)
        if published is None:
            return violation(UNEXPECTED, client, row)
        if not self._was_wanted(published, client, row.at):
            return violation(UNEXPECTED, client, published, row)
        return self._judge_order(row, client)

    def _was_wanted(self, published: Row, client: str, at: float) -> bool:
        if published.attributes is None:
            return True  # nobody can say
        matching = (
            declaration.validity(self._settle)
            for number, declarations in self._declarations.subscriptions.of(client).items()
            if self._filters.matches(number, published)
            for declaration in declarations
        )
        return any(
            each.was_in_force(at, self._settle) or each.obliges(published.at, self._settle)
            for each in matching
        )

    def _judge_order(self, row: Row, client: str) -> Violation | None:
        publisher, sequence = key_checked(row)
        later = self._highest.get((client, publisher))
        if later is not None and (later.sequence or 0) > sequence:
            return violation(OUT_OF_ORDER_FIFO, client, later, row)
        self._highest[client, publisher] = row
        return None
