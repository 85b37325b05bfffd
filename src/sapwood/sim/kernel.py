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


class Kernel:
    """Virtual time, and what is to happen: (time, order, action, arguments)."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps = 0
        self._heap: list[_Item] = []
        self._queue: deque[_Item] = deque()
        self._queued_until = 0.0
        """The time of what was put into the queue last."""
        self._order = 0

    def __len__(self) -> int:
        """How much is still to happen."""
        return len(self._heap) + len(self._queue)

    def at(self, time: float, action: Action, *arguments: Any) -> None:
        """Let an action happen at a time, which must not be in the past."""
        # Written so that what is no number is refused: it would spoil the order of the heap.
        if not self.now <= time < math.inf:
            raise self._impossible(time)
        self._order += 1
        heappush(self._heap, (time, self._order, action, arguments))

    def soon(self, time: float, action: Action, *arguments: Any) -> None:
        """The same, for what mostly comes in the order of time: cheaper then.

        Something far in the future would keep all that follows out of the queue until then.
        """
        if not self.now <= time < math.inf:
            raise self._impossible(time)
        self._order += 1
        if time >= self._queued_until:
            self._queued_until = time
            self._queue.append((time, self._order, action, arguments))
        else:
            heappush(self._heap, (time, self._order, action, arguments))

    def _impossible(self, time: float) -> ParameterError:
        return ParameterError(
            f"nothing can be scheduled for {time}: it is {self.now} already", "time"
        )

    def run(self, until: float = math.inf) -> None:
        """Let everything happen up to and including a time, or until nothing is left."""
        heap, queue = self._heap, self._queue
        while heap or queue:
            is_queued = not heap or (queue and queue[0] < heap[0])
            if (queue if is_queued else heap)[0][0] > until:
                break
            self.now, _, action, arguments = queue.popleft() if is_queued else heappop(heap)
            self.steps += 1
            action(*arguments)
        if until != math.inf:
            self.now = max(self.now, until)
