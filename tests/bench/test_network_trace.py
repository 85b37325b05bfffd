"""Whether a trace is whole: its rows are counted by kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.bench.network_trace import Kept, kept
from sapwood.trace.files.writer import TraceWriter
from sapwood.trace.schema import Row


@pytest.mark.slow
def test_rows_are_counted_in_all_files(tmp_path: Path) -> None:
    for broker in ("B1", "B2"):
        writer = TraceWriter(tmp_path, "run", broker, 1)
        for step, kind in enumerate(["published", "delivered", "published", "clock"], start=1):
            writer.write(Row(run="run", broker=broker, session=1, step=step, at=0.0, kind=kind))
        writer.close()
    assert kept(tmp_path, messages=5) == Kept(5, 4, 2)


def test_the_share_is_that_of_publications_and_deliveries() -> None:
    assert Kept(10, 10, 10).share == 1
    assert Kept(10, 10, 5).share == pytest.approx(0.75)
    assert Kept(0, 0, 0).share == 1
