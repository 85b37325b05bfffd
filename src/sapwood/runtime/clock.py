"""The time of a broker: that of the wall when it started, and from then on without jumps.

Timers, leases and the order of trace rows must not be at the mercy of somebody who sets a clock.
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
