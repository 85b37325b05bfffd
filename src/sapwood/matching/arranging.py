"""Arrange rows into a segment: groups, subgroups, members and chains.

A row's predicates are ordered by how many events are expected to pass them. The first two decide
its group and subgroup, so that one failing test skips all rows that share it; a range is rounded
outwards there, since hardly two rows share the exact one. What remains, and the exact form of what
was rounded, is the row's chain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import kernel, part
from sapwood.compiled.raw import byte_at, int_at, long_at, set_int, set_long
from sapwood.matching.ends import (
    high_number_cell,
    high_text_cell,
    low_number_cell,
    low_text_cell,
)
from sapwood.matching.layout import (
    ACTIVE,
    ATTRIBUTE_COLUMNS,
    ATTRIBUTES,
    CHAINS,
    CODE,
    EMPTY,
    ENTRY_ROWS,
    GROUP_COLUMNS,
    GROUPS,
    HASHED,
    LAST_INEXACT,
    LAZY,
    MEMBER_COLUMNS,
    MEMBERS,
    NUMBER_BLOCK,
    NUMBER_CELLS,
    NUMBER_RANGE,
    NUMBER_RANGE_COLUMNS,
    NUMBER_RANGES,
    ON_DEMAND,
    PLAN,
    PLAN_COLUMNS,
    POINT,
    PREDICATE_KIND,
    PREDICATE_REFERENCE,
    PRESENT,
    REFERENCES,
    ROW_COUNT,
    ROW_ENTRY,
    ROW_FIRST,
    ROW_PLACE,
    SEVERAL_ROWS,
    SLOT_ATTRIBUTE,
    SLOT_HITS,
    SLOT_PROGRAM,
    SLOT_REFERENCES,
    SUBGROUP_COLUMNS,
    SUBGROUPS,
    TEXT_BLOCK,
    TEXT_CELLS,
    TEXT_RANGE_COLUMNS,
    TEXT_RANGES,
)
from sapwood.matching.searching import hash_of

PRIOR_WEIGHT = 256.0
"""How many events' worth of evidence the guess before any event counts for."""

ROUNDING = 4
"""Ends are rounded by less than half of a range's width: to the largest power of two of cells
whose multiple by this is not above the width."""

SUBGROUP_MIN = 4
"""Rows that must share group and second predicate to be a subgroup of their own."""

_EVALUATED_SHARE = 1e3

_SHARE, _LOW, _HIGH, _IS_EXACT, _ROUNDED_LOW, _ROUNDED_HIGH = range(PLAN_COLUMNS)
"""Columns of a plan: a row's predicates while it is arranged. The expected share of events (in
millionths of a millionth), its slots and whether they say all, the slots of its rounded form."""

_SHARE_UNIT = 1e12
_SCAN = np.uint64(1) << np.uint64(63)


@part
def _set_slots(step: Any, low: Any, high: Any) -> None:
    """Plan a predicate that its slots express exactly."""
    set_long(step, _LOW, low)
    set_long(step, _HIGH, high)
    set_long(step, _IS_EXACT, 1)
    set_long(step, _ROUNDED_LOW, low)
    set_long(step, _ROUNDED_HIGH, high)


@part
def _set_range(step: Any, block: Any, cells: Any, low: Any, high: Any, is_exact: Any) -> Any:
    """Plan a range over the cells from low up to and without high; its share of all cells."""
    coarse = 1
    while coarse * ROUNDING <= high - low:
        coarse *= 2
    set_long(step, _LOW, block + low)
    set_long(step, _HIGH, block + high)
    set_long(step, _IS_EXACT, is_exact)
    set_long(step, _ROUNDED_LOW, block + low - low % coarse)
    set_long(step, _ROUNDED_HIGH, block + min(high + (coarse - high) % coarse, cells + 1))
    return (high - low) / (cells + 1.0)


@part
def _attribute(memory: Any, number: Any) -> Any:
    return long_at(memory, ATTRIBUTES) + 8 * ATTRIBUTE_COLUMNS * number


@part
def _range_share(memory: Any, kind: Any, reference: Any, events: Any, step: Any) -> Any:
    """Plan a range predicate; the share of the events expected in it."""
    if kind == NUMBER_RANGE:
        ends = long_at(memory, NUMBER_RANGES) + 8 * NUMBER_RANGE_COLUMNS * reference
        attribute = _attribute(memory, long_at(ends, 0))
        low, is_low_exact = low_number_cell(memory, attribute, ends)
        high, is_high_exact = high_number_cell(memory, attribute, ends)
        block, cells = long_at(attribute, NUMBER_BLOCK), long_at(attribute, NUMBER_CELLS)
    else:
        ends = long_at(memory, TEXT_RANGES) + 8 * TEXT_RANGE_COLUMNS * reference
        attribute = _attribute(memory, long_at(ends, 0))
        low, is_low_exact = low_text_cell(memory, attribute, ends)
        high, is_high_exact = high_text_cell(memory, attribute, ends)
        block, cells = long_at(attribute, TEXT_BLOCK), long_at(attribute, TEXT_CELLS)
    present = (long_at(attribute, PRESENT) + PRIOR_WEIGHT) / (events + PRIOR_WEIGHT)
    return present * _set_range(step, block, cells, low, high, is_low_exact and is_high_exact)


@part
def _point_share(memory: Any, slot: Any, events: Any) -> Any:
    """The share of the events expected in a point: what was seen, blended with a guess.

    Before any event was seen, values that many subscriptions name are taken to be common.
    """
    attribute = _attribute(memory, int_at(long_at(memory, SLOT_ATTRIBUTE), slot))
    named = int_at(long_at(memory, SLOT_REFERENCES), slot)
    guess = named / max(long_at(attribute, REFERENCES), 1)
    hits = long_at(long_at(memory, SLOT_HITS), slot)
    return (hits + PRIOR_WEIGHT * guess) / (events + PRIOR_WEIGHT)


@part
def _lazy_share(memory: Any, slot: Any, events: Any) -> Any:
    """The share of the events expected in a set of points; above all others if it is no set.

    A constraint that has to be evaluated event by event comes last.
    """
    program, code = long_at(long_at(memory, SLOT_PROGRAM), slot), long_at(memory, CODE)
    if program >= 0:
        return _EVALUATED_SHARE
    share = 0.0
    points = -1 - program
    for at in range(points + 1, points + 1 + long_at(code, points)):
        share += _point_share(memory, long_at(code, at), events)
    return share


@part
def _plan_predicate(memory: Any, predicate: Any, events: Any, step: Any) -> None:
    kind = byte_at(long_at(memory, PREDICATE_KIND), predicate)
    reference = np.int64(int_at(long_at(memory, PREDICATE_REFERENCE), predicate))
    if kind == POINT:
        _set_slots(step, EMPTY, reference)
        share = _point_share(memory, reference, events)
    elif kind == ON_DEMAND:
        _set_slots(step, LAZY, reference)
        share = _lazy_share(memory, reference, events)
    else:
        share = _range_share(memory, kind, reference, events, step)
    set_long(step, _SHARE, np.int64(share * _SHARE_UNIT))


@part
def _step(memory: Any, at: Any) -> Any:
    """The address of a predicate in the plan."""
    return long_at(memory, PLAN) + 8 * PLAN_COLUMNS * at


@part
def _plan_row(memory: Any, row: Any, events: Any) -> Any:
    """Fill the plan with a row's predicates, the most selective first; how many there are."""
    first, count = long_at(long_at(memory, ROW_FIRST), row), int_at(long_at(memory, ROW_COUNT), row)
    for at in range(count):
        step = _step(memory, at)
        _plan_predicate(memory, first + at, events, step)
        before = step - 8 * PLAN_COLUMNS
        while before >= long_at(memory, PLAN) and long_at(step, _SHARE) < long_at(before, _SHARE):
            for column in range(PLAN_COLUMNS):
                kept = long_at(step, column)
                set_long(step, column, long_at(before, column))
                set_long(before, column, kept)
            step, before = before, before - 8 * PLAN_COLUMNS
    return count


@part
def _code(low: Any, high: Any) -> Any:
    """A predicate as one number; points sort before what has to be scanned."""
    code = np.uint64(low + 1) << np.uint64(32) | np.uint64(high)
    return code if low == EMPTY and high != ACTIVE else code | _SCAN


@part
def _open_node(node: Any, code: Any, first: Any) -> None:
    """Begin a group or subgroup: its low and high slot, and its first part."""
    set_int(node, 0, np.int64((code & ~_SCAN) >> np.uint64(32)) - 1)
    set_int(node, 1, np.int64(code & np.uint64(0xFFFFFFFF)))
    set_int(node, 2, first)


@kernel
def group_codes(memory: Any, rows: Any, events: Any, codes: Any) -> None:
    """The codes of group and subgroup of each row."""
    for at in range(len(rows)):
        count = _plan_row(memory, rows[at], events)
        codes[at, 0] = codes[at, 1] = _code(EMPTY, ACTIVE)
        for level in range(min(count, 2)):
            step = _step(memory, level)
            codes[at, level] = _code(long_at(step, _ROUNDED_LOW), long_at(step, _ROUNDED_HIGH))


@kernel
def loosen(codes: Any, owners: Any) -> None:
    """Take rows of sorted codes out of subgroups that too few of them share."""
    first = 0
    for at in range(1, len(codes) + 1):
        if (
            at < len(codes)
            and codes[at, 0] == codes[first, 0]
            and codes[at, 1] == codes[first, 1]
            and owners[at] == owners[first]
        ):
            continue
        if at - first < SUBGROUP_MIN:
            for loose in range(first, at):
                codes[loose, 1] = _code(EMPTY, ACTIVE)
        first = at


@part
def _write_link(place: Any, low: Any, high: Any) -> None:
    set_int(place, 0, low)
    set_int(place, 1, high)


@part
def _write_member(memory: Any, row: Any, grouped: Any, events: Any, member: Any, chain: Any) -> Any:
    """Write a row as a member, the rest of its chain from a place on; the place behind that.

    Its chain has all predicates but the first ``grouped``, and of these the ranges, which were
    rounded.
    """
    front = long_at(memory, MEMBERS) + 4 * MEMBER_COLUMNS * member
    rest = long_at(memory, CHAINS) + 8 * chain
    count = _plan_row(memory, row, events)
    links = flags = 0
    for turn in range(count):
        step = _step(memory, (turn + grouped) % count if count > grouped else turn)
        if turn < count - grouped or long_at(step, _LOW) > EMPTY:
            place = front + 8 * links if links < 2 else rest + 8 * links
            _write_link(place, long_at(step, _LOW), long_at(step, _HIGH))
            if not long_at(step, _IS_EXACT):
                flags |= 1 << min(links, LAST_INEXACT)
            links += 1
    for missing in range(links, 2):
        _write_link(front + 8 * missing, EMPTY, ACTIVE)
    set_int(front, 4, chain)
    more = max(links - 2, 0)
    entry = int_at(long_at(memory, ROW_ENTRY), row)
    if entry >= 0 and int_at(long_at(memory, ENTRY_ROWS), entry) > 1:
        flags |= SEVERAL_ROWS
    _write_link(rest, row, more)
    _write_link(rest + 8, flags, entry)
    set_int(long_at(memory, ROW_PLACE), row, chain)
    return chain + 2 + more


@kernel
def write_loose(memory: Any, rows: Any, events: Any, member: Any, chain: Any) -> Any:
    """Write rows as members that no group sorts; where their chains end."""
    for row in rows:
        chain = _write_member(memory, row, 0, events, member, chain)
        member += 1
    return chain


@kernel
def write_groups(memory: Any, rows: Any, codes: Any, owners: Any, events: Any, start: Any) -> Any:
    """Write groups, subgroups and members over sorted rows, from the places in ``start`` on.

    Returns where groups, subgroups and chains end, and where the groups to be scanned begin.
    """
    groups, subgroups = long_at(memory, GROUPS), long_at(memory, SUBGROUPS)
    group, subgroup, member, chain = start
    scan = -1
    for at in range(len(rows)):
        is_new = at == 0 or codes[at, 0] != codes[at - 1, 0] or owners[at] != owners[at - 1]
        if is_new:
            if scan < 0 and codes[at, 0] & _SCAN:
                scan = group
            _open_node(groups + 4 * GROUP_COLUMNS * group, codes[at, 0], subgroup)
            set_int(groups, GROUP_COLUMNS * group + 4, owners[at])
            group += 1
        if is_new or codes[at, 1] != codes[at - 1, 1]:
            _open_node(subgroups + 4 * SUBGROUP_COLUMNS * subgroup, codes[at, 1], member + at)
            set_int(subgroups, SUBGROUP_COLUMNS * subgroup + 3, 0)
            subgroup += 1
        set_int(groups, GROUP_COLUMNS * (group - 1) + 3, subgroup)
        size = SUBGROUP_COLUMNS * (subgroup - 1) + 3
        set_int(subgroups, size, int_at(subgroups, size) + 1)
        grouped = 1 if codes[at, 1] == _code(EMPTY, ACTIVE) else 2
        chain = _write_member(memory, rows[at], grouped, events, member + at, chain)
    return group, subgroup, chain, group if scan < 0 else scan


@kernel
def read_members(memory: Any, member: Any, rows: Any) -> None:
    """The rows of the members from one on, as many as ``rows`` has room for."""
    members, chains = long_at(memory, MEMBERS), long_at(memory, CHAINS)
    for at in range(len(rows)):
        chain = np.int64(int_at(members, MEMBER_COLUMNS * (member + at) + 4))
        rows[at] = int_at(chains, 2 * chain)


@kernel
def write_hash(memory: Any, first: Any, scan: Any, start: Any, size: Any) -> None:
    """Hash each slot of the groups from ``first`` to ``scan`` to the first group that has it."""
    groups, hashed = long_at(memory, GROUPS), long_at(memory, HASHED) + 4 * start
    for place in range(size):
        set_int(hashed, place, -1)
    before = -1
    for group in range(first, scan):
        slot = int_at(groups, GROUP_COLUMNS * group + 1)
        if slot == before:
            continue
        before = slot
        place = hash_of(slot, size)
        while int_at(hashed, place) >= 0:
            place = (place + 1) & (size - 1)
        set_int(hashed, place, group)
