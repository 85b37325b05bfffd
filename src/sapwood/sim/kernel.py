"""The kernel of the simulator: virtual time and what happens next.

What is to happen stands in a heap of tuples; ties in time are broken by the order in which things
were scheduled, so that the order is total and one seed gives one run. Beside the heap there is a
queue for what is scheduled in the order of time anyway, as messages are over links of one delay:
a queue costs a fraction of a heap. What happens next is the earlier of the two beginnings.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, TypeAlias

from sapwood.errors import ParameterError

Action: TypeAlias = Callable[..., object]


_Item: TypeAlias = tuple[float, int, Action, tuple[Any, ...]]
_Arrival: TypeAlias = tuple[float, int, Action, Any, Any]


class Kernel:
    """Virtual time, and what is to happen: (time, order, action, what the action is given)."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[_Item] = []
        self._queue: deque[_Arrival] = deque()
        self._queued_until = 0.0
        """The time of what was put into the queue last."""
        self._order = 0
        self._heap_begins = math.inf
        """Not after the time of the first in the heap: what is earlier need not be compared."""

    def __len__(self) -> int:
        """How much is still to happen."""
        return len(self._heap) + len(self._queue)

    @property
    def steps(self) -> int:
        """How much has happened, or is happening: what was scheduled and is no more to come."""
        return self._order - len(self)

    def at(self, time: float, action: Action, *arguments: Any) -> None:
        """Let an action happen at a time, which must not be in the past."""
        # Written so that what is no number is refused: it would spoil the order of the heap.
        if not self.now <= time < math.inf:
            raise self._impossible(time)
        self._order += 1
        heappush(self._heap, (time, self._order, action, arguments))
        if time < self._heap_begins:  # noqa: PLR1730 - it is called for everything that happens
            self._heap_begins = time

    def soon(self, time: float, action: Action, subject: Any, event: Any) -> None:
        """The same, for what mostly comes in the order of time: cheaper then.

        Something far in the future would keep all that follows out of the queue until then.
        """
        if self._queued_until <= time < math.inf and time >= self.now:
            self._queued_until = time
            self._order = order = self._order + 1
            self._queue.append((time, order, action, subject, event))
        else:
            self.at(time, action, subject, event)

    def _impossible(self, time: float) -> ParameterError:
        return ParameterError(
            f"nothing can be scheduled for {time}: it is {self.now} already", "time"
        )

    def run(self, until: float = math.inf) -> None:
        """Let everything happen up to and including a time, or until nothing is left."""
        heap, queue = self._heap, self._queue
        while True:
            self._heap_begins = heap[0][0] if heap else math.inf
            while queue:
                item = queue.popleft()
                time, _, action, subject, event = item
                if time > until or (time >= self._heap_begins and heap[0] < item):
                    queue.appendleft(item)
                    break
                self.now = time
                action(subject, event)
            if not heap or heap[0][0] > until:
                break
            self.now, _, action, arguments = heappop(heap)
            action(*arguments)
        if until != math.inf:
            self.now = max(self.now, until)
