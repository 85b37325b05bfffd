"""The verdict on what the brokers recorded: by the plain checkers, and by the audit on Spark.

Both go by the same definitions (docs/reference/traces.md) and know nothing of each other, so they
have to agree.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import msgspec

from sapwood.errors import DemoError, SparkError
from sapwood.trace import check, read
from sapwood.trace.files.removal import remove
from sapwood.trace.judge.verdict import VIOLATIONS, Verdict
from sapwood.trace.schema import DELIVERED, SETTLE_SECONDS_DEFAULT, SUBSCRIBED, TRACE_GAP, Place


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What the traces say, by one or both judges."""

    counts: dict[str, int]
    """Of the plain checkers."""
    spark: dict[str, int] | None
    """Of the audit on Spark; None if that could not be had."""
    gaps: tuple[str, ...]
    """Brokers whose trace has a gap."""
    words: str
    """Who has judged, and whether they agree."""

    @property
    def is_correct(self) -> bool:
        """Whether nothing is violated, and the judges agree."""
        is_agreed = self.spark is None or self.spark == self.counts
        return is_agreed and not any(self.counts[kind] for kind in VIOLATIONS)


def judge(directory: Path, say: Callable[[str], None]) -> Judgement:
    """Judge traces twice: by the plain checkers and, where Spark can be had, on Spark."""
    began = time.monotonic()
    trace = read(directory)
    counts = check(trace).counts()
    gaps = tuple(sorted({row.broker for row in trace if row.kind == TRACE_GAP}))
    plain = f"Judged by the plain checkers in {time.monotonic() - began:.1f} s"
    say("auditing the traces on Spark")
    began = time.monotonic()
    try:
        spark = audit_on_spark(directory)
    except SparkError as problem:
        words = f"{plain}; not audited on Spark: {problem}."
        return Judgement(counts=counts, spark=None, gaps=gaps, words=words)
    took = time.monotonic() - began
    words = f"{plain}, and again on Spark in {took:.1f} s: both say the same."
    if spark != counts:
        differing = ", ".join(
            f"{name} {counts[name]} and {spark[name]}"
            for name in counts
            if counts[name] != spark[name]
        )
        words = f"{plain}, and again on Spark in {took:.1f} s. They disagree: {differing}."
    return Judgement(counts=counts, spark=spark, gaps=gaps, words=words)


def audit_on_spark(directory: Path) -> dict[str, int]:
    """What the audit on Spark says; a SparkError if Spark or its Java is missing."""
    try:
        from sapwood.pipeline.auditing.report import audit_directory  # noqa: PLC0415 - Spark is optional
    except ImportError as problem:
        raise SparkError(f"{problem.name} is missing: pip install 'sapwood[spark]'") from None
    report = audit_directory(directory)
    return {name: getattr(report, name) for name in Verdict().counts()}


def lose(directory: Path, count: int, random: Random) -> list[str]:
    """Remove rows of deliveries from a trace, as if they had never happened; what was removed.

    Only such that the network owed are taken: long after their clients have subscribed, and not
    near the end or at a broker whose trace has a gap.
    """
    owed = _owed_deliveries(directory)
    if len(owed) < count:
        raise DemoError(
            f"{count} deliveries cannot be lost: there were {len(owed)} that count; "
            "lose fewer, or let it run longer with --seconds"
        )
    chosen = dict(random.sample(sorted(owed.items()), count))
    remove(directory, set(chosen))
    return sorted(chosen.values())


def _owed_deliveries(directory: Path) -> dict[Place, str]:
    rows = list(read(directory))
    end = max((row.at for row in rows), default=0.0) - SETTLE_SECONDS_DEFAULT
    damaged = {row.broker for row in rows if row.kind == TRACE_GAP}
    published = {row.notification: row.at for row in rows if row.kind == "published"}
    since: dict[str | None, float] = {}
    for row in rows:
        if row.kind == SUBSCRIBED:
            since[row.client] = max(row.at, since.get(row.client, row.at))
    return {
        row.place: f"{row.notification} at {row.client}"
        for row in rows
        if row.kind == DELIVERED
        and row.broker not in damaged
        and row.notification in published
        and since[row.client] + SETTLE_SECONDS_DEFAULT < published[row.notification] < end
    }
