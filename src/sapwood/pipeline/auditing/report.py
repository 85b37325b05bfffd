"""`audit_directory`: the whole audit of a directory, with a plain result.

What `sapwood audit` and `sapwood demo` call. Files are looked at before Spark is started, so that
bad input is an error at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sapwood.pipeline.damage import with_readable
from sapwood.pipeline.files import Listing, check_listing, is_here, list_traces
from sapwood.pipeline.spark.output import check_output, make_folder, write_tables
from sapwood.pipeline.spark.progress import followed
from sapwood.pipeline.spark.session import UNCOMPILED, await_workers, open_session
from sapwood.trace.judge.verdict import VIOLATIONS

if TYPE_CHECKING:
    from os import PathLike

    from pyspark.sql import SparkSession

    from sapwood.pipeline.auditing.audit import Tables

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


def audit_directory(  # noqa: PLR0913 - one for each option of the command
    directory: str | PathLike[str],
    settle: float | None = None,
    master: str | None = None,
    *,
    out: str | PathLike[str] | None = None,
    skip_damaged: bool = False,
    unfinished: bool = False,
    progress: Callable[[str], None] | None = None,
    settings: Mapping[str, str] | None = None,
) -> AuditReport:
    """Judge all runs below a directory; leave the tables as Parquet in `out`, if given.

    `settings` are settings of Spark, for a session that is opened for this.
    """
    tell = progress or _nobody
    listing = look_at(str(directory), master, settings)
    left_out = check_listing(listing, skip_damaged=skip_damaged, unfinished=unfinished)
    if out is not None:
        check_output(str(out), str(directory), TABLES)
    tell(f"{len(listing.files)} files, {listing.rows:,} rows")
    spark = session_for(master, listing.rows, settings)
    if out is not None:
        make_folder(str(out))
    from sapwood.pipeline.auditing.audit import judge_traces  # noqa: PLC0415 - needs Spark
    from sapwood.pipeline.traces import read_listing  # noqa: PLC0415

    def judge(readable: Listing) -> AuditReport:
        found = judge_traces(read_listing(readable, spark), settle, tell=tell)
        if out is not None:
            write_tables(str(out), found.on(spark)._asdict())
        return _report(str(directory), found)

    with followed(spark, tell):
        report, unreadable = with_readable(listing, judge, skip_damaged=skip_damaged)
    report.left_out = left_out + unreadable
    return report


TABLES: Final = ("counts", "violations", "latency", "traffic")


def look_at(directory: str, master: str | None, settings: Mapping[str, str] | None) -> Listing:
    """What lies below a directory; before Spark is started if it is on this machine."""
    if is_here(directory):
        return list_traces(directory)
    return list_traces(directory, open_session(master, settings=settings))


def session_for(
    master: str | None, rows: int, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The session that is open already, or one that suits so many rows; with workers."""
    suitable = UNCOMPILED if rows <= UNCOMPILED_ROWS_MAX else {}
    chosen = {**suitable, **(settings or {})}
    spark = open_session(master, short=rows <= SHORT_ROWS_MAX, settings=chosen)
    await_workers(spark)
    return spark


def _nobody(text: str) -> None:
    """Where nobody waits."""


def _report(directory: str, found: Tables) -> AuditReport:
    counts = found.counts.to_pylist()
    report = AuditReport(directory=directory, runs=len(counts))
    for one in counts:
        for name in _COUNTS:
            setattr(report, name, getattr(report, name) + one[name])
        if any(one[kind] for kind in VIOLATIONS):
            report.wrong_runs.append(one["run"])
    listed = found.violations.slice(0, LISTED_MAX).to_pylist()
    report.violations = [_violation(one) for one in listed]
    report.latency = found.latency.to_pylist()
    columns = ["source", "target", "message"]
    summed = found.traffic.group_by(columns).aggregate([("messages", "sum"), ("bytes", "sum")])
    named = summed.select([*columns, "messages_sum", "bytes_sum"]).rename_columns(
        [*columns, "messages", "bytes"]
    )
    report.traffic = named.sort_by([(name, "ascending") for name in columns]).to_pylist()
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
