"""The verdict on traces, by both judges; and that rows taken away are missed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from sapwood.demo import judgement
from sapwood.demo.judgement import Judgement, Span, judge, lose
from sapwood.errors import DemoError, SparkError
from sapwood.trace import Row, TraceWriter, check, read
from sapwood.trace.files.removal import remove
from sapwood.trace.schema import Place

NOTIFICATIONS = 30
OWED = 21
"""Those that are not published too soon after the subscription, or too close to the end."""


def rows() -> Iterator[Row]:
    """A broker with a client that gets everything."""
    here: dict[str, Any] = {"run": "demo", "broker": "B1", "session": 1}
    yield Row(**here, step=1, at=0.0, kind="subscribed", client="c.1", filter="x > 0")
    for number in range(1, NOTIFICATIONS + 1):
        what = {**here, "at": number / 2, "publisher": "p.1", "sequence": number}
        yield Row(
            **what,
            step=2 * number,
            kind="published",
            client="p.1",
            client_order=number,
            attributes='{"x":1}',
        )
        yield Row(**what, step=2 * number + 1, kind="delivered", client="c.1", client_order=number)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    with TraceWriter(tmp_path, "demo", "B1", 1) as writer:
        for row in rows():
            writer.write(row)
    with TraceWriter(tmp_path, "demo", "B2", 1) as writer:
        writer.write(Row(run="demo", broker="B2", session=1, step=1, at=1.0, kind="trace_gap"))
    return tmp_path


def test_rows_that_are_taken_away_are_lost(trace: Path) -> None:
    before = check(read(trace))
    assert (before.lost, before.expected >= OWED) == (0, True)
    taken = lose(trace, 3, Random(1))
    assert len(taken) == 3
    assert all(one.startswith("p.1:") and one.endswith(" at c.1") for one in taken)
    after = check(read(trace))
    assert (after.lost, after.expected) == (3, before.expected)


def test_all_that_is_owed_can_be_lost_and_no_more(trace: Path) -> None:
    with pytest.raises(DemoError, match=f"^22 deliveries cannot be lost: there were {OWED} that"):
        lose(trace, OWED + 1, Random(1))
    lose(trace, OWED, Random(1))
    assert check(read(trace)).lost == OWED


def place(number: int) -> Place:
    """Where the delivery of a notification is in the trace."""
    found = (row for row in rows() if row.kind == "delivered" and row.sequence == number)
    return next(found).place


def judged(
    monkeypatch: pytest.MonkeyPatch,
    trace: Path,
    *,
    faults: Sequence[Span] = (),
    **differences: int,
) -> tuple[Judgement, dict[str, int]]:
    """A judgement in which Spark says something of its own; on Spark it is in tests/cli."""
    plain = check(read(trace)).counts()
    monkeypatch.setattr(judgement, "audit_on_spark", lambda _: {**plain, **differences})
    return judge(trace, lambda _: None, faults), plain


def test_both_judges_agree(monkeypatch: pytest.MonkeyPatch, trace: Path) -> None:
    found, plain = judged(monkeypatch, trace)
    assert (found.counts, found.spark, found.is_correct) == (plain, plain, True)
    assert found.gaps == ("B2",)
    assert found.words.endswith("both say the same.")


def test_judges_that_disagree_are_no_verdict(monkeypatch: pytest.MonkeyPatch, trace: Path) -> None:
    found, plain = judged(monkeypatch, trace, early=9)
    assert not found.is_correct
    assert found.words.endswith(f"They disagree: early {plain['early']} and 9.")


def test_a_loss_is_not_correct(monkeypatch: pytest.MonkeyPatch, trace: Path) -> None:
    lose(trace, 1, Random(1))
    found, _ = judged(monkeypatch, trace)
    assert (found.counts["lost"], found.is_correct) == (1, False)


def test_what_was_lost_amid_a_fault_is_counted_apart(
    monkeypatch: pytest.MonkeyPatch, trace: Path
) -> None:
    """What was published from 2 s before the fault to 2 s after its end; and nothing else."""
    before = check(read(trace)).expected
    remove(trace, {place(13), place(14), place(20), place(21)})  # published at half their numbers
    faults = [Span(0.0, 1.0), Span(9.0, 8.1)]
    found, raw = judged(monkeypatch, trace, faults=faults)
    assert found.amid_faults == ({"lost": 0, "unexpected": 0}, {"lost": 2, "unexpected": 0})
    assert (raw["lost"], found.counts["lost"]) == (4, 2)
    assert (raw["expected"], found.counts["expected"]) == (before, before - 2)
    assert found.counts["delivered"] == found.counts["expected"] - 2 + found.counts["early"]
    assert found.all_counts == found.spark == raw
    assert not found.is_correct
    found, _ = judged(monkeypatch, trace, faults=[Span(8.5, 8.5), Span(11.0, 12.0)])
    assert (found.counts["lost"], found.is_correct) == (0, True)


def test_what_is_repeated_amid_a_fault_is_wrong(
    monkeypatch: pytest.MonkeyPatch, trace: Path
) -> None:
    with TraceWriter(trace, "demo", "B1", 2) as writer:
        for row in rows():
            if row.kind == "delivered" and row.sequence == 18:
                order = NOTIFICATIONS + 1
                writer.write(msgspec.structs.replace(row, session=2, client_order=order))
    found, _ = judged(monkeypatch, trace, faults=[Span(0.0, 20.0)])
    assert (found.counts["duplicated"], found.is_correct) == (1, False)


def test_nothing_is_taken_away_that_was_published_amid_a_fault(trace: Path) -> None:
    with pytest.raises(DemoError, match="there were 0 that count"):
        lose(trace, 1, Random(1), [Span(2.0, 13.0)])


def test_without_spark_the_plain_checkers_stand_alone(
    monkeypatch: pytest.MonkeyPatch, trace: Path
) -> None:
    def fail(_: Path) -> dict[str, int]:
        raise SparkError("no Java here; install one")

    monkeypatch.setattr(judgement, "audit_on_spark", fail)
    found = judge(trace, lambda _: None)
    assert (found.spark, found.is_correct) == (None, True)
    assert found.words.endswith("not audited on Spark: no Java here; install one.")


def test_a_missing_pyspark_is_said(monkeypatch: pytest.MonkeyPatch, trace: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sapwood.pipeline.auditing.report", None)
    with pytest.raises(SparkError, match=r"is missing: pip install 'sapwood\[spark\]'$"):
        judgement.audit_on_spark(trace)
