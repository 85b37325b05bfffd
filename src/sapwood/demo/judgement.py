"""The verdict on what the brokers recorded: by the plain checkers, and by the audit on Spark.

Both go by the same definitions (docs/reference/traces.md) and know nothing of each other, so they
have to agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from random import Random

from sapwood.errors import DemoError
from sapwood.trace import check, read
from sapwood.trace.removal import remove
from sapwood.trace.schema import DELIVERED, SETTLE_SECONDS_DEFAULT, SUBSCRIBED, TRACE_GAP, Place
from sapwood.trace.verdict import VIOLATIONS, Verdict


def judge(directory: Path) -> Verdict:
    """What the plain checkers say."""
    return check(read(directory))


def is_correct(counts: Mapping[str, int]) -> bool:
    """Whether nothing is violated."""
    return not any(counts[kind] for kind in VIOLATIONS)


def spark_is_installed() -> bool:
    """Whether the audit on Spark can be run here."""
    return find_spec("pyspark") is not None and find_spec("sapwood.pipeline.auditing") is not None


def audit_on_spark(directory: Path) -> dict[str, int]:
    """What the audit on Spark says; a SparkError if there is no Java, or Spark does not start."""
    from sapwood.pipeline.auditing import COUNTS, audit  # noqa: PLC0415 - Spark is optional
    from sapwood.pipeline.session import open_session  # noqa: PLC0415
    from sapwood.pipeline.traces import read_traces  # noqa: PLC0415

    spark = open_session(short=True, app="sapwood demo")
    try:
        (row,) = audit(read_traces(directory, spark=spark)).counts.collect()
        return {name: row[name] for name in COUNTS}
    finally:
        spark.stop()


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
