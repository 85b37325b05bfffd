"""The time of a broker: that of the wall when it started, and from then on without jumps.

Timers, leases and the order of trace rows must not be at the mercy of somebody who sets a clock.
What expires is: its time was said by another clock, and one that was wrong at the start may have
been corrected since.
"""

from __future__ import annotations

import time
from time import monotonic


class Clock:
    """Seconds since 1970, as they were at the start, plus what has passed since."""

    def __init__(self) -> None:
        self._offset = time.time() - monotonic()

    def now(self) -> float:
        """The time now."""
        return monotonic() + self._offset

    @property
    def skew(self) -> float:
        """How far the clock on the wall is ahead of this one, because somebody has set it."""
        return time.time() - self.now()
