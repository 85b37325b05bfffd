"""The segments of an index: new rows at the end, merged as they become many.

The last segment takes new rows as they come, one chain each under a single group that is always
searched. When it is full it is arranged, together with the segments before it that are not much
larger: so there are never many segments, and a row is arranged again only as often as the logarithm
of their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.matching.arranging import (
    group_codes,
    loosen,
    read_members,
    write_groups,
    write_hash,
    write_loose,
)
from sapwood.matching.layout import (
    ACTIVE,
    CHAIN_END,
    CHAIN_FIRST,
    CHAINS,
    DIRECTORY,
    EMPTY,
    ENTRY_DESTINATION,
    GROUP_END,
    GROUP_FIRST,
    GROUP_SCAN,
    GROUPS,
    HASH_FIRST,
    HASH_SIZE,
    HASHED,
    MEMBER_COUNT,
    MEMBER_FIRST,
    MEMBERS,
    PLAN,
    ROW_COUNT,
    ROW_ENTRY,
    SEGMENT_COLUMNS,
    SEGMENT_COUNT,
    SUBGROUP_FIRST,
    SUBGROUPS,
    Memory,
)

NEW_ROWS_MAX = 256
"""Rows the last segment takes before it is arranged."""

MERGE_FACTOR = 2
"""A segment is merged with what follows when it is less than this many times larger."""

OWN_GROUPS_MIN = 64
"""Rows of one destination in a segment from which on they get groups of their own."""

RowNumbers = NDArray[np.int32]


class SegmentStore:
    """Segments laid out one behind the other in shared arrays."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._count = 0
        self._open(np.zeros(SEGMENT_COLUMNS, np.int64))

    @property
    def sizes(self) -> list[int]:
        """How many rows each segment has, the last one being open for more."""
        sizes: list[int] = self._memory[DIRECTORY][: self._count, MEMBER_COUNT].tolist()
        return sizes

    def append(self, rows: RowNumbers, events: int, longest: int) -> None:
        """Put new rows into the last segment; merge it with others if it is full then."""
        self._memory.reserve(PLAN, longest)
        last = self._memory[DIRECTORY][self._count - 1]
        member, chain = int(last[MEMBER_FIRST] + last[MEMBER_COUNT]), int(last[CHAIN_END])
        self._reserve_members(rows, member, chain)
        last[CHAIN_END] = write_loose(self._memory.address, rows, events, member, chain)
        last[MEMBER_COUNT] += len(rows)
        self._memory[SUBGROUPS][last[SUBGROUP_FIRST], 3] += len(rows)
        if last[MEMBER_COUNT] >= NEW_ROWS_MAX:
            self._merge(events)

    def rebuild(self, rows: RowNumbers, events: int, longest: int) -> None:
        """Arrange all rows given into one segment, in place of what was there."""
        self._memory.reserve(PLAN, longest)
        self._count = 0
        self._arrange(rows, events, np.zeros(SEGMENT_COLUMNS, np.int64))

    def _merge(self, events: int) -> None:
        """Arrange the last segment, with those before it that are not much larger."""
        directory = self._memory[DIRECTORY]
        self._count -= 1
        size = int(directory[self._count, MEMBER_COUNT])
        while self._count and directory[self._count - 1, MEMBER_COUNT] < MERGE_FACTOR * size:
            self._count -= 1
            size += int(directory[self._count, MEMBER_COUNT])
        start = directory[self._count].copy()
        rows = np.zeros(size, np.int32)
        read_members(self._memory.address, int(start[MEMBER_FIRST]), rows)
        self._arrange(rows[self._memory[ROW_ENTRY][rows] >= 0], events, start)

    def _arrange(self, rows: RowNumbers, events: int, segment: NDArray[np.int64]) -> None:
        """Write rows as a segment that begins where another did, and open one behind it."""
        if len(rows) == 0:
            self._open(segment)
            return
        memory = self._memory
        codes = np.zeros((len(rows), 2), np.uint64)
        group_codes(memory.address, rows, events, codes)
        owners = _owners(memory[ENTRY_DESTINATION][memory[ROW_ENTRY][rows]])
        order = np.lexsort((codes[:, 1], owners, codes[:, 0]))
        rows, codes, owners = rows[order], codes[order], owners[order]
        loosen(codes, owners)
        start = tuple(
            int(segment[at]) for at in (GROUP_FIRST, SUBGROUP_FIRST, MEMBER_FIRST, CHAIN_FIRST)
        )
        self._reserve_members(rows, start[2], start[3])
        self._reserve_groups(codes, owners, start[0], start[1])
        group, subgroup, chain, scan = write_groups(
            memory.address, rows, codes, owners, events, start
        )
        segment[[GROUP_SCAN, GROUP_END, CHAIN_END, MEMBER_COUNT]] = scan, group, chain, len(rows)
        self._write_hash(segment)
        self._enter(segment)
        behind = segment.copy()
        behind[[GROUP_FIRST, SUBGROUP_FIRST, CHAIN_FIRST]] = group, subgroup, chain
        behind[MEMBER_FIRST] += len(rows)
        behind[HASH_FIRST] += behind[HASH_SIZE]
        self._open(behind)

    def _open(self, segment: NDArray[np.int64]) -> None:
        """Open an empty last segment: one group and subgroup that every event passes."""
        group, subgroup = int(segment[GROUP_FIRST]), int(segment[SUBGROUP_FIRST])
        self._memory.write(GROUPS, group, [(EMPTY, ACTIVE, subgroup, subgroup + 1, -1)])
        self._memory.write(SUBGROUPS, subgroup, [(EMPTY, ACTIVE, segment[MEMBER_FIRST], 0)])
        segment[[GROUP_SCAN, GROUP_END]] = group, group + 1
        segment[CHAIN_END] = segment[CHAIN_FIRST]
        segment[HASH_SIZE] = segment[MEMBER_COUNT] = 0
        self._enter(segment)

    def _enter(self, segment: NDArray[np.int64]) -> None:
        self._memory.write(DIRECTORY, self._count, [segment])
        self._count += 1
        self._memory.addresses[SEGMENT_COUNT] = self._count

    def _reserve_members(self, rows: RowNumbers, member: int, chain: int) -> None:
        links = int(self._memory[ROW_COUNT][rows].sum())
        self._memory.reserve(MEMBERS, member + len(rows))
        self._memory.reserve(CHAINS, chain + 2 * len(rows) + links)

    def _reserve_groups(
        self, codes: NDArray[np.uint64], owners: NDArray[Any], group: int, subgroup: int
    ) -> None:
        is_group = (codes[1:, 0] != codes[:-1, 0]) | (owners[1:] != owners[:-1])
        is_subgroup = is_group | (codes[1:, 1] != codes[:-1, 1])
        self._memory.reserve(GROUPS, group + 1 + int(is_group.sum()))
        self._memory.reserve(SUBGROUPS, subgroup + 1 + int(is_subgroup.sum()))

    def _write_hash(self, segment: NDArray[np.int64]) -> None:
        first, scan = int(segment[GROUP_FIRST]), int(segment[GROUP_SCAN])
        start, size = int(segment[HASH_FIRST]), 1 << (2 * (scan - first)).bit_length()
        self._memory.reserve(HASHED, start + size)
        write_hash(self._memory.address, first, scan, start, size)
        segment[HASH_SIZE] = size


def _owners(destinations: NDArray[Any]) -> NDArray[np.int32]:
    """Each row's destination if it has many rows here, else -1: grouped with the others."""
    is_many = np.bincount(destinations) >= OWN_GROUPS_MIN
    is_many[0] = False
    return np.where(is_many[destinations], destinations, -1).astype(np.int32)
