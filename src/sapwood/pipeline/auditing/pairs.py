"""The groups that differ, pair by pair: lost, early, unexpected, repeated, or nobody can say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as fn

from sapwood.pipeline.auditing.evidence import Evidence, by_run
from sapwood.pipeline.auditing.groups import GROUP
from sapwood.pipeline.auditing.order import own_order
from sapwood.trace.judge import rules
from sapwood.trace.judge.gaps import Gaps
from sapwood.trace.judge.verdict import LOST, UNJUDGED
from sapwood.trace.schema import DELIVERED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PAIR: Final = (*GROUP, "sequence")
_JUDGED: Final = (
    "run string, client string, publisher string, sequence bigint, is_owed boolean, "
    "verdict string, at double"
)


def deliveries_in(rows: DataFrame, groups: DataFrame) -> DataFrame:
    """The deliveries of some groups, numbered per pair in the own order (`mode`) of the client."""
    delivered = rows.where(rows["kind"] == DELIVERED).join(fn.broadcast(groups), list(GROUP))
    place = [*own_order(fn.col("mode")), *(fn.col(name) for name in ("broker", "session", "step"))]
    order = Window.partitionBy(*PAIR).orderBy("by_count", "by_time", "broker", "session", "step")
    return delivered.select(*PAIR, "at", *place).select(
        *PAIR, "at", fn.row_number().over(order).alias("time")
    )


def odd_pairs(owed: DataFrame, deliveries: DataFrame, published: DataFrame) -> DataFrame:
    """Pairs that were owed and not delivered, or delivered and not owed.

    With what was published when, and, if it never was, between which times it may have been: those
    of its neighbours by sequence.
    """
    first = deliveries.where("time = 1").select(*PAIR, fn.col("at").alias("delivered_at"))
    odd = (
        owed.withColumn("is_owed", fn.lit(True))
        .join(first, list(PAIR), "full_outer")
        .where(fn.col("is_owed").isNull() | fn.col("delivered_at").isNull())
        .withColumn("is_owed", fn.col("is_owed").isNotNull())
    )
    return odd.join(_known(odd, published), ["run", "publisher", "sequence"], "left")


def _known(odd: DataFrame, published: DataFrame) -> DataFrame:
    """Publications that pairs are about, and neighbours of those that never were."""
    asked = odd.select("run", "publisher", "sequence").distinct()
    publishers = asked.select("run", "publisher").distinct()
    own = published.join(publishers, ["run", "publisher"], "left_semi").select(
        "run", "publisher", "sequence", fn.col("at").alias("published_at"), "attributes",
        fn.lit(False).alias("is_asked"),
    )  # fmt: skip
    both = own.union(
        asked.select(
            "run", "publisher", "sequence", fn.lit(None).cast("double"),
            fn.lit(None).cast("string"), fn.lit(True),
        )
    )  # fmt: skip
    merged = both.groupBy("run", "publisher", "sequence").agg(
        fn.max("published_at").alias("published_at"),
        fn.max("attributes").alias("attributes"),
        fn.max("is_asked").alias("is_asked"),
    )
    # Backwards, too, what came before: of what comes after, Spark would look at all for each row.
    since, until = (
        fn.last("published_at", ignorenulls=True).over(
            Window.partitionBy("run", "publisher")
            .orderBy(order)
            .rowsBetween(Window.unboundedPreceding, -1)
        )
        for order in (fn.asc("sequence"), fn.desc("sequence"))
    )
    return (
        merged.withColumn("since", since)
        .withColumn("until", until)
        .where("is_asked")
        .drop("is_asked")
    )


def judge_pairs(
    odd: DataFrame, evidence: Mapping[str, Evidence], gaps: Mapping[str, Gaps]
) -> DataFrame:
    """What each odd pair is: `verdict`, and the time of the row that shows it."""

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows:
                for run, part in by_run(batch):
                    yield _judge(part, evidence[run], gaps.get(run) or Gaps())

    return odd.select(
        *PAIR, "is_owed", "delivered_at", "published_at", "attributes", "since", "until"
    ).mapInArrow(work, _JUDGED)


def _judge(batch: Any, evidence: Evidence, gaps: Gaps) -> Any:
    texts = batch.column("attributes").dictionary_encode()
    known = evidence.matching(texts.dictionary.to_pylist())
    matching = [set() if code is None else set(known[code]) for code in texts.indices.to_pylist()]
    verdicts, times = [], []
    for pair, numbers in zip(batch.to_pylist(), matching, strict=True):
        verdicts.append(_verdict(pair, numbers, evidence, gaps))
        at = pair["published_at"] if verdicts[-1] == LOST else pair["delivered_at"]
        times.append(at if at is not None else pair["published_at"])
    return pa.RecordBatch.from_arrays(
        [
            *(batch.column(name) for name in (*PAIR, "is_owed")),
            pa.array(verdicts),
            pa.array(times, pa.float64()),
        ],
        names=[*PAIR, "is_owed", "verdict", "at"],
    )


def _verdict(pair: dict[str, Any], numbers: set[int], evidence: Evidence, gaps: Gaps) -> str:
    """What one pair is, by the rules that the checkers follow."""
    at, client, settle = pair["published_at"], pair["client"], evidence.settle
    matching = [each for each in evidence.subscriptions.get(client, ()) if each.number in numbers]
    if pair["is_owed"]:
        return rules.judge_missing(gaps, client, matching, at, settle)
    delivered_at = pair["delivered_at"]
    if at is None:
        publisher, since, until = pair["publisher"], pair["since"], pair["until"]
        return rules.judge_unpublished(gaps, publisher, since, until, delivered_at)
    if pair["attributes"] is None:
        return UNJUDGED
    return rules.judge_unasked(gaps, client, matching, delivered_at, settle)
