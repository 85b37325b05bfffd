"""The kernel of the simulator: virtual time and what happens next.

What is to happen stands in a heap of tuples; ties in time are broken by the order in which things
were scheduled, so that the order is total and one seed gives one run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, TypeAlias

from sapwood.errors import ParameterError

Action: TypeAlias = Callable[..., object]


class Kernel:
    """Virtual time, and a heap of (time, order, action, arguments)."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps = 0
        self._heap: list[tuple[float, int, Action, tuple[Any, ...]]] = []
        self._order = 0

    def __len__(self) -> int:
        """How much is still to happen."""
        return len(self._heap)

    def at(self, time: float, action: Action, *arguments: Any) -> None:
        """Let an action happen at a time, which must not be in the past."""
        # Written so that what is no number is refused: it would spoil the order of the heap.
        if not self.now <= time < math.inf:
            raise ParameterError(
                f"nothing can be scheduled for {time}: it is {self.now} already", "time"
            )
        self._order += 1
        heappush(self._heap, (time, self._order, action, arguments))

    def run(self, until: float = math.inf) -> None:
        """Let everything happen up to and including a time, or until nothing is left."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, action, arguments = heappop(heap)
            self.steps += 1
            action(*arguments)
        if until != math.inf:
            self.now = max(self.now, until)
