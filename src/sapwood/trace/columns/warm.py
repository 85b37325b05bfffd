"""Compile what writes traces, and keep it on disk: ``python -m sapwood.trace.columns.warm``.

A broker that records does this before it listens. Loading what is on disk takes a second.
"""

from __future__ import annotations

import sys

from sapwood.trace.columns import frames, orders
from sapwood.trace.runfile import parquet


def exercise() -> None:
    """Do once what compiled code does for a trace."""
    frames.warm()
    orders.warm()
    parquet.warm()


def main() -> None:
    """Compile what is not compiled yet, and say so."""
    exercise()
    sys.stderr.write("the kernels of traces: ready\n")


if __name__ == "__main__":
    main()
