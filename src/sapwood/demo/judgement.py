"""The verdict on what the brokers recorded: by the plain checkers, and by the audit on Spark.

Both go by the same definitions (docs/reference/traces.md) and know nothing of each other, so they
have to agree. Neither knows of faults. Between a fault that may lose something and its end,
notifications may be lost, or delivered where nobody wants them: these are counted apart, and not
hidden. Nothing may be repeated or out of order even then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import msgspec

from sapwood.errors import DemoError, SparkError
from sapwood.trace import check, read
from sapwood.trace.files.removal import remove
from sapwood.trace.judge.verdict import LOST, UNEXPECTED, VIOLATIONS, Verdict, Violation
from sapwood.trace.schema import (
    DELIVERED,
    PUBLISHED,
    SETTLE_SECONDS_DEFAULT,
    SUBSCRIBED,
    TRACE_GAP,
    UNSUBSCRIBED,
    Place,
)

EXCUSED: Final = (LOST, UNEXPECTED)
"""What may be between a fault and its end."""

_VIOLATIONS_MAX: Final = 1_000_000
"""All violations are looked at."""


class Span(NamedTuple):
    """From a fault to its end, by the clock of the traces."""

    began_at: float
    ended_at: float

    def has(self, at: float) -> bool:
        """Whether what was published at a time may be lost.

        What was under way when the fault came counts, and what was published while routes were
        still settling after its end.
        """
        settle = SETTLE_SECONDS_DEFAULT
        return self.began_at - settle <= at <= self.ended_at + settle


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What the traces say, by one or both judges."""

    counts: dict[str, int]
    """Of the plain checkers, without what was amid faults."""
    amid_faults: tuple[dict[str, int], ...]
    """Lost and unexpected between each fault and its end; not among the counts."""
    all_counts: dict[str, int]
    """Of the plain checkers, as they are."""
    spark: dict[str, int] | None
    """Of the audit on Spark; None if that could not be had."""
    gaps: tuple[str, ...]
    """Brokers whose trace has a gap."""
    words: str
    """Who has judged, and whether they agree."""

    @property
    def is_correct(self) -> bool:
        """Whether nothing is violated, and the judges agree."""
        is_agreed = self.spark is None or self.spark == self.all_counts
        return is_agreed and not any(self.counts[kind] for kind in VIOLATIONS)


def judge(directory: Path, say: Callable[[str], None], faults: Sequence[Span] = ()) -> Judgement:
    """Judge traces twice: by the plain checkers and, where Spark can be had, on Spark."""
    began = time.monotonic()
    trace = read(directory)
    verdict = check(trace, violations_max=_VIOLATIONS_MAX)
    counts = verdict.counts()
    amid = _amid(verdict.violations, faults)
    judged = _without(counts, amid)
    gaps = tuple(sorted({row.broker for row in trace if row.kind == TRACE_GAP}))
    plain = f"Judged by the plain checkers in {time.monotonic() - began:.1f} s"
    say("auditing the traces on Spark")
    began = time.monotonic()
    try:
        spark = audit_on_spark(directory)
    except SparkError as problem:
        words = f"{plain}; not audited on Spark: {problem}."
        return Judgement(
            counts=judged, amid_faults=amid, all_counts=counts, spark=None, gaps=gaps, words=words
        )
    took = time.monotonic() - began
    words = f"{plain}, and again on Spark in {took:.1f} s: both say the same."
    if spark != counts:
        differing = ", ".join(
            f"{name} {counts[name]} and {spark[name]}"
            for name in counts
            if counts[name] != spark[name]
        )
        words = f"{plain}, and again on Spark in {took:.1f} s. They disagree: {differing}."
    return Judgement(
        counts=judged, amid_faults=amid, all_counts=counts, spark=spark, gaps=gaps, words=words
    )


def _amid(violations: Iterable[Violation], faults: Sequence[Span]) -> tuple[dict[str, int], ...]:
    """How much of what is wrong was published between each fault and its end."""
    found = tuple(dict.fromkeys(EXCUSED, 0) for _ in faults)
    for one in violations:
        row = next((row for row in one.rows if row.kind == PUBLISHED), one.rows[-1])
        amid = next((number for number, span in enumerate(faults) if span.has(row.at)), None)
        if one.kind in EXCUSED and amid is not None:
            found[amid][one.kind] += 1
    return found


def _without(counts: dict[str, int], amid: Sequence[dict[str, int]]) -> dict[str, int]:
    """Counts in which pairs amid faults count nowhere."""
    lost, unexpected = (sum(one[kind] for one in amid) for kind in EXCUSED)
    return {
        **counts,
        "expected": counts["expected"] - lost,
        "lost": counts["lost"] - lost,
        "delivered": counts["delivered"] - unexpected,
        "unexpected": counts["unexpected"] - unexpected,
    }


def audit_on_spark(directory: Path) -> dict[str, int]:
    """What the audit on Spark says; a SparkError if Spark or its Java is missing."""
    try:
        from sapwood.pipeline.auditing.report import audit_directory  # noqa: PLC0415 - Spark is optional
    except ImportError as problem:
        raise SparkError(f"{problem.name} is missing: pip install 'sapwood[spark]'") from None
    report = audit_directory(directory)
    return {name: getattr(report, name) for name in Verdict().counts()}


def lose(directory: Path, count: int, random: Random, faults: Sequence[Span] = ()) -> list[str]:
    """Remove rows of deliveries from a trace, as if they had never happened; what was removed.

    Only such that the network owed are taken: long after their clients have subscribed and before
    they unsubscribe, and not near the end, amid a fault or at a broker whose trace has a gap.
    """
    owed = _owed_deliveries(directory, faults)
    if len(owed) < count:
        raise DemoError(
            f"{count} deliveries cannot be lost: there were {len(owed)} that count; "
            "lose fewer, or let it run longer with --seconds"
        )
    chosen = dict(random.sample(sorted(owed.items()), count))
    remove(directory, set(chosen))
    return sorted(chosen.values())


def _owed_deliveries(directory: Path, faults: Sequence[Span]) -> dict[Place, str]:
    rows = list(read(directory))
    end = max((row.at for row in rows), default=0.0) - SETTLE_SECONDS_DEFAULT
    damaged = {row.broker for row in rows if row.kind == TRACE_GAP}
    published = {row.notification: row.at for row in rows if row.kind == PUBLISHED}
    since: dict[str | None, float] = {}
    until: dict[str | None, float] = {}
    for row in rows:
        if row.kind == SUBSCRIBED:
            since[row.client] = max(row.at, since.get(row.client, row.at))
        elif row.kind == UNSUBSCRIBED:
            until[row.client] = min(end, row.at - SETTLE_SECONDS_DEFAULT)
    return {
        row.place: f"{row.notification} at {row.client}"
        for row in rows
        if row.kind == DELIVERED
        and row.broker not in damaged
        and row.notification in published
        and since[row.client] + SETTLE_SECONDS_DEFAULT < published[row.notification]
        and published[row.notification] < until.get(row.client, end)
        and not any(span.has(published[row.notification]) for span in faults)
    }
