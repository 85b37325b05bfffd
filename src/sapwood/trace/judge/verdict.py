"""What the checkers say: counts, and the violations behind them."""

from __future__ import annotations

from typing import Final

import msgspec

from sapwood.trace.schema import Row

LOST: Final = "lost"
DUPLICATED: Final = "duplicated"
UNEXPECTED: Final = "unexpected"
OUT_OF_ORDER_FIFO: Final = "out_of_order_fifo"
OUT_OF_ORDER_CAUSAL: Final = "out_of_order_causal"
EARLY: Final = "early"
UNJUDGED: Final = "unjudged"

VIOLATIONS: Final = (LOST, DUPLICATED, UNEXPECTED, OUT_OF_ORDER_FIFO, OUT_OF_ORDER_CAUSAL)
"""The counts that must be zero, each also the kind of its violations."""


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One (notification, client) pair that breaks a definition."""

    kind: str
    run: str
    notification: str
    """Its id, as ``publisher:sequence``."""

    client: str
    rows: tuple[Row, ...]
    """The rows that show it, the decisive one last."""

    def __str__(self) -> str:
        last = self.rows[-1]
        return f"{self.kind}: {self.notification} at {self.client}, {last.describe()} at {last.at}"


class Verdict(msgspec.Struct, kw_only=True):
    """How a trace measures up to the definitions of correctness.

    The counts are of (notification, client) pairs, each run by itself, added up; `delivered` is
    `expected` - `lost` + `early` + `unexpected` + `duplicated`.
    """

    published: int = 0
    expected: int = 0
    delivered: int = 0
    lost: int = 0
    duplicated: int = 0
    early: int = 0
    unexpected: int = 0
    out_of_order_fifo: int = 0
    out_of_order_causal: int = 0
    unjudged: int = 0
    violations: list[Violation] = []
    """Of each kind and run the first few; the counts are of all."""

    @property
    def is_correct(self) -> bool:
        """Whether nothing is violated."""
        return not any(getattr(self, kind) for kind in VIOLATIONS)

    def counts(self) -> dict[str, int]:
        """The counts by name, in the order of the definitions."""
        named = msgspec.structs.asdict(self)
        del named["violations"]
        return named


class Findings:
    """A verdict in the making: counts everything, keeps the first violations of each kind."""

    def __init__(self, verdict: Verdict, violations_max: int) -> None:
        self.verdict = verdict
        self._violations_max = violations_max
        self._kept: list[Violation] = []

    def violation(self, kind: str, client: str, *rows: Row) -> None:
        """Count a violation, shown by these rows; the last is about the notification."""
        count = getattr(self.verdict, kind) + 1
        setattr(self.verdict, kind, count)
        if count <= self._violations_max:
            self._kept.append(violation(kind, client, *rows))

    def finish(self) -> Verdict:
        """The verdict, its violations in the order of time."""
        self._kept.sort(key=lambda found: (found.rows[-1].at, VIOLATIONS.index(found.kind)))
        self.verdict.violations = self._kept
        return self.verdict


def violation(kind: str, client: str, *rows: Row) -> Violation:
    """A violation shown by these rows; the last is about the notification."""
    last = rows[-1]
    return Violation(
        kind=kind, run=last.run, notification=last.notification or "", client=client, rows=rows
    )
