"""Search the segments for the rows that a chunk of events matches.

Groups of points are found through the slots that the chunk touched, the others are scanned. A
group, a subgroup or a member is left as soon as no event of the chunk is left in its mask. What
the cells could not decide is decided exactly, event by event, for members only.

Two ways out: every matching entry's key is appended to the list of its event, or, for forwarding
(Mühl et al., cited in Jaeger 2007, 2.2.3), each destination once, however many of its entries
match; then whatever concerns only destinations already found is not searched further.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.matching.compiling import part
from sapwood.matching.cpython import list_append, list_get
from sapwood.matching.exact import compare_text, holds, is_after_cut
from sapwood.matching.layout import (
    ACTIVE,
    ATTRIBUTE_COUNT,
    CODE,
    DESTINATION_FOUND,
    DIRECTORY,
    EMPTY,
    ENTRY_DESTINATION,
    ENTRY_FOUND,
    ENTRY_ROWS,
    EPOCH,
    FIRST_EVENT,
    FORWARDING,
    FOUND_LOG,
    GROUP_COLUMNS,
    GROUP_END,
    GROUP_FIRST,
    GROUP_SCAN,
    GROUPS,
    HASH_FIRST,
    HASH_SIZE,
    HASHED,
    HIGH_KIND,
    HIGH_SIDE,
    ITEMS,
    LAZY,
    LOGGED_COUNT,
    LOW_SIDE,
    MEMBERS,
    NUMBER_RANGE,
    NUMBER_RANGE_COLUMNS,
    NUMBER_RANGES,
    PREDICATE_KIND,
    PREDICATE_REFERENCE,
    RESULTS,
    ROW_COUNT,
    ROW_ENTRY,
    ROW_FIRST,
    SEGMENT_COLUMNS,
    SEGMENT_COUNT,
    SLOT_ATTRIBUTE,
    SLOT_EPOCH,
    SLOT_PROGRAM,
    SUBGROUP_COLUMNS,
    SUBGROUPS,
    TABLE,
    TEXT_RANGE,
    TEXT_RANGE_COLUMNS,
    TEXT_RANGES,
    TEXTS,
    TOUCHED,
    TOUCHED_COUNT,
    VALUE_BITS,
    VALUE_KIND,
    VALUE_LENGTH,
)
from sapwood.matching.raw import byte_at, int_at, long_at, set_int, set_long, set_word, word_at

_ONE = np.uint64(1)


@part
def hash_of(slot: Any, size: Any) -> Any:
    """Where the search for a slot begins in a hash of ``size`` places (a power of two)."""
    spread = np.uint64(slot) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)
    return np.int64(spread) & (size - 1)


@part
def _lazy_word(memory: Any, slot: Any) -> Any:
    """The word of a slot that is computed on demand, at most once a chunk."""
    table, epochs, epoch = (
        long_at(memory, TABLE),
        long_at(memory, SLOT_EPOCH),
        long_at(memory, EPOCH),
    )
    if long_at(epochs, slot) == epoch:
        return word_at(table, slot)
    kinds, bits = long_at(memory, VALUE_KIND), long_at(memory, VALUE_BITS)
    lengths, code, texts = (
        long_at(memory, VALUE_LENGTH),
        long_at(memory, CODE),
        long_at(memory, TEXTS),
    )
    program = long_at(long_at(memory, SLOT_PROGRAM), slot)
    place = np.int64(int_at(long_at(memory, SLOT_ATTRIBUTE), slot))
    active = word_at(table, ACTIVE)
    word = np.uint64(0)
    bit = _ONE
    while bit & active:
        kind, value, length = byte_at(kinds, place), long_at(bits, place), long_at(lengths, place)
        if holds(code, program, texts, kind, value, length):
            word |= bit
        bit <<= _ONE
        place += long_at(memory, ATTRIBUTE_COUNT)
    set_word(table, slot, word)
    set_long(epochs, slot, epoch)
    return word


@part
def _word(memory: Any, table: Any, node: Any) -> Any:
    """The events that may satisfy the predicate a node begins with: its low and high slot."""
    low = int_at(node, 0)
    if low == LAZY:
        return _lazy_word(memory, int_at(node, 1))
    return word_at(table, int_at(node, 1)) & ~word_at(table, low)


@part
def number_range_holds(ends: Any, kind: Any, bits: Any) -> Any:
    """Whether a number lies in a range."""
    flags = long_at(ends, 1)
    low, high = flags & 7, (flags >> HIGH_KIND) & 7
    if low and not is_after_cut(kind, bits, low, long_at(ends, 2), (flags >> LOW_SIDE) & 1):
        return False
    if high == 0:
        return True
    return not is_after_cut(kind, bits, high, long_at(ends, 3), (flags >> HIGH_SIDE) & 1)


@part
def text_range_holds(ends: Any, texts: Any, address: Any, length: Any) -> Any:
    """Whether a text lies in a range from a low end (inside) to a high end (outside, or none)."""
    if compare_text(address, length, texts + long_at(ends, 1), long_at(ends, 2)) < 0:
        return False
    high_length = long_at(ends, 4)
    return (
        high_length < 0 or compare_text(address, length, texts + long_at(ends, 3), high_length) < 0
    )


@part
def _row_holds(memory: Any, row: Any, event: Any) -> Any:
    """Whether all range predicates of a row hold exactly for an event.

    The event is a candidate, so it has a number or a text where the row wants one.
    """
    bits = long_at(memory, VALUE_BITS)
    values = event * long_at(memory, ATTRIBUTE_COUNT)
    first = long_at(long_at(memory, ROW_FIRST), row)
    for predicate in range(first, first + int_at(long_at(memory, ROW_COUNT), row)):
        kind = byte_at(long_at(memory, PREDICATE_KIND), predicate)
        reference = np.int64(int_at(long_at(memory, PREDICATE_REFERENCE), predicate))
        if kind == NUMBER_RANGE:
            ends = long_at(memory, NUMBER_RANGES) + 8 * NUMBER_RANGE_COLUMNS * reference
            place = values + long_at(ends, 0)
            value_kind = byte_at(long_at(memory, VALUE_KIND), place)
            if not number_range_holds(ends, value_kind, long_at(bits, place)):
                return False
        elif kind == TEXT_RANGE:
            ends = long_at(memory, TEXT_RANGES) + 8 * TEXT_RANGE_COLUMNS * reference
            place = values + long_at(ends, 0)
            length = long_at(long_at(memory, VALUE_LENGTH), place)
            if not text_range_holds(ends, long_at(memory, TEXTS), long_at(bits, place), length):
                return False
    return True


@part
def _unsure(table: Any, mask: Any, link: Any, end: Any) -> Any:
    """The events of a member's mask that lie in a cell with an end of one of its ranges."""
    sure = mask
    while link < end:
        low, high = int_at(link, 0), int_at(link, 1)
        if low > EMPTY:
            sure &= word_at(table, high - 1) & ~word_at(table, low + 1)
        link += 8
    return mask & ~sure


@part
def _confirmed(memory: Any, row: Any, mask: Any, unsure: Any) -> Any:
    """The mask without the unsure events that the row does not match exactly."""
    event = 0
    while unsure:
        if unsure & _ONE and not _row_holds(memory, row, event):
            mask &= ~(_ONE << np.uint64(event))
        unsure >>= _ONE
        event += 1
    return mask


@part
def _append(memory: Any, mask: Any, number: Any) -> None:
    """Append an item to the result lists of the events in a mask."""
    item = list_get(long_at(memory, ITEMS), number)
    results = long_at(memory, RESULTS)
    event = long_at(memory, FIRST_EVENT)
    while mask:
        if mask & _ONE:
            list_append(list_get(results, event), item)
        mask >>= _ONE
        event += 1


@part
def _report(memory: Any, entry: Any, mask: Any) -> None:
    """Give out an entry's key, or its destination if it is new, for the events in a mask."""
    if long_at(memory, FORWARDING):
        destination = int_at(long_at(memory, ENTRY_DESTINATION), entry)
        found = long_at(memory, DESTINATION_FOUND)
        before = word_at(found, destination)
        set_word(found, destination, before | mask)
        _append(memory, mask & ~before, destination)
        return
    if int_at(long_at(memory, ENTRY_ROWS), entry) > 1:
        found = long_at(memory, ENTRY_FOUND)
        before = word_at(found, entry)
        if before == 0:
            logged = long_at(memory, LOGGED_COUNT)
            set_int(long_at(memory, FOUND_LOG), logged, entry)
            set_long(memory, LOGGED_COUNT, logged + 1)
        set_word(found, entry, before | mask)
        mask &= ~before
    _append(memory, mask, entry)


@part
def _meet(memory: Any, member: Any, word: Any) -> None:
    """Report a member for the events that its whole chain leaves of a mask."""
    table = long_at(memory, TABLE)
    row, end = int_at(member, 0), member + 8 * (int_at(member, 1) + 1)
    link = member + 8
    while link < end and word:
        word &= _word(memory, table, link)
        link += 8
    if word == 0:
        return
    entry = int_at(long_at(memory, ROW_ENTRY), row)
    if entry < 0:
        return
    unsure = _unsure(table, word, member + 8, end)
    if unsure:
        word = _confirmed(memory, row, word, unsure)
    if word:
        _report(memory, entry, word)


@part
def _search_members(memory: Any, member: Any, count: Any, mask: Any) -> None:
    """Search members that stand one behind the other.

    Nearly all fail at one of the first two links of their chain, so these are tested together,
    without a branch in between that the processor would guess wrong.
    """
    table = long_at(memory, TABLE)
    for _ in range(count):
        links = int_at(member, 1)
        word = mask
        if links >= 2:
            low, other_low = int_at(member, 2), int_at(member, 4)
            if (low | other_low) >= 0:
                word &= word_at(table, int_at(member, 3)) & ~word_at(table, low)
                word &= word_at(table, int_at(member, 5)) & ~word_at(table, other_low)
        if word:
            _meet(memory, member, word)
        member += 8 * (links + 1)


@part
def _not_yet_found(memory: Any, mask: Any, destination: Any) -> Any:
    """The events of a mask for which a group's destination, if it has one, is still open."""
    if destination >= 0 and long_at(memory, FORWARDING):
        return mask & ~word_at(long_at(memory, DESTINATION_FOUND), destination)
    return mask


@part
def _search_group(memory: Any, group: Any) -> None:
    """Search a group, given by its address."""
    table = long_at(memory, TABLE)
    destination = int_at(group, 4)
    word = _not_yet_found(memory, _word(memory, table, group), destination)
    if word == 0:
        return
    subgroups, members = long_at(memory, SUBGROUPS), long_at(memory, MEMBERS)
    for number in range(int_at(group, 2), int_at(group, 3)):
        subgroup = subgroups + 4 * SUBGROUP_COLUMNS * number
        inner = word & _word(memory, table, subgroup)
        if inner:
            first = members + 8 * np.int64(int_at(subgroup, 2))
            _search_members(memory, first, int_at(subgroup, 3), inner)
            word = _not_yet_found(memory, word, destination)
            if word == 0:
                return


@part
def _search_touched(memory: Any, segment: Any) -> None:
    """Search the groups of points whose slot the chunk touched."""
    touched, groups = long_at(memory, TOUCHED), long_at(memory, GROUPS)
    hashed = long_at(memory, HASHED) + 4 * long_at(segment, HASH_FIRST)
    size, scan = long_at(segment, HASH_SIZE), long_at(segment, GROUP_SCAN)
    for at in range(long_at(memory, TOUCHED_COUNT)):
        slot = int_at(touched, at)
        place = hash_of(slot, size)
        number = np.int64(int_at(hashed, place))
        while number >= 0 and int_at(groups, GROUP_COLUMNS * number + 1) != slot:
            place = (place + 1) & (size - 1)
            number = np.int64(int_at(hashed, place))
        while 0 <= number < scan and int_at(groups, GROUP_COLUMNS * number + 1) == slot:
            _search_group(memory, groups + 4 * GROUP_COLUMNS * number)
            number += 1


@part
def search(memory: Any) -> None:
    """Report everything in the segments that the chunk read last matches."""
    segment, groups = long_at(memory, DIRECTORY), long_at(memory, GROUPS)
    for _ in range(long_at(memory, SEGMENT_COUNT)):
        first = long_at(segment, GROUP_SCAN)
        if 2 * long_at(memory, TOUCHED_COUNT) < first - long_at(segment, GROUP_FIRST):
            _search_touched(memory, segment)
        else:
            first = long_at(segment, GROUP_FIRST)
        for number in range(first, long_at(segment, GROUP_END)):
            _search_group(memory, groups + 4 * GROUP_COLUMNS * number)
        segment += 8 * SEGMENT_COLUMNS
    found, log = long_at(memory, ENTRY_FOUND), long_at(memory, FOUND_LOG)
    for at in range(long_at(memory, LOGGED_COUNT)):
        set_word(found, int_at(log, at), 0)
    set_long(memory, LOGGED_COUNT, 0)
