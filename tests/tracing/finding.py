"""Find the spans in runs of frames, as a segment does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.compiled.cpython import BYTES_OFFSET
from sapwood.compiled.table import ByteTable
from sapwood.trace.columns import frames
from sapwood.trace.columns.frames import Frames


def find(
    runs: Sequence[Frames], wanted: Sequence[bool], publishers: ByteTable, attributes: ByteTable
) -> Any:
    """The spans; `wanted` says for each run whether its attributes matter."""
    rows = [
        (id(run.data) + BYTES_OFFSET, len(run.data), run.first, run.end, is_wanted)
        for run, is_wanted in zip(runs, wanted, strict=False)
    ]
    return frames.find(np.array(rows, np.int64).reshape(-1, 5), publishers, attributes)
