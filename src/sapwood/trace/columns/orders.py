"""How far each client is in its own order: the numbers of what it published and got."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from sapwood.compiled.compiling import nogil_kernel

NO_COUNTER: Final = -1
_FIRST_COUNTERS: Final = 64


class Orders:
    """How much each client has published and got, across segments.

    Rows are numbered some time after they came, many at once. So a client that begins anew gets
    another counter, and the old one is kept for the rows that came before.
    """

    def __init__(self) -> None:
        self._counters = np.zeros(_FIRST_COUNTERS, np.int64)
        self._of: dict[str, int] = {}
        self._free = list(range(_FIRST_COUNTERS))
        self._left: list[int] = []

    def begin(self, client: str, order: int | None) -> None:
        """A client is so far; or it has left."""
        counter = self._of.pop(client, None)
        if counter is not None:
            self._left.append(counter)
        if order is not None:
            self._begin(client, order)

    def counter(self, client: str) -> int:
        """The counter of a client, as of now."""
        counter = self._of.get(client)
        return self._begin(client, 0) if counter is None else counter

    def number(self, counters: Any, counts: Any, firsts: Any) -> None:
        """Number all spans of rows that came since the last time, given their counters and lengths.

        The first number of each is written to `firsts`, where it has a counter.
        """
        _number(self._counters, counters, counts, firsts)
        self._free += self._left
        self._left.clear()

    def _begin(self, client: str, order: int) -> int:
        if not self._free:
            self._free += range(len(self._counters), 2 * len(self._counters))
            self._counters = np.concatenate([self._counters, np.zeros_like(self._counters)])
        counter = self._of[client] = self._free.pop()
        self._counters[counter] = order
        return counter


@nogil_kernel
def _number(orders: Any, counters: Any, counts: Any, firsts: Any) -> None:
    for index in range(len(counters)):
        counter = counters[index]
        if counter >= 0:
            firsts[index] = orders[counter] + 1
            orders[counter] += counts[index]


def warm() -> None:
    """Compile, or load what was compiled before, so that the first rows do not wait for it."""
    nothing = np.zeros(0, np.int64)
    Orders().number(nothing, nothing, nothing)
