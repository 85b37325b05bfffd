"""Everything that handles data in bulk, on Spark: studies of simulations, audits, traffic.

Transforms are functions from DataFrames to DataFrames and use nothing but DataFrames, so they run
embedded, on a cluster and over Spark Connect alike; jobs around them only read, compose and write.
Nothing here is loaded by `import sapwood`, and Spark only by what needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_WHERE = {
    "audit": "sapwood.pipeline.auditing",
    "audit_directory": "sapwood.pipeline.report",
    "open_session": "sapwood.pipeline.session",
    "read_traces": "sapwood.pipeline.traces",
    "traffic": "sapwood.pipeline.loads",
    "traffic_directory": "sapwood.pipeline.traffic_report",
}


def __getattr__(name: str) -> Any:
    """What is offered here, loaded when it is asked for."""
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "audit",
    "audit_directory",
    "open_session",
    "read_traces",
    "traffic",
    "traffic_directory",
]
