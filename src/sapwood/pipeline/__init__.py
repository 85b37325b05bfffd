"""Everything that handles data in bulk, on Spark: studies of simulations, audits, traffic.

Transforms are functions from DataFrames to DataFrames and use nothing but DataFrames, so they run
embedded, on a cluster and over Spark Connect alike; jobs around them only read, compose and write.
Nothing here is loaded by `import sapwood`, and Spark only by what needs it.

- `spark`: sessions, and what goes along to workers; `files`, `traces`, `damage`: traces to read
- `auditing`, `loads`, `study`: the three kinds of jobs. No folder has the name of a function that
  is offered here (`audit`, `traffic`): it would take its place as soon as it is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_WHERE = {
    "audit": "sapwood.pipeline.auditing.audit",
    "audit_directory": "sapwood.pipeline.auditing.report",
    "open_session": "sapwood.pipeline.spark.session",
    "read_traces": "sapwood.pipeline.traces",
    "traffic": "sapwood.pipeline.loads.traffic",
    "traffic_directory": "sapwood.pipeline.loads.report",
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
