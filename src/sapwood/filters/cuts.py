r"""Subsets of an ordered domain as sorted boundaries.

A set is a tuple of *cuts* in rising order: the first enters the set, the second leaves it, the
third enters it again, and so on; after an odd number of cuts the set goes on without end. As the
cuts strictly rise, every set that is a finite union of intervals has exactly one such tuple, so
equality of sets is equality of tuples.

Two orders are used, and nothing here knows which:

* numbers: a cut is ``(value, side)``, side 0 just before the value and 1 just after it. The order
  is dense: there is always something between two values.
* texts: a cut is a text and lies just before it. The next text after ``s`` is ``s + "\0"``, so a
  half-open interval expresses every bound.

All operations are linear sweeps over the two tuples.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Protocol, TypeVar


class Ordered(Protocol):
    """Anything with a total order."""

    def __lt__(self, other: Any, /) -> bool: ...


Cut = TypeVar("Cut", bound=Ordered)

# Whether a place is in the result, indexed by (in the left set) + 2 * (in the right set).
_IN_EITHER = (False, True, True, True)
_IN_BOTH = (False, False, False, True)
_IN_LEFT_ONLY = (False, True, False, False)


def union(left: tuple[Cut, ...], right: tuple[Cut, ...]) -> tuple[Cut, ...]:
    """What is in one set or in the other."""
    if not right or left == right:
        return left
    if not left:
        return right
    return _combined(left, right, _IN_EITHER)


def intersection(left: tuple[Cut, ...], right: tuple[Cut, ...]) -> tuple[Cut, ...]:
    """What is in both sets."""
    if not left or left == right:
        return left
    if not right:
        return right
    return _combined(left, right, _IN_BOTH)


def difference(left: tuple[Cut, ...], right: tuple[Cut, ...]) -> tuple[Cut, ...]:
    """What is in the left set only."""
    if not left or not right:
        return left
    return _combined(left, right, _IN_LEFT_ONLY)


def complement(cuts: tuple[Cut, ...], minimum: Cut) -> tuple[Cut, ...]:
    """What is not in the set; `minimum` is the cut below the whole domain."""
    if cuts and cuts[0] == minimum:
        return cuts[1:]
    return (minimum, *cuts)


def contains(cuts: tuple[Cut, ...], position: Cut) -> bool:
    """Whether the place right after the cut `position` is in the set."""
    return bisect_right(cuts, position) & 1 == 1


def covers(larger: tuple[Cut, ...], smaller: tuple[Cut, ...]) -> bool:
    """Whether every place of `smaller` is in `larger`."""
    if smaller == larger:
        return True
    for low, high in segments(smaller):
        leaving = bisect_right(larger, low)
        if not leaving & 1:
            return False
        if leaving < len(larger) and (high is None or larger[leaving] < high):
            return False
    return True


def segments(cuts: tuple[Cut, ...]) -> Iterator[tuple[Cut, Cut | None]]:
    """The intervals of a set in rising order; the last may have no upper cut (None)."""
    for index in range(0, len(cuts) - 1, 2):
        yield cuts[index], cuts[index + 1]
    if len(cuts) & 1:
        yield cuts[-1], None


def _combined(
    left: tuple[Cut, ...], right: tuple[Cut, ...], wanted: tuple[bool, ...]
) -> tuple[Cut, ...]:
    """Sweep over both sets at once and note where `wanted` changes.

    The number of cuts passed so far tells by its parity whether the sweep is inside a set.
    """
    result: list[Cut] = []
    inside = False
    i = j = 0
    while i < len(left) or j < len(right):
        if j == len(right) or (i < len(left) and left[i] < right[j]):
            cut = left[i]
            i += 1
        else:
            cut = right[j]
            j += 1
            if i < len(left) and left[i] == cut:
                i += 1
        now = wanted[(i & 1) + 2 * (j & 1)]
        if now is not inside:
            result.append(cut)
            inside = now
    return tuple(result)
