"""Filters and kinds of notifications: which filter wants what, and which covers which.

The papers have classes that exclude each other: as many filters as kinds, each for one. Then only
equal filters matter, and covering-based routing is identity-based routing. With filters that
overlap, what a link carries follows from two tables: which kinds of notifications a filter matches,
and which filters cover it. Both can be read off filters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sapwood.analysis.traffic.arrays import Flags
from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value


@dataclass(frozen=True, eq=False)
class Interests:
    """Which kinds of notifications the filters match, and which filters cover which.

    Made by ``disjoint``, ``interests`` or ``interests_of``. Tables are there only where they say
    something, so that many classes that exclude each other take no room.
    """

    kinds: int
    filters: int
    matches: Flags | None = None
    """By kind, then by filter: whether the filter matches such notifications. None: filter number k
    matches kind number k, and nothing else."""
    covers: Flags | None = None
    """By filter, then by filter: whether the second covers the first and is not equal to it. None:
    no filter covers another."""

    @property
    def are_disjoint(self) -> bool:
        """Whether there is one filter for each kind, and no other."""
        return self.matches is None


def disjoint(classes: int) -> Interests:
    """Classes that exclude each other: filter number k wants kind number k, and nothing else."""
    if classes < 1:
        raise ParameterError(f"is {classes}; wanted 1 or more", "classes")
    return Interests(classes, classes)


def interests(matches: npt.ArrayLike, covers: npt.ArrayLike) -> Interests:
    """Interests from the two tables, checked."""
    found, above = _flags(matches), _flags(covers)
    if found.ndim != 2 or not found.size:
        raise ParameterError("there is no filter or no kind of notification", "interests")
    kinds, filters = found.shape
    _check_covers(found, above)
    is_plain = kinds == filters and bool((found == np.eye(kinds, dtype=bool)).all())
    return Interests(kinds, filters, None if is_plain else found, above if above.any() else None)


def _check_covers(matches: Flags, covers: Flags) -> None:
    """Refuse what no filters can do: covers are no circle, and match all that they cover."""
    filters = matches.shape[1]
    if covers.shape != (filters, filters):
        raise ParameterError(f"is not a table of {filters} by {filters} filters", "covers")
    mutual = np.argwhere(covers & covers.T)
    if len(mutual):
        one, other = (int(number) for number in mutual[0])
        raise ParameterError(
            f"filters {one} and {other} cover each other: equal filters are one", "covers"
        )
    indirect = (covers.astype(np.float64) @ covers.astype(np.float64)) > 0
    if (indirect & ~covers).any():
        raise ParameterError("what covers a cover covers, too: wanted all pairs", "covers")
    for narrow, wide in np.argwhere(covers):
        if (matches[:, narrow] & ~matches[:, wide]).any():
            raise ParameterError(
                f"filter {wide} covers filter {narrow}, but does not match all it matches",
                "covers",
            )


def interests_of(filters: Sequence[Filter], kinds: Sequence[Mapping[str, Value]]) -> Interests:
    """Read off filters what they match and what they cover.

    >>> wide, narrow = Filter("price > 10"), Filter("price > 20")
    >>> found = interests_of([wide, narrow], [{"price": 15}, {"price": 25}])
    >>> found.matches.tolist(), found.covers.tolist()
    ([[True, False], [True, True]], [[False, False], [True, False]])
    """
    matches = [[filter.matches(kind) for filter in filters] for kind in kinds]
    covers = [
        [wide is not narrow and wide.covers(narrow) for wide in filters] for narrow in filters
    ]
    shape = (len(kinds), len(filters))
    return interests(np.array(matches, dtype=bool).reshape(shape), covers)


def _flags(values: npt.ArrayLike) -> Flags:
    copy = np.array(values, dtype=np.bool_)
    copy.flags.writeable = False
    return copy
