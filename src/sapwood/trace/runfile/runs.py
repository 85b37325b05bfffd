"""Columns of rows as runs: what repeats, or counts up, is stated once with how often.

Who records many rows at a time has them that way: thousands of rows that differ in nothing but a
number that grows by one. `sapwood.trace.runfile.parquet` writes such columns without ever making
the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np


class Texts(NamedTuple):
    """A column of texts: for each run its place in a list of texts, -1 for null."""

    places: Any
    counts: Any
    """How many rows each run has; none has none."""
    texts: Sequence[str]


class Numbers(NamedTuple):
    """A column of numbers: for each run the first one.

    In a column of integers that may be null, 0 is null: what is counted there begins at 1.
    """

    firsts: Any
    counts: Any
    slope: int = 0
    """By how much each number of a run is larger than the one before."""


Column: TypeAlias = Texts | Numbers
Columns: TypeAlias = Mapping[str, Column]
"""By name; one that is not there is null everywhere."""


def same_text(text: str, count: int) -> Texts:
    """A column that says the same in every row."""
    return Texts(np.zeros(1, np.int64), np.array([count], np.int64), (text,))


def same_number(number: int, count: int, *, slope: int = 0) -> Numbers:
    """A column of one run."""
    return Numbers(np.array([number], np.int64), np.array([count], np.int64), slope)


def joined(values: Any, counts: Any) -> tuple[Any, Any]:
    """Runs of which no two neighbours have the same value.

    >>> [each.tolist() for each in joined(np.array([7, 7, 5]), np.array([1, 2, 3]))]
    [[7, 5], [3, 3]]
    """
    if len(values) < 2:
        return values, counts
    begins = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    if len(begins) == len(values):
        return values, counts
    return values[begins], np.add.reduceat(counts, begins)
