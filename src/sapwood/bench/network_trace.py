"""Whether a trace is whole: one that leaves rows out is cheap for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sapwood.trace.files import arrow
from sapwood.trace.files.reader import trace_files


class Kept(NamedTuple):
    """What a trace holds of what was published to one subscriber."""

    messages: int
    published: int
    delivered: int

    @property
    def share(self) -> float:
        """Share of publications and deliveries that were recorded."""
        return (self.published + self.delivered) / (2 * self.messages) if self.messages else 1.0


def kept(directory: Path, messages: int) -> Kept:
    """Count the rows of a trace, when its broker has ended."""
    _, parquet = arrow.modules()
    counts: dict[str, int] = {}
    for path in trace_files(directory):
        kinds = parquet.read_table(path, columns=["kind"]).column("kind")
        for found in kinds.value_counts().to_pylist():
            counts[found["values"]] = counts.get(found["values"], 0) + found["counts"]
    return Kept(messages, counts.get("published", 0), counts.get("delivered", 0))
