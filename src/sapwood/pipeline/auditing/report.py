"""`audit_directory`: the whole audit of a directory, with a plain result.

What `sapwood audit` and `sapwood demo` call. Files are looked at before Spark is started, so that
bad input is an error at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sapwood.pipeline.damage import with_readable
from sapwood.pipeline.files import Listing, check_listing, list_traces
from sapwood.pipeline.spark.output import check_output, make_folder, write_tables
from sapwood.pipeline.spark.session import UNCOMPILED, await_workers, open_session
from sapwood.trace.judge.verdict import VIOLATIONS

if TYPE_CHECKING:
    from os import PathLike

    from pyspark.sql import SparkSession

    from sapwood.pipeline.auditing.audit import Audit

SHORT_ROWS_MAX: Final = 2_000_000
"""Up to so many rows, a session that starts quickly is worth more than one that computes so."""

UNCOMPILED_ROWS_MAX: Final = 100_000
"""Up to so many rows, queries are not worth compiling; with twice as many they are."""

LISTED_MAX: Final = 100
"""How many violations a report holds; the counts are of all."""


class AuditReport(msgspec.Struct, kw_only=True):
    """What an audit came to, all runs together."""

    directory: str
    runs: int
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
    wrong_runs: list[str] = []
    """Runs with a violation."""

    violations: list[dict[str, Any]] = []
    """The first ones: kind, run, notification, client, at, because, path."""

    latency: list[dict[str, Any]] = []
    """Per run: how many deliveries were timed, and quantiles in seconds."""

    traffic: list[dict[str, Any]] = []
    """Per link, direction and kind of message, over all runs: messages and bytes."""

    left_out: list[str] = []
    """Damaged files that were skipped because that was asked for, and why."""

    @property
    def is_correct(self) -> bool:
        """Whether nothing is violated."""
        return not any(getattr(self, kind) for kind in VIOLATIONS)

    def summary(self) -> dict[str, Any]:
        """Everything, for machines; the counts of the definitions first."""
        said = msgspec.structs.asdict(self)
        return {name: said[name] for name in (*_COUNTS, *(n for n in said if n not in _COUNTS))}


_COUNTS: Final = (
    "published", "expected", "delivered", "lost", "duplicated", "early", "unexpected",
    "out_of_order_fifo", "out_of_order_causal", "unjudged",
)  # fmt: skip


def audit_directory(
    directory: str | PathLike[str],
    settle: float | None = None,
    master: str | None = None,
    *,
    out: str | PathLike[str] | None = None,
    skip_damaged: bool = False,
    unfinished: bool = False,
    progress: Callable[[str], None] | None = None,
) -> AuditReport:
    """Judge all runs below a directory; leave the tables as Parquet in `out`, if given."""
    tell = progress or _nobody
    listing = list_traces(str(directory))
    left_out = check_listing(listing, skip_damaged=skip_damaged, unfinished=unfinished)
    if out is not None:
        check_output(str(out), str(directory), TABLES)
    tell(f"{len(listing.files)} files, {listing.rows:,} rows")
    spark = session_for(master, listing.rows)
    if out is not None:
        make_folder(str(out))
    from sapwood.pipeline.auditing.audit import audit  # noqa: PLC0415 - needs Spark
    from sapwood.pipeline.traces import read_listing  # noqa: PLC0415

    def judge(readable: Listing) -> AuditReport:
        found = audit(read_listing(readable, spark), settle)
        if out is not None:
            write_tables(str(out), {name: getattr(found, name) for name in TABLES})
        return _report(str(directory), found)

    report, unreadable = with_readable(listing, judge, skip_damaged=skip_damaged)
    report.left_out = left_out + unreadable
    return report


TABLES: Final = ("counts", "violations", "latency", "traffic")


def session_for(master: str | None, rows: int) -> SparkSession:
    """The session that is open already, or one that suits so many rows; with workers."""
    settings = UNCOMPILED if rows <= UNCOMPILED_ROWS_MAX else {}
    spark = open_session(master, short=rows <= SHORT_ROWS_MAX, settings=settings)
    await_workers(spark)
    return spark


def _nobody(text: str) -> None:
    """Where nobody waits."""


def _report(directory: str, found: Audit) -> AuditReport:
    counts = found.counts.toArrow().to_pylist()
    report = AuditReport(directory=directory, runs=len(counts))
    for one in counts:
        for name in _COUNTS:
            setattr(report, name, getattr(report, name) + one[name])
        if any(one[kind] for kind in VIOLATIONS):
            report.wrong_runs.append(one["run"])
    if report.wrong_runs:
        listed = found.violations.limit(LISTED_MAX).toArrow().to_pylist()
        report.violations = [_violation(one) for one in listed]
    report.latency = found.latency.toArrow().to_pylist()
    summed = found.traffic.groupBy("source", "target", "message").sum("messages", "bytes")
    columns = ("source", "target", "message", "messages", "bytes")
    traffic = summed.toDF(*columns).orderBy(*columns[:3])
    report.traffic = traffic.toArrow().to_pylist()
    return report


def _violation(found: dict[str, Any]) -> dict[str, Any]:
    from sapwood.pipeline.auditing.paths import path_text  # noqa: PLC0415 - needs Spark

    because = found["because_publisher"]
    return {
        "kind": found["kind"],
        "run": found["run"],
        "notification": f"{found['publisher']}:{found['sequence']}",
        "client": found["client"],
        "at": found["at"],
        "because": None if because is None else f"{because}:{found['because_sequence']}",
        "path": path_text(found["path"], found["client"]),
    }
