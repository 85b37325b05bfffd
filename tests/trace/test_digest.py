"""Equal rows, equal digest: under any hash seed, in memory and from files; any change shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from sapwood.trace.digest import Digest, digest
from sapwood.trace.files.reader import read
from sapwood.trace.files.writer import RunWriter
from sapwood.trace.schema import COLUMNS, Row
from tracing.files import bare_row, full_row

ROWS = [full_row(1), bare_row(2), full_row(1, broker="B2"), bare_row(3), bare_row(2, broker="B2")]


def test_growing_row_by_row() -> None:
    grown = Digest()
    seen = [grown.hexdigest()]
    for row in ROWS:
        grown.add(row)
        seen.append(grown.hexdigest())
    assert len(set(seen)) == len(ROWS) + 1
    assert seen[-1] == digest(ROWS) == grown.hexdigest()


def test_it_stays_what_it_was() -> None:
    """Recorded runs are compared with new ones: a change of this value breaks that."""
    assert digest(ROWS) == "c470d4e1dd1a2dbec56022cde88cbd61"


def test_brokers_may_be_interleaved_but_not_their_rows() -> None:
    by_broker = sorted(ROWS, key=lambda row: row.place)
    assert by_broker != ROWS
    assert digest(by_broker) == digest(ROWS)
    assert digest([ROWS[1], ROWS[0], *ROWS[2:]]) != digest(ROWS)


@pytest.mark.parametrize("name", [*COLUMNS, "extra"])
def test_every_column_counts(name: str) -> None:
    other = {"extra": {"odd": 1}, "at": 7.0}.get(name, "other")
    if COLUMNS.get(name) == "int64":
        other = 77
    assert digest([msgspec.structs.replace(full_row(1), **{name: other})]) != digest([full_row(1)])


def test_a_row_does_not_run_into_the_next() -> None:
    one = [full_row(1, filter="a"), full_row(2, filter=None)]
    two = [full_row(1, filter=None), full_row(2, filter="a")]
    assert digest(one) != digest(two)


def test_whole_seconds_are_times_like_others() -> None:
    assert digest([bare_row(at=1)]) == digest([bare_row(at=1.0)])


def test_the_order_of_unknown_columns_does_not_count() -> None:
    one, two = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert digest([bare_row(extra=one)]) == digest([bare_row(extra=two)])


def test_the_same_from_files(tmp_path: Path) -> None:
    rows: list[Row] = [*ROWS, full_row(9, at=0.1 + 0.2, extra={"odd": "ü", "even": 2})]
    with RunWriter(tmp_path, "r") as writer:
        for row in rows:
            writer.write(row)
    assert digest(read(tmp_path)) == digest(rows)


def test_the_same_under_any_hash_seed() -> None:
    code = (
        "from sapwood.trace import Row, digest\n"
        "rows = [Row(run='r', broker=b, session=1, step=s, at=.5, kind='x', extra={c: 1 for c in"
        " {'p', 'q', 'r', 's'}}) for s in (1, 2) for b in {'B1', 'B2', 'B3', 'B4'}]\n"
        "print(digest(rows))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(found) == 1
