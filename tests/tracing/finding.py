"""Find the spans in runs of frames, as a segment does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.matching.cpython import BYTES_OFFSET
from sapwood.trace.columns import frames
from sapwood.trace.columns.frames import Frames, Interner


def find(
    runs: Sequence[Frames], wanted: Sequence[bool], publishers: Interner, attributes: Interner
) -> Any:
    """The spans; `wanted` says for each run whether its attributes matter."""
    rows = [
        (id(run.data) + BYTES_OFFSET, len(run.data), run.first, run.end, is_wanted)
        for run, is_wanted in zip(runs, wanted, strict=False)
    ]
    return frames.find(np.array(rows, np.int64).reshape(-1, 5), publishers, attributes)
