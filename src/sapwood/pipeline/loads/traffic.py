"""`traffic`: rates per broker, traffic that brokers share, load per link, cost of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import functions as fn

from sapwood.errors import TraceError
from sapwood.pipeline.loads.costs import Costs, current_tree, ordered, tree_costs
from sapwood.pipeline.loads.links import SAMPLED_FROM, link_traffic
from sapwood.pipeline.loads.matrix import patterns, shared_traffic
from sapwood.pipeline.spark.failures import plain_errors
from sapwood.pipeline.spark.local import to_frame
from sapwood.pipeline.spark.shipping import ship
from sapwood.protocol.tree import Link
from sapwood.trace.schema import (
    CONTROL,
    DELIVERED,
    FORWARDED,
    PUBLISHED,
    SUBSCRIBED,
    UNSUBSCRIBED,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OWN_COSTS: Final = ("notifications", "cost", "spanning", "least", "unreached")


class Traffic(NamedTuple):
    """The traffic of a trace, each a DataFrame."""

    brokers: DataFrame
    """A row per broker: what its clients published and were delivered, subscriptions in force at
    the end, different notifications it consumed, all also per second."""

    shared: DataFrame
    """A row per pair of brokers: notifications that concern both."""

    links: DataFrame
    """A row per link, direction and kind: messages, bytes, both per second; whether the link
    belongs to the tree at the end."""

    costs: DataFrame
    """One row: notifications, what they cost on that tree, and the two bounds."""


def traffic(traces: DataFrame, costs: Costs | None = None) -> Traffic:
    """The traffic in traces, as `read_traces` gives them; all runs together.

    Without `costs` every link costs 1 and processing nothing; `measured_costs` takes them from the
    trace.
    """
    with plain_errors():
        ship(traces.sparkSession)
        busy = _brokers(traces)
        brokers = [row["broker"] for row in busy]
        seconds = _duration(traces)
        tree = current_tree(brokers, _last_used(traces, set(brokers)))
        found = patterns(traces, brokers).localCheckpoint(eager=True)
        shared = shared_traffic(found, brokers).orderBy("left", "right")
        consumed = {
            row["left"]: row["notifications"]
            for row in shared.where("left = right").toArrow().to_pylist()
        }
        summed = tree_costs(found, brokers, tree, costs or Costs()).toDF(*_OWN_COSTS)
        return Traffic(
            _rates(traces, busy, consumed, seconds), shared, _links(traces, tree, seconds), summed
        )


def _brokers(rows: DataFrame) -> list[dict[str, Any]]:
    """What happened at each broker."""
    counted = {
        kind: fn.count_if(fn.col("kind") == kind)
        for kind in (PUBLISHED, DELIVERED, SUBSCRIBED, UNSUBSCRIBED)
    }
    found = rows.groupBy("broker").agg(*(count.alias(kind) for kind, count in counted.items()))
    listed: list[dict[str, Any]] = found.orderBy("broker").toArrow().to_pylist()
    if not listed:
        raise TraceError("there are no rows to look at")
    return listed


def _duration(rows: DataFrame) -> float:
    """How long the runs last, one after the other."""
    spans = rows.groupBy("run").agg((fn.max("at") - fn.min("at")).alias("seconds"))
    total = spans.agg(fn.sum("seconds")).toArrow().column(0)[0].as_py()
    return float(total or 0.0)


def _last_used(rows: DataFrame, brokers: set[str]) -> dict[Link, float]:
    """When something last went over each link."""
    sent = rows.where(rows["kind"].isin(FORWARDED, CONTROL) & rows["target"].isNotNull())
    last = sent.groupBy("broker", "target").agg(fn.max("at").alias("at")).toArrow().to_pylist()
    used: dict[Link, float] = {}
    for row in last:
        if row["target"] in brokers and row["target"] != row["broker"]:
            link = ordered(row["broker"], row["target"])
            used[link] = max(row["at"], used.get(link, row["at"]))
    return used


def _rates(
    rows: DataFrame, busy: list[dict[str, Any]], consumed: dict[str, int], seconds: float
) -> DataFrame:
    columns = {
        "broker": "string",
        "published": "bigint",
        "delivered": "bigint",
        "subscriptions": "bigint",
        "concerned": "bigint",
        "publication_rate": "double",
        "delivery_rate": "double",
        "interest_rate": "double",
    }
    listed = [
        (
            row["broker"],
            row[PUBLISHED],
            row[DELIVERED],
            row[SUBSCRIBED] - row[UNSUBSCRIBED],
            consumed.get(row["broker"], 0),
            _per_second(row[PUBLISHED], seconds),
            _per_second(row[DELIVERED], seconds),
            _per_second(consumed.get(row["broker"], 0), seconds),
        )
        for row in busy
    ]
    return to_frame(rows.sparkSession, columns, listed)


def _per_second(count: int, seconds: float) -> float | None:
    return count / seconds if seconds > 0 else None


def _links(rows: DataFrame, tree: tuple[Link, ...], seconds: float) -> DataFrame:
    sums = (
        link_traffic(rows)
        .groupBy("source", "target", "message")
        .agg(fn.sum("messages").alias("messages"), fn.sum("bytes").alias("bytes"))
    )
    both_ways = [(a, b, True) for a, b in tree] + [(b, a, True) for a, b in tree]
    columns = {"source": "string", "target": "string", "in_tree": "boolean"}
    standing = fn.broadcast(to_frame(rows.sparkSession, columns, both_ways))
    rates = [
        fn.try_divide(fn.col(name), fn.lit(seconds)).alias(f"{name}_per_second")
        for name in ("messages", "bytes")
    ]
    return (
        sums.join(standing, ["source", "target"], "left")
        .withColumn("in_tree", fn.coalesce("in_tree", fn.lit(False)))
        .select("*", *rates)
        .orderBy("source", "target", "message")
    )


def measured_costs(traces: DataFrame) -> Costs:
    """Costs as measured: of a link, the median time that a notification took over it, in seconds.

    From when one broker recorded that it sent it to when the next recorded anything about it; a
    sample of about two million hops. A pair without a link costs what the dearest link does.
    """
    sent = traces.where((traces["kind"] == FORWARDED) & traces["target"].isNotNull())
    every = 1 + sent.count() // SAMPLED_FROM
    key = fn.xxhash64("run", "publisher", "sequence")
    chosen = fn.pmod(key, fn.lit(every)) == 0
    hops = sent.where(chosen).select(
        key.alias("id"), fn.col("broker").alias("source"), "target", fn.col("at").alias("sent_at")
    )
    arrived = (
        traces.where(traces["kind"].isin(FORWARDED, DELIVERED) & chosen)
        .groupBy(key.alias("id"), fn.col("broker").alias("target"))
        .agg(fn.min("at").alias("arrived_at"))
    )
    took = (
        hops.join(arrived, ["id", "target"])
        .select(
            fn.least("source", "target").alias("left"),
            fn.greatest("source", "target").alias("right"),
            fn.greatest(fn.col("arrived_at") - fn.col("sent_at"), fn.lit(0.0)).alias("seconds"),
        )
        .groupBy("left", "right")
        .agg(fn.percentile_approx("seconds", 0.5, 10_000).alias("seconds"))
    )
    links = {(row["left"], row["right"]): row["seconds"] for row in took.toArrow().to_pylist()}
    return Costs(links=links, default=max(links.values(), default=0.0))
