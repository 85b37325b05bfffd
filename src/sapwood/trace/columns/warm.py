"""Use all kernels that write traces once, so that they are compiled, or loaded from disk.

A broker that records does this before it listens. Loading what is on disk takes a second.
"""

from __future__ import annotations

from sapwood.trace.columns import frames, orders
from sapwood.trace.runfile import parquet


def exercise() -> None:
    """Do once what compiled code does for a trace."""
    frames.warm()
    orders.warm()
    parquet.warm()
