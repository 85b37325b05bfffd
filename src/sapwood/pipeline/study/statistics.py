"""Means with confidence intervals.

From a few runs, the deviation of the mean is itself only estimated, and the quantiles of Student's
t distribution take that into account: with ten runs, an interval is 15% wider than the normal
distribution would make it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from sapwood.pipeline.spark.local import to_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

CONFIDENCE = 0.95


def with_intervals(
    values: DataFrame, by: Sequence[str], runs_max: int, confidence: float = CONFIDENCE
) -> DataFrame:
    """Mean, deviation and confidence interval of `value` in each group of `by`.

    `runs_max` is the most rows that a group has. Rows without a value are left out. A single value
    has no interval. Values are added up in their own order, not in that in which they arrive: the
    result is the same to the last bit however they are spread.
    """
    from pyspark.sql import functions as fn  # noqa: PLC0415 - half a second, and optional

    quantiles = to_frame(
        values.sparkSession,
        {"runs": "bigint", "quantile": "double"},
        [(runs, t_quantile(runs - 1, confidence)) for runs in range(2, max(2, runs_max) + 1)],
    )
    zero = fn.lit(0.0)
    runs = fn.size("sorted")
    squares = fn.aggregate("sorted", zero, lambda total, one: total + (one - fn.col("mean")) ** 2)
    grouped = (
        values.groupBy(*by)
        .agg(fn.sort_array(fn.collect_list("value")).alias("sorted"))
        .withColumn("runs", runs.cast("long"))
        .withColumn(
            "mean",
            fn.when(runs > 0, fn.aggregate("sorted", zero, lambda total, one: total + one) / runs),
        )
        .withColumn("deviation", fn.when(runs > 1, fn.sqrt(squares / (runs - 1))))
    )
    half = fn.col("quantile") * fn.col("deviation") / fn.sqrt("runs")
    return (
        grouped.join(fn.broadcast(quantiles), "runs", "left")
        .withColumn("low", fn.col("mean") - half)
        .withColumn("high", fn.col("mean") + half)
        .select(*by, "runs", "mean", "deviation", "low", "high")
    )


@cache
def t_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """How many estimated deviations of the mean a two-sided interval reaches to either side.

    >>> round(t_quantile(9), 3)
    2.262
    """
    if freedom < 1 or not 0 < confidence < 1:
        raise ValueError(f"freedom {freedom}, confidence {confidence}: no t distribution")
    low, high = 0.0, 1.0
    while within(freedom, high) < confidence:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        if within(freedom, middle) < confidence:
            low = middle
        else:
            high = middle
    return high


def within(freedom: int, reach: float) -> float:
    """How probable it is that a t variable lies between −`reach` and `reach`.

    For whole degrees of freedom this is a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    """
    angle = math.atan2(reach, math.sqrt(freedom))
    cosine = math.cos(angle)
    if freedom == 1:
        return 2 * angle / math.pi
    first = 2 if freedom % 2 == 0 else 3
    term = 1.0 if first == 2 else cosine
    total = term
    for step in range(first, freedom - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    if freedom % 2 == 0:
        return math.sin(angle) * total
    return 2 / math.pi * (angle + math.sin(angle) * total)


__all__ = ["CONFIDENCE", "t_quantile", "with_intervals", "within"]
