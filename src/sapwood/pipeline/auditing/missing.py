"""Where rows of a trace are known to be missing, so that nobody is blamed for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import functions as fn

from sapwood.trace.files import arrow
from sapwood.trace.judge.gaps import BEGINNING, Gaps
from sapwood.trace.schema import PUBLISHED, TRACE_GAP, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def find_gaps(rows: DataFrame, runs: Iterable[str]) -> dict[str, Gaps]:
    """The recorded gaps of these runs, and which clients were seen at which brokers there."""
    wanted = sorted(runs)
    if not wanted:
        return {}
    rows = rows.where(rows["run"].isin(*wanted))
    found = {run: Gaps() for run in wanted}
    for row, before in _gaps(rows):
        found[row.run].record(row, before)
    for run, client, broker in _seen(rows):
        found[run].seen(client, broker)
    return found


def _gaps(rows: DataFrame) -> list[tuple[Row, float]]:
    """Each ``trace_gap`` row with the time of the row before it at that broker."""
    place = ("run", "broker", "session", "step")
    gaps = rows.where(rows["kind"] == TRACE_GAP).select(*place, "at", "kind")
    listed = list(arrow.to_rows(gaps.toArrow()))
    listed.sort(key=lambda row: row.place)
    ends = fn.broadcast(
        gaps.select("run", "broker", *(fn.col(name).alias(f"gap_{name}") for name in place[2:]))
    )
    is_before = fn.struct("session", "step") < fn.struct(
        fn.col("gap_session").alias("session"), fn.col("gap_step").alias("step")
    )
    before = (
        rows.select(*place, "at")
        .join(ends, ["run", "broker"])
        .where(is_before)
        .groupBy("run", "broker", "gap_session", "gap_step")
        .agg(fn.max_by("at", fn.struct("session", "step")).alias("before"))
    )
    times = {
        (item["run"], item["broker"], item["gap_session"], item["gap_step"]): item["before"]
        for item in before.toArrow().to_pylist()
    }
    return [(row, times.get(row.place, BEGINNING)) for row in listed]


def _seen(rows: DataFrame) -> list[tuple[str, str, str]]:
    named = rows.where(rows["client"].isNotNull()).select("run", "client", "broker")
    own = rows.where(rows["kind"] == PUBLISHED).select("run", "publisher", "broker")
    pairs = named.union(own).distinct().toArrow()
    columns = (column.to_pylist() for column in pairs.columns)
    return sorted(zip(*columns, strict=True))
