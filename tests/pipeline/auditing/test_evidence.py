"""What a run says about subscriptions, in the form in which workers get it."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sapwood.errors import TraceRowError
from sapwood.filters import Filter
from sapwood.matching import MatchIndex
from sapwood.pipeline.auditing.evidence import Evidence, RunFacts, by_run, gather
from sapwood.pipeline.spark.local import to_frame
from sapwood.trace import Row
from sapwood.trace.judge.rules import NEVER
from tracing.making import Recorder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {
    "run": "string", "broker": "string", "session": "bigint", "step": "bigint", "at": "double",
    "kind": "string", "client": "string", "message": "string", "filter": "string",
}  # fmt: skip


def evidence_of(spark: SparkSession, rows: list[Row]) -> Evidence:
    frame = to_frame(spark, COLUMNS, [[getattr(row, name) for name in COLUMNS] for row in rows])
    return gather(frame, {"r": RunFacts(1.0, 20.0, True)})["r"]


@pytest.fixture(scope="module")
def evidence(spark: SparkSession) -> Evidence:
    trace = Recorder()
    trace.subscribe(0, "ann.1", "x = 1")
    trace.settle(0.5, "ann.1", "x = 1")
    trace.subscribe(2, "bob.1", "(x = 1)")
    trace.subscribe(3, "bob.1", "x > 5")
    trace.unsubscribe(8, "bob.1", "x > 5")
    trace.add(4, "advertised", client="eve.1", filter="x > 0")
    trace.publish(5, "eve.1", 1)
    return evidence_of(spark, trace.rows)


@pytest.mark.slow
def test_filters_are_numbered_by_meaning(evidence: Evidence) -> None:
    assert len(evidence.filters) == 3
    assert evidence.clients == ("ann.1", "bob.1")
    assert evidence.starts.tolist() == [0, 2, 3, 3]
    assert evidence.declarations.tolist() == [
        [0, 0.5, NEVER, 0.0],
        [1, 3.0, NEVER, 2.0],
        [1, 4.0, 8.0, 3.0],
    ]


@pytest.mark.slow
def test_the_engine_says_what_matches(evidence: Evidence) -> None:
    matched = evidence.matching(['{"x": 1}', '{"x": 7}', "{}"])
    assert [sorted(numbers) for numbers in matched] == [[0, 2], [1, 2], []]
    with pytest.raises(TraceRowError, match="run 'r' has wrong attributes"):
        evidence.matching(["[1]"])


@pytest.mark.slow
def test_advertisements_have_their_time(evidence: Evidence) -> None:
    assert evidence.was_advertised("eve.1", 5.0, [2])
    assert not evidence.was_advertised("eve.1", 4.5, [2])
    assert not evidence.was_advertised("eve.1", 5.0, [0])
    assert not evidence.was_advertised("ann.1", 5.0, [2])


@pytest.mark.slow
def test_declarations_at_their_limits(evidence: Evidence) -> None:
    [_, second] = evidence.subscriptions["bob.1"]
    assert second.obliges(6.9, 1.0)
    assert not second.obliges(7.0, 1.0)
    assert second.was_in_force(9.0, 1.0)
    assert not second.was_in_force(9.1, 1.0)
    assert evidence.subscriptions["ann.1"][0].last_seen(0.7) == 0.5


@pytest.mark.slow
def test_it_travels(evidence: Evidence) -> None:
    again = pickle.loads(pickle.dumps(evidence))
    assert again.subscriptions == evidence.subscriptions
    assert again.matching(['{"x": 1}']) == evidence.matching(['{"x": 1}'])


def test_a_batch_is_split_by_run() -> None:
    batch = pa.RecordBatch.from_pydict({"run": ["a", "b", "a"], "x": [1, 2, 3]})
    parts = {run: part.column("x").to_pylist() for run, part in by_run(batch)}
    assert parts == {"a": [1, 3], "b": [2]}
    assert [run for run, _ in by_run(batch.slice(0, 1))] == ["a"]


@pytest.mark.slow
def test_an_index_of_filters_goes_along_to_workers(spark: SparkSession) -> None:
    index: MatchIndex[int] = MatchIndex()
    for number in range(200):
        index.add(number, Filter(f"x = {number}"))
    assert index.is_compiled

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            events = [{"x": number} for number in batch.column("id").to_pylist()]
            found = [keys[0] if keys else None for keys in index.match_batch(events)]
            yield pa.RecordBatch.from_pydict({"found": pa.array(found, pa.int64())})

    answers = spark.range(190, 210).mapInArrow(work, "found bigint").toArrow().column(0)
    assert sorted(filter(None, answers.to_pylist())) == list(range(190, 200))
    assert answers.null_count == 10
