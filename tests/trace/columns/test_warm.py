"""What writes traces is compiled before it is needed, and nothing is compiled afterwards."""

from __future__ import annotations

from pathlib import Path

from compiled.forms import forms, kernels_of
from sapwood.trace import TraceWriter
from sapwood.trace.columns import frames, orders, warm
from sapwood.trace.columns.frames import Frames
from sapwood.trace.columns.orders import Orders
from sapwood.trace.columns.segment import Happening, Segment
from sapwood.trace.runfile import delta, hybrid, plain
from sapwood.wire.frames import encode_head, encode_notification


def compiled() -> dict[str, list[str]]:
    """For which types there is code, by function."""
    kernels = kernels_of(frames, orders, delta, hybrid, plain)
    return {name: forms(kernel) for name, kernel in kernels.items()}


def test_recording_compiles_nothing_more(tmp_path: Path) -> None:
    warm.exercise()
    before = compiled()
    assert len(before) == 5
    segment = Segment(Orders(), 1)
    for batch in range(2):
        frames = b"".join(
            encode_notification(encode_head("a.1", {"x": "y" * (x % 300)}), x + 1, 1.0)
            for x in range(3000)
        )
        fields = {"client": "a.1"}
        segment.add([Happening(float(batch), "published", fields, Frames(frames))])
        segment.add([Happening(float(batch), "clock", {})])
    with TraceWriter(tmp_path, "r", "B1", 1, durable=False) as writer:
        writer.write_columns(segment.columns())
    assert compiled() == before
