"""When a change was under way is what the brokers of its ring say, all of them together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.live.living import swapped
from sapwood.bench.live.spans import Span, spans_of, timed
from sapwood.errors import BenchmarkError
from sapwood.trace import Row, RunWriter


def ended(broker: str, at: float, seconds: float, change: str, outcome: str = "completed") -> Row:
    said = {"change": change, "outcome": outcome, "messages": 3, "seconds": seconds}
    return row(broker, at, "reconfigured", message=json.dumps(said))


def row(broker: str, at: float, kind: str, message: str | None = None) -> Row:
    return Row(
        run="live", broker=broker, session=1, step=round(at * 10), at=at, kind=kind, message=message
    )


def test_from_the_first_lock_to_the_last_end(tmp_path: Path) -> None:
    rows = [
        ended("A", 10.5, 0.4, "A.1/1"),
        ended("A", 12.0, 0.5, "A.1/2", "undone"),
        row("B", 1.0, "reconfigured", "B leaves"),
        ended("B", 10.4, 0.5, "A.1/1"),
        ended("C", 10.6, 0.4, "A.1/1"),
        row("C", 11.0, "clock"),
    ]
    with RunWriter(tmp_path, "live") as writer:
        for one in rows:
            writer.write(one)
    (found,) = spans_of(tmp_path).items()
    assert found == ("A.1/1", Span(10.4 - 0.5, 10.6, 9))


def test_changes_get_the_times_of_the_traces() -> None:
    (found,) = timed([swapped(1.0, 2.0, "C.1/1")], {"C.1/1": Span(1.1, 1.3, 9)})
    assert (found.began, found.ended, found.messages) == (1.1, 1.3, 9)


def test_a_change_that_no_trace_tells_of_is_named() -> None:
    with pytest.raises(BenchmarkError, match=r"swap C-B → C-A \(C.1/1\) is not in the traces"):
        timed([swapped(1.0, 2.0, "C.1/1")], {})
