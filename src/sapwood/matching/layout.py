"""The arrays the engine lives in, and what their columns mean.

Everything a match needs is in a few NumPy arrays: a million subscriptions as Python objects would
cost a gigabyte and half a second at every full garbage collection.

**Masks.** ``TABLE`` holds one 64-bit word per *slot*: bit e says whether event e of the chunk has
the property that the slot stands for. Every predicate is read as ``table[high] & ~table[low]``:

- a point (``symbol = 'IBM'``) or a set of points has a slot of its own, ``low`` is ``EMPTY``;
- a range of an ordered domain is the difference of two cumulative slots. The domain is divided
  into cells at subscribed end points; slot k of the attribute's block says *the value lies in a
  cell before k*. A range that ends inside a cell is a superset here, and decided exactly later;
- anything else (``<>``, ``suffix``, ``exists`` …) is a *lazy* slot, ``low`` is ``LAZY``: its word
  is computed by evaluating the constraint, when a search first asks for it in a chunk.

**Rows.** A row is one box of a filter: its predicates, and the entry (key) it belongs to.

**Segments.** Rows are laid out for searching under their two most selective predicates: groups,
in them subgroups, in them the members with the chain of their remaining predicates.

The kernels get a single argument for all of this, ``memory``: the address of the list of addresses
of the arrays (see ``raw.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 64
"""Events matched together: the bits of a mask."""

EMPTY, ACTIVE, FIRST_FREE_SLOT = 0, 1, 2
"""The slot that is always zero, the one with a bit for every event of the chunk, the next one."""

LAZY = -1
"""In place of ``low``: the word of ``high`` is computed on demand."""

POINT, NUMBER_RANGE, TEXT_RANGE, ON_DEMAND = 0, 1, 2, 3
"""Kinds of predicates of a row; they refer to a slot, a range, a range, a slot."""

_COLUMNS: dict[int, tuple[Any, int]] = {}


def _array(number: int, dtype: Any, columns: int = 1) -> int:
    _COLUMNS[number] = (dtype, columns)
    return number


# Per slot: its word; how often it was hit; how many rows name it; its attribute; where its program
# begins, and in which chunk its word was computed (lazy ones); the first link of the list of sets
# that hold it (points). Then the links (set, next link), and the slots a chunk touched.
TABLE = _array(0, np.uint64)
SLOT_HITS = _array(1, np.int64)
SLOT_ROWS = _array(2, np.int32)
SLOT_ATTRIBUTE = _array(3, np.int32)
SLOT_PROGRAM = _array(4, np.int64)
SLOT_EPOCH = _array(5, np.int64)
SLOT_SETS = _array(6, np.int32)
SET_LINKS = _array(7, np.int32, 2)
TOUCHED = _array(8, np.int32)
PER_SLOT = (
    TABLE,
    SLOT_HITS,
    SLOT_ROWS,
    SLOT_ATTRIBUTE,
    SLOT_PROGRAM,
    SLOT_EPOCH,
    SLOT_SETS,
    TOUCHED,
)

# Per attribute: the columns below. The bounds of all cells: numbers; texts by their first bytes,
# and where they stand. All texts, and all programs.
ATTRIBUTES = _array(9, np.int64, (ATTRIBUTE_COLUMNS := 11))
NUMBER_BOUNDS = _array(10, np.float64)
TEXT_KEYS = _array(11, np.uint64)
TEXT_BOUNDS = _array(12, np.int64, 2)
TEXTS = _array(13, np.uint8)
CODE = _array(14, np.int64)

(
    POINTS,
    FALSE_SLOT,
    TRUE_SLOT,
    NUMBER_FIRST,
    NUMBER_CELLS,
    NUMBER_BLOCK,
    TEXT_FIRST,
    TEXT_CELLS,
    TEXT_BLOCK,
    PRESENT,
    REFERENCES,
) = range(11)
"""Columns of ``ATTRIBUTES``: the address of the dictionary from values to slots; slots of false
and true; where its bounds begin, how many there are, and its block of slots, for numbers and for
texts; how many events had the attribute; how many predicates are on it."""

BLOCK_PADDING = 4
"""Slots of a block beyond one per bound: see ``cells.py``."""

# The values of the events of a chunk, event major, one place per attribute.
VALUE_KIND = _array(15, np.uint8)
VALUE_BITS = _array(16, np.int64)
VALUE_LENGTH = _array(17, np.int64)

# Per row: its entry (-1: removed), its first predicate, how many. Per predicate: kind, reference.
# Ranges of numbers: attribute, flags, ends. Ranges of texts: attribute, and both ends (offset,
# length; a negative length is no end).
ROW_ENTRY = _array(18, np.int32)
ROW_FIRST = _array(19, np.int64)
ROW_COUNT = _array(20, np.int32)
PREDICATE_KIND = _array(21, np.uint8)
PREDICATE_REFERENCE = _array(22, np.int32)
NUMBER_RANGES = _array(23, np.int64, (NUMBER_RANGE_COLUMNS := 4))
TEXT_RANGES = _array(24, np.int64, (TEXT_RANGE_COLUMNS := 5))

LOW_KIND, LOW_SIDE, HIGH_KIND, HIGH_SIDE = 0, 3, 4, 7
"""Where the flags of a range of numbers keep the kind (0: no end) and the side of its cuts."""

# Segments: groups (low, high, first and end of subgroups, destination or -1), subgroups (low, high,
# where their members begin, how many), the members, and the hashes from slots to groups. A member
# is pairs of numbers: its row and the length of its chain, then the links (low, high).
DIRECTORY = _array(25, np.int64, (SEGMENT_COLUMNS := 9))
GROUPS = _array(26, np.int32, (GROUP_COLUMNS := 5))
SUBGROUPS = _array(27, np.int32, (SUBGROUP_COLUMNS := 4))
MEMBERS = _array(28, np.int32, 2)
HASHED = _array(29, np.int32)

(
    GROUP_FIRST,
    GROUP_SCAN,
    GROUP_END,
    SUBGROUP_FIRST,
    MEMBER_FIRST,
    MEMBER_END,
    MEMBER_COUNT,
    HASH_FIRST,
    HASH_SIZE,
) = range(9)
"""Columns of ``DIRECTORY``: where its groups of points begin, its groups to be scanned begin, its
groups end; where its other parts begin and end in the shared arrays."""

# Per entry: destination, how many rows, the first of them, and the events of the chunk it was
# found for. Then, per destination, the same; and the entries to reset after the chunk.
ENTRY_DESTINATION = _array(30, np.int32)
ENTRY_ROWS = _array(31, np.int32)
ENTRY_FIRST_ROW = _array(32, np.int32)
ENTRY_FOUND = _array(33, np.uint64)
PER_ENTRY = (ENTRY_DESTINATION, ENTRY_ROWS, ENTRY_FIRST_ROW, ENTRY_FOUND)
DESTINATION_FOUND = _array(34, np.uint64)
FOUND_LOG = _array(35, np.int32)

# Plain numbers, kept behind the addresses.
ATTRIBUTE_COUNT, SEGMENT_COUNT, DESTINATION_COUNT, EPOCH, TOUCHED_COUNT, LOGGED_COUNT = range(
    40, 46
)
FORWARDING, ITEMS, RESULTS, FIRST_EVENT = range(46, 50)
SCRATCH = 50
TYPES = 58
MEMORY_SIZE = 64


class Memory:
    """The arrays by number, and their addresses for the kernels."""

    def __init__(self) -> None:
        self.addresses = np.zeros(MEMORY_SIZE, np.int64)
        self.address = self.addresses.ctypes.data
        self._arrays: list[NDArray[Any]] = []
        for number, (dtype, columns) in sorted(_COLUMNS.items()):
            self._arrays.append(np.zeros(0, dtype))
            self.replace(number, np.zeros(16 if columns == 1 else (16, columns), dtype))

    def __getitem__(self, number: int) -> NDArray[Any]:
        """The array with a number."""
        return self._arrays[number]

    def replace(self, number: int, array: NDArray[Any] | Sequence[Any]) -> None:
        """Put another array in place of one; it is converted and never empty."""
        dtype, columns = _COLUMNS[number]
        shape = (-1,) if columns == 1 else (-1, columns)
        fresh = np.ascontiguousarray(array, dtype).reshape(shape)
        if len(fresh) == 0:
            fresh = np.zeros((1, *fresh.shape[1:]), dtype)
        self._arrays[number] = fresh
        self.addresses[number] = fresh.ctypes.data

    def reserve(self, number: int, size: int) -> NDArray[Any]:
        """Make room for ``size`` items; what was not there before is zero."""
        array = self._arrays[number]
        if size > len(array):
            larger = np.zeros((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
            larger[: len(array)] = array
            self.replace(number, larger)
        return self._arrays[number]

    def write(self, number: int, at: int, items: Any) -> None:
        """Write items from a place on, making room for them."""
        if len(items):
            self.reserve(number, at + len(items))[at : at + len(items)] = items
