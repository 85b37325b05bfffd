"""How much is going on: frames per second, from counts that only grow.

A rate is the difference between two looks at a count, divided by the time between them. Looks are
taken at regular times, not when somebody asks: else two that ask would spoil each other's rates.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Rate(msgspec.Struct, frozen=True):
    """Frames per second, in and out."""

    frames_in: float = 0.0
    frames_out: float = 0.0


NO_RATE = Rate()


class Rates:
    """The rates of some streams by name."""

    def __init__(self) -> None:
        self._at = 0.0
        self._seen: dict[str, tuple[int, int]] = {}
        self._rates: dict[str, Rate] = {}

    def look(self, counts: Mapping[str, tuple[int, int]], now: float) -> None:
        """Take the counts (in, out) of all streams that are there at a time.

        A count that is lower than before belongs to a new stream of the same name.
        """
        passed = now - self._at
        before, self._at, self._seen = self._seen, now, dict(counts)
        self._rates = {
            name: _rate(before[name], count, passed)
            for name, count in counts.items()
            if name in before and passed > 0
        }

    def __getitem__(self, name: str) -> Rate:
        """The rate of a stream; none for one that was not there for two looks."""
        return self._rates.get(name, NO_RATE)


def _rate(before: tuple[int, int], after: tuple[int, int], passed: float) -> Rate:
    incoming, outgoing = (
        (new - old if new >= old else new) / passed for old, new in zip(before, after, strict=True)
    )
    return Rate(round(incoming, 3), round(outgoing, 3))
