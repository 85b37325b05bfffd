"""Traffic per link and kind of message, and how long notifications took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as fn

from sapwood.trace.schema import CONTROL, DELIVERED, FORWARDED, PUBLISHED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLED_FROM: Final = 2_000_000
"""Up to so many deliveries, an audit times all; beyond, a sample of about as many."""

SHARES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def link_traffic(rows: DataFrame) -> DataFrame:
    """Messages and bytes per run, link, direction and kind of message."""
    is_sent = rows["kind"].isin(FORWARDED, CONTROL) & rows["target"].isNotNull()
    return (
        rows.where(is_sent)
        .groupBy(
            "run",
            fn.col("broker").alias("source"),
            "target",
            fn.when(fn.col("kind") == FORWARDED, fn.lit("notification"))
            .otherwise(fn.coalesce("message", "kind"))
            .alias("message"),
        )
        .agg(
            fn.count(fn.lit(1)).alias("messages"),
            fn.coalesce(fn.sum("bytes"), fn.lit(0)).alias("bytes"),
        )
    )


def latencies(rows: DataFrame, every: int = 1) -> DataFrame:
    """Quantiles of the time from publication to delivery, in seconds, per run.

    Of every notification, or of a sample: about one in `every`, whichever hash to it. `timed` says
    of how many deliveries.
    """
    delivered = rows.where(rows["kind"] == DELIVERED)
    key = fn.xxhash64("run", "publisher", "sequence")
    chosen = fn.pmod(key, fn.lit(every)) == 0
    sent = (
        rows.where((rows["kind"] == PUBLISHED) & chosen)
        .groupBy(key.alias("id"))
        .agg(fn.min("at").alias("published_at"))
    )
    took = (
        delivered.where(chosen)
        .select("run", key.alias("id"), "at")
        .join(sent, "id")
        .select("run", (fn.col("at") - fn.col("published_at")).alias("seconds"))
    )
    quantiles = [
        fn.percentile_approx("seconds", share, 10_000).alias(name) for name, share in SHARES.items()
    ]
    return took.groupBy("run").agg(
        fn.count(fn.lit(1)).alias("timed"),
        fn.min("seconds").alias("least"),
        fn.avg("seconds").alias("mean"),
        *quantiles,
        fn.max("seconds").alias("most"),
    )
