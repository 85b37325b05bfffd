"""One pair at a time: what it is called, at the limits of the definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sapwood.pipeline.auditing.evidence import Evidence
from sapwood.pipeline.auditing.pairs import _verdict, odd_pairs
from sapwood.pipeline.spark.local import to_frame
from sapwood.trace.judge.gaps import Gaps
from sapwood.trace.judge.rules import NEVER, Validity
from sapwood.trace.judge.verdict import EARLY, LOST, UNEXPECTED, UNJUDGED
from tracing.making import Recorder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def evidence() -> Evidence:
    found = Evidence("r", 1.0, 100.0, False)
    found.subscriptions = {"ann.1": [Validity(0, 2.0, 3.0, 10.0, (2.0, 4.0))]}
    return found


def gap(start: float, end: float, client: str = "ann.1") -> Gaps:
    gaps = Gaps()
    gaps.record(Recorder().add(end, "trace_gap"), start)
    gaps.seen(client, "B1")
    return gaps


def pair(**columns: Any) -> dict[str, Any]:
    usual = {
        "client": "ann.1", "publisher": "bob.1", "sequence": 1, "is_owed": False,
        "delivered_at": None, "published_at": None, "attributes": "{}", "since": None,
        "until": None,
    }  # fmt: skip
    return {**usual, **columns}


@pytest.mark.parametrize(
    ("columns", "numbers", "gaps", "verdict"),
    [
        ({"is_owed": True, "published_at": 5.0}, {0}, None, LOST),
        ({"is_owed": True, "published_at": 5.0}, {0}, (3.0, 3.9), LOST),
        ({"is_owed": True, "published_at": 5.0}, {0}, (3.0, 4.0), UNJUDGED),
        ({"is_owed": True, "published_at": 5.0}, {0}, (6.0, 7.0), UNJUDGED),
        ({"is_owed": True, "published_at": 5.0}, {0}, (6.1, 7.0), LOST),
        ({"delivered_at": 2.0, "published_at": 1.0}, {0}, None, EARLY),
        ({"delivered_at": 11.0, "published_at": 10.5}, {0}, None, EARLY),
        ({"delivered_at": 11.1, "published_at": 10.5}, {0}, None, UNEXPECTED),
        ({"delivered_at": 1.9, "published_at": 1.0}, {0}, None, UNEXPECTED),
        ({"delivered_at": 5.0, "published_at": 1.0}, {1}, None, UNEXPECTED),
        ({"delivered_at": 5.0, "published_at": 1.0}, {1}, (5.0, 9.0), UNJUDGED),
        ({"delivered_at": 5.0, "published_at": 1.0}, {1}, (5.1, 9.0), UNEXPECTED),
        ({"delivered_at": 5.0, "published_at": 1.0, "attributes": None}, set(), None, UNJUDGED),
        ({"delivered_at": 5.0, "attributes": None}, set(), None, UNEXPECTED),
        ({"delivered_at": 5.0, "attributes": None}, set(), (1.0, 2.0), UNJUDGED),
        ({"delivered_at": 5.0, "attributes": None, "since": 3.0}, set(), (1.0, 2.0), UNEXPECTED),
        ({"delivered_at": 5.0, "attributes": None, "until": 0.5}, set(), (1.0, 2.0), UNEXPECTED),
    ],
)
def test_verdicts(
    columns: dict[str, Any], numbers: set[int], gaps: tuple[float, float] | None, verdict: str
) -> None:
    missing = Gaps() if gaps is None else gap(*gaps)
    assert _verdict(pair(**columns), numbers, evidence(), missing) == verdict


def test_a_declaration_that_never_ended_obliges_for_ever() -> None:
    declaration = Validity(0, 0.0, 1.0, NEVER, (0.0,))
    assert declaration.obliges(1e9, 1.0)


@pytest.mark.slow
def test_what_was_never_published_lies_between_its_neighbours(spark: SparkSession) -> None:
    """Bob published 3, 6 and 9; ann was delivered 1, 5, 6 and 12, of which one was owed."""
    pair_columns = {"run": "string", "client": "string", "publisher": "string"}
    sequence = {"sequence": "bigint"}
    owed = to_frame(spark, {**pair_columns, **sequence}, [("r", "ann.1", "bob.1", 6)])
    deliveries = to_frame(
        spark,
        {**pair_columns, **sequence, "at": "double", "time": "bigint"},
        [("r", "ann.1", "bob.1", number, 20.0, 1) for number in (1, 5, 6, 12)],
    )
    published = to_frame(
        spark,
        {
            "run": "string",
            "publisher": "string",
            **sequence,
            "at": "double",
            "attributes": "string",
        },
        [("r", "bob.1", number, float(number), "{}") for number in (3, 6, 9)],
    )
    found = odd_pairs(owed, deliveries, published).orderBy("sequence").toArrow().to_pylist()
    assert [(row["sequence"], row["since"], row["until"]) for row in found] == [
        (1, None, 3.0),
        (5, 3.0, 6.0),
        (12, 9.0, None),
    ]
