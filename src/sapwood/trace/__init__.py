"""Traces: what brokers record about themselves, and whether it shows that they did their job.

- `schema`: what a row holds; `recorder` makes rows; `digest`: one short text for a run
- `files`: Parquet files of rows (pyarrow is loaded on first use)
- `columns`, `runfile`: what a live broker noted as columns, and our own Parquet writer for them
- `judge`: the definitions of correctness, and everything about one notification

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

from sapwood.trace.digest import Digest, digest
from sapwood.trace.files.reader import Trace, read
from sapwood.trace.files.writer import RunWriter, SegmentLimits, TraceWriter
from sapwood.trace.judge.checkers import Checker, check
from sapwood.trace.judge.story import story
from sapwood.trace.judge.verdict import Verdict, Violation
from sapwood.trace.judge.watch import Watch
from sapwood.trace.schema import Row, RunSettings

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
