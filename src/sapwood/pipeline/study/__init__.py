"""Studies: many simulations that differ in a few parameters, and what they come to.

`run_study` runs one, and is loaded when it is asked for: workers import this package, too.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What is offered here, loaded when it is asked for."""
    if name == "run_study":
        return import_module("sapwood.pipeline.study.study").run_study
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["run_study"]
