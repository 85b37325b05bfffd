"""The time of a broker: that of the wall when it started, and from then on without jumps.

Timers, leases and the order of trace rows must not be at the mercy of somebody who sets a clock.
"""

from __future__ import annotations

import time


class Clock:
    """Seconds since 1970, as they were at the start, plus what has passed since."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        """The time now."""
        return time.monotonic() + self._offset

    @property
    def skew(self) -> float:
        """How far the clock on the wall is ahead, since somebody has set it: what expires cares."""
        return time.time() - self.now()
