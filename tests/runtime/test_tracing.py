"""The tracer of a live broker: what is handed over is in files, or a gap says that it is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.runtime.config.settings import TraceSettings
from sapwood.runtime.tracing import BATCH_BYTES, CLOCK_SECONDS, Tracer
from sapwood.trace import Row, RunSettings, read
from sapwood.trace.columns.frames import Frames
from sapwood.wire.frames import encode_head, encode_notification


def notification(sequence: int, size: int = 10) -> Frames:
    head = encode_head("a.1", {"x": 1})
    return Frames(encode_notification(head, sequence, 1.0, b"p" * size))


def tracer(directory: Path, session: int = 1, **settings: object) -> Tracer:
    values = {"directory": str(directory), "run": "r", **settings}
    made = Tracer(TraceSettings(**values), "B1", session, RunSettings())  # type: ignore[arg-type]
    made.start(0.0)
    return made


def kinds(directory: Path) -> list[str]:
    return [row.kind for row in read(directory)]


def test_what_is_recorded_is_in_files(tmp_path: Path) -> None:
    live = tracer(tmp_path)
    live.client("b.1", 7)
    live.record(1.0, "published", {"client": "a.1"}, notification(1))
    live.record(2.0, "delivered", {"client": "b.1", "target": "b.1"}, notification(1))
    live.close(3.0)
    rows = list(read(tmp_path))
    assert [(row.kind, row.client, row.client_order) for row in rows] == [
        ("published", "a.1", 1),
        ("delivered", "b.1", 8),
        ("clock", None, None),
    ]
    assert (live.left_out, live.failure) == (0, "")


def test_a_client_that_has_left_begins_again(tmp_path: Path) -> None:
    live = tracer(tmp_path)
    live.client("a.1", 7)
    live.record(1.0, "published", {"client": "a.1"}, notification(1))
    live.client("a.1", None)
    live.record(1.0, "published", {"client": "a.1"}, notification(2))
    live.close(3.0)
    assert [row.client_order for row in read(tmp_path)] == [8, 1, None]


def test_what_is_old_is_written_while_the_broker_runs(tmp_path: Path) -> None:
    live = tracer(tmp_path, seconds_max=2.0)
    live.record(1.0, "subscribed", {"client": "a.1", "filter": "x > 1"})
    live.tick(2.0)
    live.tick(2.5)  # the next one may come half a second later
    live.record(2.5, "settled", {"client": "a.1", "filter": "x > 1"})
    live.close(2.6)
    assert [path.name for path in read(tmp_path).files] == [
        "000001-000000000001.parquet",
        "000001-000000000002.parquet",
    ]


def test_what_does_not_fit_is_left_out_and_a_gap_says_so(tmp_path: Path) -> None:
    live = tracer(tmp_path, queue_bytes=BATCH_BYTES // 2)
    large = notification(1, BATCH_BYTES // 4)
    for sequence in range(1, 9):  # nothing is handed over before a tick
        live.record(sequence / 10, "published", {"client": "a.1"}, large)
    assert live.left_out == 7
    live.tick(0.9)
    while live.waiting_bytes:
        os.sched_yield()
    live.record(0.9, "published", {"client": "a.1"}, notification(9))
    live.close(1.0)
    assert kinds(tmp_path) == ["published", "trace_gap", "published", "clock"]


def test_a_part_of_a_run_counts_for_its_share_of_what_waits(tmp_path: Path) -> None:
    live = tracer(tmp_path, queue_bytes=BATCH_BYTES)
    whole = b"".join(notification(sequence, 1000).data for sequence in range(1, 1001))
    for first in range(0, 1000, 250):  # together they take as much as the run, not four times
        part = Frames(whole, first, first + 250)
        live.record(1.0, "delivered", {"client": "b.1"}, part, len(whole) // 4)
    waiting = live.waiting_bytes
    live.close(2.0)
    assert len(whole) <= waiting < len(whole) * 1.01
    assert [row.sequence for row in read(tmp_path)] == [*range(1, 1001), None]
    assert live.left_out == 0


def test_a_gap_at_the_end_is_told_too(tmp_path: Path) -> None:
    live = tracer(tmp_path, queue_bytes=100)
    live.record(1.0, "published", {"client": "a.1"}, notification(1))
    live.close(2.0)
    assert kinds(tmp_path) == ["trace_gap", "clock"]


def test_a_file_that_cannot_be_written_leaves_a_gap(tmp_path: Path) -> None:
    live = tracer(tmp_path)
    obstacle = tmp_path / "run=r" / "date=1970-01-01"
    obstacle.write_text("not a folder")
    live.record(1.0, "published", {"client": "a.1"}, notification(1))
    live.tick(4.0)
    while not live.failure:
        os.sched_yield()
    assert "date=1970-01-01" in live.failure
    obstacle.unlink()
    live.close(6.0)
    assert kinds(tmp_path) == ["trace_gap", "clock"]
    assert (live.left_out, live.failure) == (1, "")


def test_the_thread_survives_what_no_row_can_hold(tmp_path: Path) -> None:
    live = tracer(tmp_path)
    live.record(1.0, "published", {"client": "a.1"}, notification(1))
    live.tick(1.0)
    live.record(2.0, "delivered", {"client": "a.1", "publisher": "a.1", "sequence": 2**63})
    live.tick(2.0)
    while not live.failure:
        os.sched_yield()
    assert "OverflowError" in live.failure
    live.record(3.0, "published", {"client": "a.1"}, notification(2))
    live.close(4.0)
    assert kinds(tmp_path) == ["published", "trace_gap", "published", "clock"]
    assert (live.left_out, live.failure) == (1, "")


def test_the_thread_survives_a_time_that_is_none(tmp_path: Path) -> None:
    live = tracer(tmp_path)
    live.record(1e300, "published", {"client": "a.1"}, notification(1))
    live.tick(1.0)
    while not live.failure:
        os.sched_yield()
    assert "which is no time" in live.failure
    live.close(2.0)
    assert kinds(tmp_path) == ["trace_gap", "clock"]
    assert (live.left_out, live.failure) == (1, "")


def test_a_trace_says_how_far_it_is_though_nothing_happens(tmp_path: Path) -> None:
    """What was said before is needless, and goes."""
    live = tracer(tmp_path)
    times = [number * 0.5 for number in range(1, 31)]
    for now in times:
        live.tick(now)
    live.tick(1.0)  # the clock is set back
    live.close(1.5)
    assert [(row.kind, row.at) for row in read(tmp_path)] == [
        *(("clock", at) for at in (3 * CLOCK_SECONDS, 1.0, 1.5))
    ]


def test_a_gap_is_told_before_the_trace_says_how_far_it_is(tmp_path: Path) -> None:
    live = tracer(tmp_path, queue_bytes=100)
    live.record(1.0, "published", {"client": "a.1"}, notification(1))
    live.tick(CLOCK_SECONDS)
    live.close(6.0)
    assert kinds(tmp_path) == ["trace_gap", "clock", "clock"]


CRASHING = """
import os, sys
from sapwood.runtime.config.settings import TraceSettings
from sapwood.runtime.tracing import Tracer
from sapwood.trace.columns.frames import Frames
from sapwood.trace import RunSettings
from sapwood.wire.frames import encode_head, encode_notification

live = Tracer(TraceSettings(directory=sys.argv[1], run="r"), "B1", 1, RunSettings())
live.start(0.0)
for second in range(1000):
    frame = encode_notification(encode_head("a.1", {"x": second}), second + 1, 1.0, b"")
    live.record(float(second), "published", {"client": "a.1"}, Frames(frame))
    live.tick(float(second))
    if second == 20:
        print("ready", flush=True)
"""


@pytest.mark.slow
def test_a_crash_leaves_readable_files_and_the_next_session_says_so(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CRASHING, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGKILL)
    before: list[Row] = list(read(tmp_path))
    assert [row.sequence for row in before] == list(range(1, len(before) + 1))
    live = tracer(tmp_path, session=2)
    live.record(2000.0, "published", {"client": "a.1"}, notification(1))
    live.close(2001.0)
    after = list(read(tmp_path))[len(before) :]
    assert [row.kind for row in after] == ["trace_gap", "published", "clock"]
    assert not list((tmp_path / "run=r").glob(".*.open"))


def test_an_idle_broker_leaves_two_files_however_long_it_idles(tmp_path: Path) -> None:
    live = tracer(tmp_path, seconds_max=2.0)
    live.record(1.0, "subscribed", {"client": "a.1", "filter": "x > 1"})
    for number in range(1, 200):
        live.tick(number / 2)
    live.close(100.0)
    rows = list(read(tmp_path))
    assert [row.kind for row in rows] == ["subscribed", "clock", "clock"]
    assert rows[-1].at == 100.0


def test_what_happens_after_idling_makes_the_clock_needless(tmp_path: Path) -> None:
    live = tracer(tmp_path, seconds_max=2.0)
    for number in range(1, 40):
        live.tick(number / 2)
    live.record(20.0, "subscribed", {"client": "a.1", "filter": "x > 1"})
    live.close(21.0)
    assert kinds(tmp_path) == ["subscribed", "clock"]


def test_a_trace_keeps_to_its_size(tmp_path: Path) -> None:
    """What went is a gap in the end, and nothing else is missing."""
    live = tracer(tmp_path, seconds_max=1.0, keep_bytes=40_000)
    for number in range(1, 400):
        live.record(float(number), "subscribed", {"client": "a.1", "filter": f"x > {number}"})
        live.tick(float(number))
    live.close(400.0)
    rows = list(read(tmp_path))
    assert [row.kind for row in rows[:2]] == ["trace_gap", "subscribed"]
    steps = [row.step for row in rows]
    assert steps[0] > 50
    assert steps == sorted(set(steps))
    size = sum(path.stat().st_size for path in read(tmp_path).files)
    assert size < 40_000 + 61 * 4_000  # within the minute between two looks


def test_a_trace_keeps_to_its_age(tmp_path: Path) -> None:
    live = tracer(tmp_path, seconds_max=1.0, keep_hours=0.05)
    for number in range(1, 400):
        live.record(float(number), "subscribed", {"client": "a.1", "filter": f"x > {number}"})
        live.tick(float(number))
    live.close(400.0)
    rows = list(read(tmp_path))
    assert rows[0].kind == "trace_gap"
    assert 400.0 - 180.0 - 62.0 <= rows[0].at <= 400.0 - 180.0
