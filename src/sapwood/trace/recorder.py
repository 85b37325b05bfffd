"""Rows of one run, made where all its brokers are in one process, and handed on as they happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from sapwood.trace.schema import Row

Sink: TypeAlias = Callable[[Row], None]
"""Takes the rows of a run as they happen."""


class Recorder:
    """Makes rows of what a network tells, in the order it happens, and hands them on."""

    def __init__(self, run: str, sinks: Sequence[Sink]) -> None:
        self.run = run
        self.now: Callable[[], float] = lambda: 0.0
        self._sinks = sinks
        self._steps: dict[str, int] = {}

    def __call__(self, broker: str, kind: str, **fields: Any) -> None:
        """Record something at a broker."""
        step = self._steps[broker] = self._steps.get(broker, 0) + 1
        row = Row(
            run=self.run, broker=broker, session=1, step=step, at=self.now(), kind=kind, **fields
        )
        for sink in self._sinks:
            sink(row)
