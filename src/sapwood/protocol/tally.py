"""What passes through a broker, counted where notifications are read.

For every source, the notifications and bytes that went to each set of destinations. Counting is by
runs of notifications, which are joined anyway, so it costs next to nothing; what the counts mean is
found out by whoever takes them (``optimize``).
"""

from __future__ import annotations

from typing import Final

CELLS_MAX: Final = 4096
"""Sets of destinations that are told apart for one source until the counts are taken."""

SOURCES_MAX: Final = 65_536
"""Sources that are told apart; nothing is counted for more."""

Destinations = tuple[str, ...]

UNTOLD: Final = ("\0",)
"""Stands for destinations that are not told apart any more; nobody has such a name."""


class Cells(dict[Destinations, list[int]]):
    """The counts of one source: notifications and bytes."""

    __slots__ = ()

    def __missing__(self, destinations: Destinations) -> list[int]:
        if len(self) >= CELLS_MAX:
            return self.setdefault(UNTOLD, [0, 0])
        cell = self[destinations] = [0, 0]
        return cell


class Tally(dict[str, Cells]):
    """The counts of all sources since they were last taken.

    >>> tally = Tally()
    >>> tally["a"]["b", "c"][0] += 5
    >>> tally.take()
    {'a': {('b', 'c'): [5, 0]}}
    >>> tally
    {}

    Several may want to know, each at times of its own: whoever takes counts leaves them for the
    others that were named.

    >>> tally = Tally(("edges",))
    >>> tally["a"]["b",][0] += 5
    >>> tally.take()
    {'a': {('b',): [5, 0]}}
    >>> tally["a"]["b",][0] += 2
    >>> tally.take("edges")
    {'a': {('b',): [7, 0]}}
    """

    __slots__ = ("left",)

    def __init__(self, readers: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.left: dict[str, Tally] = {name: Tally() for name in readers}
        """What others have taken, by who has not taken it yet."""

    def __missing__(self, source: str) -> Cells:
        if len(self) >= SOURCES_MAX:
            return Cells()
        cells = self[source] = Cells()
        return cells

    def take(self, reader: str = "") -> dict[str, Cells]:
        """All counts that a reader has not taken; from now on it is counted anew."""
        taken = dict(self)
        self.clear()
        for name, left in self.left.items():
            if name != reader or left:
                left.add(taken)
        return self.left[reader].take() if self.left.get(reader) else taken

    def add(self, counts: dict[str, Cells]) -> None:
        """Count once more what was counted."""
        for source, cells in counts.items():
            own = self[source]
            for destinations, (number, size) in cells.items():
                cell = own[destinations]
                cell[0] += number
                cell[1] += size
