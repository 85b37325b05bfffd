"""Both passes over the order of deliveries, against the checkers, without Spark.

What Spark does in between is sorting; here the rows are sorted by hand.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sapwood.pipeline.auditing import order
from sapwood.trace import Row, Verdict
from sapwood.trace.judge.ordering import in_client_order, judge_order
from sapwood.trace.judge.verdict import Findings
from tracing.random_traces import random_trace

Events = dict[str, list[Row]]


def events_of(rows: list[Row]) -> Events:
    events: Events = {}
    for row in sorted(rows, key=lambda row: row.place):
        if row.kind in {"published", "delivered"}:
            owner = row.client if row.kind == "delivered" else row.publisher
            events.setdefault(owner or "", []).append(row)
    return {client: in_client_order(own) for client, own in events.items()}


def batches(columns: dict[str, list[Any]], size: int) -> list[Any]:
    batch = pa.RecordBatch.from_pydict(columns)
    return [batch.slice(start, size) for start in range(0, batch.num_rows, size)]


FIRST = ("in_run", "who", "is_published", "publisher", "sequence", "first", "slots")
SECOND = ("in_run", "slot", "part", "who", "publisher", "sequence", "at", "cause")


def table(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def judged(events: Events, size: int) -> set[tuple[int, str, str, int, str, int]]:
    """What is wrong, by way of both passes, in batches of a size."""
    number = {name: place * 7 + 3 for place, name in enumerate(sorted({*events, *names(events)}))}
    named = {value: name for name, value in number.items()}
    everything = [
        (client, row) for client in sorted(events, key=number.__getitem__) for row in events[client]
    ]
    first = [
        (
            1, number[who], int(row.kind == "published"), number[row.publisher or ""],
            row.sequence, 0, 1,
        )
        for who, row in everything
    ]  # fmt: skip
    passed = order._find_causes(batches(table(FIRST, first), size)) if first else []
    causes = [row for batch in passed for row in batch.to_pylist()]
    causes.sort(key=lambda cause: int(cause["who"]))
    second = [
        (1, 0, 0, cause["who"], cause["publisher"], cause["sequence"], 0.0, cause["cause"])
        for cause in causes
    ]
    second += [
        (1, 0, 1, number[who], number[row.publisher or ""], row.sequence, row.at, 0)
        for who, row in everything
        if row.kind == "delivered"
    ]
    found = order._judge(batches(table(SECOND, second), size)) if second else []
    return {
        (
            fault["fault"], named[fault["who"]], named[fault["publisher"]], fault["sequence"],
            named[fault["because_publisher"]], fault["because_sequence"],
        )
        for batch in found
        for fault in batch.to_pylist()
    }  # fmt: skip


def names(events: Events) -> set[str]:
    return {row.publisher or "" for rows in events.values() for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_as_the_checkers_say(size: int) -> None:
    found_any = 0
    for seed in range(60):
        events = events_of(random_trace(Random(seed), steps=120))
        verdict = Verdict()
        findings = Findings(verdict, 10**6)
        judge_order(events, findings)
        expected: dict[tuple[str, str], int] = {}
        because: dict[tuple[str, str], str] = {}
        for found in findings.finish().violations:
            key = found.notification, found.client
            if found.kind == "out_of_order_fifo":
                expected[key] = expected.get(key, 0) | order.FIFO
            elif found.kind == "out_of_order_causal":
                expected[key] = expected.get(key, 0) | order.CAUSAL
                because[key] = found.rows[0].notification or ""
        faults = judged(events, size)
        assert {(f"{f[2]}:{f[3]}", f[1]): f[0] for f in faults} == expected, seed
        assert {(f"{f[2]}:{f[3]}", f[1]): f"{f[4]}:{f[5]}" for f in faults} == because, seed
        found_any += len(expected)
    assert found_any > 20


def test_stretches_are_where_nothing_changes() -> None:
    one, other = np.array([1, 1, 2, 2, 2]), np.array([5, 5, 5, 6, 6])
    assert list(order._stretches(one, other)) == [(0, 2), (2, 3), (3, 5)]
    assert list(order._stretches(np.array([], np.int64))) == []
