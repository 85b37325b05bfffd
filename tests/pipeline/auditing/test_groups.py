"""Counts and checksums per group, and how a client's events are ordered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sapwood.pipeline.auditing.groups import (
    BY_COUNT,
    BY_STEP,
    BY_TIME,
    clients_of,
    compare,
    delivered_sums,
    group_hash,
    named,
    publications,
    published_sums,
)
from sapwood.pipeline.spark.local import to_frame
from sapwood.trace import Row
from tracing.making import Recorder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.slow
COLUMNS = {
    "run": "string", "broker": "string", "session": "bigint", "step": "bigint", "at": "double",
    "kind": "string", "publisher": "string", "sequence": "bigint", "client": "string",
    "client_order": "bigint", "attributes": "string",
}  # fmt: skip


def frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    return to_frame(spark, COLUMNS, [[getattr(row, name) for name in COLUMNS] for row in rows])


def test_equal_sets_have_equal_sums_and_others_not(spark: SparkSession) -> None:
    trace = Recorder()
    for client, sequences in {"same.1": [3, 1, 2], "other.1": [1, 2, 4], "twice.1": [1, 1]}.items():
        for sequence in sequences:
            trace.deliver(1, client, "p.1", sequence)
    trace.deliver(1, "strange.1", "p.1", 1)
    rows = frame(spark, trace.rows)
    delivered = delivered_sums(rows)
    owed = Recorder()
    for client in ("same.1", "other.1", "twice.1", "none.1"):
        for sequence in (1, 2, 3):
            owed.deliver(1, client, "p.1", sequence)
    names = ["run", "client", "publisher"]
    ids = frame(spark, owed.rows).select(group_hash().alias("id"), *names).distinct()
    sums = delivered_sums(frame(spark, owed.rows), places=False).join(ids, "id")
    found = named(compare(sums, delivered), rows).orderBy("client").toArrow().to_pylist()
    assert [(row["client"], row["n"], row["owed"], row["is_same"]) for row in found] == [
        ("none.1", None, 3, False),
        ("other.1", 3, 3, False),
        ("same.1", 3, 3, True),
        ("strange.1", 1, None, False),
        ("twice.1", 2, 3, False),
    ]


def test_how_the_events_of_a_client_are_ordered(spark: SparkSession) -> None:
    trace = Recorder(counts=False)

    def got(client: str, **more: Any) -> None:
        trace.deliver(1, client, "p.1", 1, **more)

    got("counted.1", client_order=1, broker="B1")
    got("counted.1", client_order=2, broker="B2")
    got("step.1")
    got("step.1")
    got("restarted.1", session=1)
    got("restarted.1", session=2)
    got("mixed.1", client_order=1)
    got("mixed.1")
    got("roamed.1", broker="B1")
    got("roamed.1", broker="B2")
    got("author.1", client_order=1)
    trace.publish(2, "author.1", 1, client_order=2)
    got("talker.1", client_order=2)
    trace.publish(2, "talker.1", 1, client_order=1)
    got("forgetful.1", client_order=1)
    trace.publish(2, "forgetful.1", 1)
    rows = frame(spark, trace.rows)
    names = rows.where("kind = 'delivered'").select(group_hash().alias("id"), "run", "client")
    delivered = delivered_sums(rows).join(names.distinct(), "id")
    found = clients_of(delivered, published_sums(rows)).toArrow().to_pylist()
    assert {row["client"]: (row["mode"], row["is_quick"], row["is_author"]) for row in found} == {
        "counted.1": (BY_COUNT, True, False),
        "step.1": (BY_STEP, True, False),
        "restarted.1": (BY_STEP, False, False),
        "mixed.1": (BY_STEP, False, False),
        "roamed.1": (BY_TIME, False, False),
        "author.1": (BY_COUNT, True, True),
        "talker.1": (BY_COUNT, True, False),
        "forgetful.1": (BY_STEP, False, True),
    }


def test_the_earliest_of_several_publications_counts(spark: SparkSession) -> None:
    trace = Recorder()
    trace.publish(5, "a.1", 1, "late")
    trace.publish(4, "a.1", 1, "early", broker="B2")
    trace.publish(4, "b.1", 1, "alone")
    rows = frame(spark, trace.rows)
    repeated = to_frame(spark, {"run": "string", "publisher": "string"}, [("r", "a.1")])
    found = publications(rows, repeated).orderBy("publisher").toArrow().to_pylist()
    assert [(row["publisher"], row["at"], row["attributes"]) for row in found] == [
        ("a.1", 4.0, "early"),
        ("b.1", 4.0, "alone"),
    ]
    assert publications(rows, None).count() == 3
