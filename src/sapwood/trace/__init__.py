"""Traces: what brokers record about themselves, and whether it shows that they did their job.

- `schema`, `writer`, `reader`: rows, and Parquet files of them (pyarrow is loaded on first use)
- `digest`: one short text for a run
- `checkers`: the definitions of correctness; `watch`: some of them at once, row by row
- `story`: everything about one notification

>>> row = {"run": "r", "broker": "B1", "session": 1}
>>> verdict = check(
...     [
...         Row(**row, step=1, at=0, kind="subscribed", client="ann.1", filter="price > 100"),
...         Row(
...             **row,
...             step=2,
...             at=5,
...             kind="published",
...             publisher="bob.1",
...             sequence=1,
...             attributes='{"price": 120.5}',
...         ),
...         Row(**row, step=3, at=9, kind="clock"),
...     ]
... )
>>> verdict.expected, verdict.lost, verdict.violations[0].notification
(1, 1, 'bob.1:1')
"""

from __future__ import annotations

from sapwood.trace.checkers import Checker, check
from sapwood.trace.digest import Digest, digest
from sapwood.trace.reader import Trace, read
from sapwood.trace.schema import Row, RunSettings
from sapwood.trace.story import story
from sapwood.trace.verdict import Verdict, Violation
from sapwood.trace.watch import Watch
from sapwood.trace.writer import RunWriter, SegmentLimits, TraceWriter

__all__ = [
    "Checker",
    "Digest",
    "Row",
    "RunSettings",
    "RunWriter",
    "SegmentLimits",
    "Trace",
    "TraceWriter",
    "Verdict",
    "Violation",
    "Watch",
    "check",
    "digest",
    "read",
    "story",
]
