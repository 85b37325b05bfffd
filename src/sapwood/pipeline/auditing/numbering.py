"""Dense numbers for 64-bit keys, in the order in which they turn up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sapwood.pipeline.auditing import kernels

Numbers = npt.NDArray[np.int64]


class Numbering:
    """Keys and their numbers; it only ever grows.

    >>> numbering = Numbering()
    >>> numbering.numbers(np.array([70, 20, 70])).tolist()
    [0, 1, 0]
    >>> numbering.keys([1]).tolist()
    [20]
    """

    def __init__(self) -> None:
        self._slots, self._ids = kernels.new_table()
        self._keys = np.zeros(16, np.int64)
        self._count = 0

    def __len__(self) -> int:
        """How many keys there are."""
        return self._count

    def numbers(self, keys: Any) -> Numbers:
        """The number of each key; new ones are entered."""
        before = self._count
        self._slots, self._ids, self._count, numbers, fresh = kernels.number(
            self._slots, self._ids, self._count, keys
        )
        while self._count > len(self._keys):
            self._keys = np.concatenate((self._keys, np.zeros_like(self._keys)))
        self._keys[before : self._count] = fresh
        found: Numbers = numbers
        return found

    def keys(self, numbers: Any) -> Numbers:
        """The other way round."""
        found: Numbers = self._keys[: self._count][numbers]
        return found

    def all_keys(self) -> Numbers:
        """All keys, by number."""
        return self._keys[: self._count]
