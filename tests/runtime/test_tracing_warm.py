"""What writes traces is compiled before it is needed, and nothing is compiled afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher

from sapwood.runtime import tracing_frames, tracing_orders, tracing_warm
from sapwood.runtime.tracing_columns import Happening, Segment
from sapwood.runtime.tracing_frames import Frames
from sapwood.runtime.tracing_orders import Orders
from sapwood.trace import TraceWriter, delta, hybrid, plain
from sapwood.wire.frames import encode_head, encode_notification


def compiled() -> dict[str, list[Any]]:
    """For which types there is code, by function."""
    return {
        f"{module.__name__}.{name}": [str(types) for types in function.signatures]
        for module in (tracing_frames, tracing_orders, delta, hybrid, plain)
        for name, function in vars(module).items()
        if isinstance(function, Dispatcher)
    }


def test_recording_compiles_nothing_more(tmp_path: Path) -> None:
    tracing_warm.exercise()
    before = compiled()
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
