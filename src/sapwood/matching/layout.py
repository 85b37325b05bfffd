"""The arrays the engine lives in, and what their columns mean.

Everything a match needs is in a few NumPy arrays: a million subscriptions as Python objects would
cost a gigabyte and half a second at every full garbage collection.

**Masks.** ``TABLE`` holds one mask per *slot*: bit e says whether event e of the chunk has the
property that the slot stands for. A mask is one word for chunks of up to 64 events and four words
for larger ones; it is zero between chunks. Every predicate is read as ``high & ~low``, the masks
of two slots:

- a point (``symbol = 'IBM'``) has a slot of its own, ``low`` is ``EMPTY``;
- a range of an ordered domain is the difference of two cumulative slots. The domain is divided
  into cells at subscribed end points; slot k of the attribute's block says *the value lies in a
  cell before k*. Where a range ends inside a cell, this is a superset, decided exactly later;
- anything else (``in``, ``<>``, ``suffix``, ``exists`` …) is a *lazy* slot, ``low`` is ``LAZY``:
  its mask is computed when a search first asks for it in a chunk, a set from the masks of its
  points, the others by evaluating the constraint.

Entries with several rows and destinations have slots too, for the events they were found for.

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

from sapwood.errors import MatchIndexError

NARROW, WIDE = (0,), (0, 0, 0, 0)
"""Masks of one word and of four: see ``raw.py``."""

CHUNK = 64 * len(WIDE)
"""Events matched together at most: the bits of a wide mask."""

EMPTY, ACTIVE, FIRST_FREE_SLOT = 0, 1, 2
"""The slot that is always zero, the one with a bit for every event of the chunk, the next one."""

LAZY = -1
"""In place of ``low``: the word of ``high`` is computed on demand."""

POINT, NUMBER_RANGE, TEXT_RANGE, ON_DEMAND = 0, 1, 2, 3
"""Kinds of predicates of a row; they refer to a slot, a range, a range, a lazy slot."""

_KINDS: list[tuple[Any, int]] = []
"""Per array: the type of its items and how many make a row."""


def _array(dtype: Any, columns: int = 1) -> int:
    """Number of a new array."""
    _KINDS.append((dtype, columns))
    return len(_KINDS) - 1


# Per slot: its mask; how often it was hit; how many rows and sets name it; its attribute. Of lazy
# ones: where their program begins (of a set, minus one minus where the list of its points begins),
# and in which chunk the mask was computed. Then the slots that a chunk has set.
TABLE = _array(np.uint64, 4)
SLOT_HITS = _array(np.int64)
SLOT_REFERENCES = _array(np.int32)
SLOT_ATTRIBUTE = _array(np.int32)
SLOT_PROGRAM = _array(np.int64)
SLOT_EPOCH = _array(np.int64)
TOUCHED = _array(np.int32)
PER_SLOT = (
    TABLE,
    SLOT_HITS,
    SLOT_REFERENCES,
    SLOT_ATTRIBUTE,
    SLOT_PROGRAM,
    SLOT_EPOCH,
    TOUCHED,
)

# Per attribute: the columns below. The bounds of all cells: numbers; texts by their first bytes,
# and where they stand. All texts, and all programs.
ATTRIBUTES = _array(np.int64, (ATTRIBUTE_COLUMNS := 13))
NUMBER_BOUNDS = _array(np.float64)
TEXT_KEYS = _array(np.uint64)
TEXT_BOUNDS = _array(np.int64, 2)
TEXTS = _array(np.uint8)
CODE = _array(np.int64)

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
    NUMBER_MARKED,
    TEXT_MARKED,
) = range(13)
"""Columns of ``ATTRIBUTES``: the address of the dictionary from values to slots; slots of false
and true; where its bounds begin, how many there are, and its block of slots, for numbers and for
texts; how many events had the attribute; how many predicates are on it; the first slot of each
block that the chunk has marked, or zero."""

BLOCK_PADDING = 2
"""Slots of a block beyond one per bound: see ``cells.py``."""

# The values of the events of a chunk, event major, one place per attribute.
VALUE_KIND = _array(np.uint8)
VALUE_BITS = _array(np.int64)
VALUE_LENGTH = _array(np.int64)

# Per row: its entry (-1: removed), where its chain is, its first predicate, how many. Per
# predicate: kind, reference. Ranges of numbers: attribute, flags, ends. Ranges of texts: attribute,
# and both ends (offset, length; a negative length is no end).
ROW_ENTRY = _array(np.int32)
ROW_PLACE = _array(np.int32)
ROW_FIRST = _array(np.int64)
ROW_COUNT = _array(np.int32)
PREDICATE_KIND = _array(np.uint8)
PREDICATE_REFERENCE = _array(np.int32)
NUMBER_RANGES = _array(np.int64, (NUMBER_RANGE_COLUMNS := 4))
TEXT_RANGES = _array(np.int64, (TEXT_RANGE_COLUMNS := 5))

LOW_KIND, LOW_SIDE, HIGH_KIND, HIGH_SIDE = 0, 3, 4, 7
"""Where the flags of a range of numbers keep the kind (0: no end) and the side of its cuts."""

# Segments: groups (low, high, first and end of subgroups, destination or -1), subgroups (low, high,
# first member, how many), members, the rest of their chains, and the hashes from slots to groups.
# A member has the first two links of its chain (low, high) and where the rest begins: its row, how
# many more links, flags, its entry (-1: removed), and these links. Nearly all members fail at the
# first two links, so what a search streams through is kept short; and what a match needs of a row
# stands in one place, since every other place would be a cache miss.
DIRECTORY = _array(np.int64, (SEGMENT_COLUMNS := 10))
GROUPS = _array(np.int32, (GROUP_COLUMNS := 5))
SUBGROUPS = _array(np.int32, (SUBGROUP_COLUMNS := 4))
MEMBERS = _array(np.int32, (MEMBER_COLUMNS := 5))
CHAINS = _array(np.int32, 2)
HASHED = _array(np.int32)

LAST_INEXACT = 29
"""Flags of a member: a bit for each inexact link; this one for all links from there on."""

SEVERAL_ROWS = 1 << 30
"""Flag of a member: its entry has more rows."""

(
    GROUP_FIRST,
    GROUP_SCAN,
    GROUP_END,
    SUBGROUP_FIRST,
    MEMBER_FIRST,
    MEMBER_COUNT,
    CHAIN_FIRST,
    CHAIN_END,
    HASH_FIRST,
    HASH_SIZE,
) = range(10)
"""Columns of ``DIRECTORY``: where its groups of points begin, its groups to be scanned begin, its
groups end; where its other parts begin and end in the shared arrays."""

# Per entry: its destination, how many rows, the first of them, and its slot if they are several.
# Per destination: its slot.
ENTRY_DESTINATION = _array(np.int32)
ENTRY_ROWS = _array(np.int32)
ENTRY_FIRST_ROW = _array(np.int32)
ENTRY_SLOT = _array(np.int32)
PER_ENTRY = (ENTRY_DESTINATION, ENTRY_ROWS, ENTRY_FIRST_ROW, ENTRY_SLOT)
DESTINATION_SLOT = _array(np.int32)

# Room for one row's predicates while it is arranged.
PLAN = _array(np.int64, (PLAN_COLUMNS := 6))

# Per event of a chunk: how many destinations were found for it, and the first few of them. Written
# in place of lists of objects where the caller wants numbers.
FOUND = _array(np.int32, (FOUND_COLUMNS := 16))

# Plain numbers and masks, kept behind the addresses.
ATTRIBUTE_COUNT, SEGMENT_COUNT, EPOCH, TOUCHED_COUNT = range(40, 44)
FORWARDING, ITEMS, RESULTS, FIRST_EVENT = range(44, 48)
SCRATCH = 48
TYPES = 56
GROUP_MASK, SUBGROUP_MASK, MEMBER_MASK, UNSURE_MASK = range(64, 80, 4)
REPORT_COUNT = 80
REPORTS, REPORTS_MAX, REPORT_COLUMNS = 84, 16, 5
MEMORY_SIZE = REPORTS + REPORTS_MAX * REPORT_COLUMNS


class Memory:
    """The arrays by number, and their addresses for the kernels."""

    def __init__(self) -> None:
        self.addresses = np.zeros(MEMORY_SIZE, np.int64)
        self.address = self.addresses.ctypes.data
        self._arrays: list[NDArray[Any]] = []
        for number, (dtype, columns) in enumerate(_KINDS):
            self._arrays.append(np.zeros(0, dtype))
            self.replace(number, np.zeros(16 if columns == 1 else (16, columns), dtype))

    def __reduce__(self) -> tuple[Any, ...]:
        """Never: the addresses are of this process, and of these arrays."""
        raise MatchIndexError(
            "the engine's arrays cannot be copied or pickled; pickle the MatchIndex they belong to"
        )

    def __getitem__(self, number: int) -> NDArray[Any]:
        """The array with a number."""
        return self._arrays[number]

    def replace(self, number: int, array: NDArray[Any] | Sequence[Any]) -> None:
        """Put another array in place of one; it is converted and never empty."""
        dtype, columns = _KINDS[number]
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
