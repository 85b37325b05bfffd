"""When changes were under way, by the traces of the brokers that took part.

Whoever asks for a change hears of its end later than it happens, by the way of the answer: with
long links by more than a change takes. Each broker of a ring writes how long it was locked and when
that ended; from the first lock to the last end the change was under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sapwood.bench.live.changes import Change
from sapwood.errors import BenchmarkError
from sapwood.protocol.reconfigure.messages import COMPLETED
from sapwood.trace.files import arrow
from sapwood.trace.files.reader import trace_files
from sapwood.trace.schema import RECONFIGURED


class Span(NamedTuple):
    """From the first lock to the last end of a change, and the messages that it took."""

    began: float
    ended: float
    messages: int


def spans_of(trace: Path) -> dict[str, Span]:
    """All completed changes that a trace tells of, by their names."""
    _, parquet = arrow.modules()
    spans: dict[str, Span] = {}
    for path in trace_files(trace):
        rows = parquet.read_table(
            path, columns=["at", "message"], filters=[("kind", "=", RECONFIGURED)]
        )
        _add(spans, zip(rows["at"].to_pylist(), rows["message"].to_pylist(), strict=True))
    return spans


def _add(spans: dict[str, Span], rows: Iterable[tuple[float, str]]) -> None:
    for at, message in rows:
        try:
            said: dict[str, Any] = msgspec.json.decode(message)
        except msgspec.DecodeError:
            continue  # a broker that leaves says so in words
        if said["outcome"] != COMPLETED:
            continue
        span = spans.get(said["change"], Span(at, at, 0))
        spans[said["change"]] = Span(
            min(span.began, at - said["seconds"]),
            max(span.ended, at),
            span.messages + said["messages"],
        )


def timed(changes: Sequence[Change], spans: dict[str, Span]) -> list[Change]:
    """The same changes with the times and messages that the traces tell."""
    found = []
    for change in changes:
        own = [spans[name] for name in change.names if name in spans]
        if len(own) < len(change.names) or not own:
            raise BenchmarkError(
                f"{change.wanted} ({', '.join(change.names)}) is not in the traces of all brokers"
            )
        found.append(
            change._replace(
                began=min(one.began for one in own),
                ended=max(one.ended for one in own),
                messages=sum(one.messages for one in own),
            )
        )
    return found
