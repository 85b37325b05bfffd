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

from sapwood.compiled.compiling import part
from sapwood.compiled.cpython import ITEMS_OFFSET, list_append, list_get
from sapwood.compiled.raw import (
    bit_count,
    byte_at,
    int_at,
    long_at,
    lowest_bit,
    meets,
    narrow,
    prefetch,
    set_int,
    set_long,
    set_word,
    word_at,
)
from sapwood.matching.chunk import is_empty, note_touched
from sapwood.matching.exact import compare_text, holds, is_after_cut
from sapwood.matching.layout import (
    ACTIVE,
    ATTRIBUTE_COUNT,
    CHAINS,
    CODE,
    DESTINATION_SLOT,
    DIRECTORY,
    EMPTY,
    ENTRY_DESTINATION,
    ENTRY_SLOT,
    EPOCH,
    FIRST_EVENT,
    FORWARDING,
    FOUND,
    FOUND_COLUMNS,
    GROUP_COLUMNS,
    GROUP_END,
    GROUP_FIRST,
    GROUP_MASK,
    GROUP_SCAN,
    GROUPS,
    HASH_FIRST,
    HASH_SIZE,
    HASHED,
    HIGH_KIND,
    HIGH_SIDE,
    ITEMS,
    LAST_INEXACT,
    LAZY,
    LOW_SIDE,
    MEMBER_COLUMNS,
    MEMBER_MASK,
    MEMBERS,
    NUMBER_RANGE,
    NUMBER_RANGE_COLUMNS,
    NUMBER_RANGES,
    PREDICATE_KIND,
    PREDICATE_REFERENCE,
    REPORT_COLUMNS,
    REPORT_COUNT,
    REPORTS,
    REPORTS_MAX,
    RESULTS,
    ROW_COUNT,
    ROW_FIRST,
    SEGMENT_COLUMNS,
    SEGMENT_COUNT,
    SEVERAL_ROWS,
    SLOT_ATTRIBUTE,
    SLOT_EPOCH,
    SLOT_PROGRAM,
    SUBGROUP_COLUMNS,
    SUBGROUP_MASK,
    SUBGROUPS,
    TABLE,
    TEXT_RANGE,
    TEXT_RANGE_COLUMNS,
    TEXT_RANGES,
    TEXTS,
    TOUCHED,
    TOUCHED_COUNT,
    UNSURE_MASK,
    VALUE_BITS,
    VALUE_KIND,
    VALUE_LENGTH,
)

FEW_EVENTS = 8
"""Up to this many events of a mask, a lazy constraint is evaluated for them alone."""

_ONE = np.uint64(1)


@part
def hash_of(slot: Any, size: Any) -> Any:
    """Where the search for a slot begins in a hash of ``size`` places (a power of two)."""
    spread = np.uint64(slot) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)
    return np.int64(spread) & (size - 1)


@part
def _lazy_holds(memory: Any, slot: Any, event: Any) -> Any:
    """Whether an event satisfies the constraint of a lazy slot."""
    attribute = np.int64(int_at(long_at(memory, SLOT_ATTRIBUTE), slot))
    place = event * long_at(memory, ATTRIBUTE_COUNT) + attribute
    return holds(
        long_at(memory, CODE),
        long_at(long_at(memory, SLOT_PROGRAM), slot),
        long_at(memory, TEXTS),
        byte_at(long_at(memory, VALUE_KIND), place),
        long_at(long_at(memory, VALUE_BITS), place),
        long_at(long_at(memory, VALUE_LENGTH), place),
    )


@part
def _evaluate(lanes: Any, memory: Any, target: Any, source: Any, slot: Any) -> Any:
    """Write the events of a mask that satisfy a lazy slot's constraint; whether there are any."""
    left = np.uint64(0)
    for lane in range(len(lanes)):
        word = rest = word_at(source, lane)
        while rest:
            bit = lowest_bit(rest)
            if not _lazy_holds(memory, slot, 64 * lane + bit):
                word &= ~(_ONE << np.uint64(bit))
            rest &= rest - _ONE
        set_word(target, lane, word)
        left |= word
    return left != 0


@part
def _is_few(lanes: Any, mask: Any) -> Any:
    """Whether a mask has so few events that evaluating a constraint for all would be waste."""
    count = 0
    for lane in range(len(lanes)):
        count += bit_count(word_at(mask, lane))
    return count <= FEW_EVENTS


@part
def _unite(lanes: Any, memory: Any, slot: Any, points: Any) -> None:
    """Compute the mask of a set of points from theirs; their list is part of the code."""
    table, code, width = long_at(memory, TABLE), long_at(memory, CODE), len(lanes)
    for lane in range(width):
        word = np.uint64(0)
        for at in range(points + 1, points + 1 + long_at(code, points)):
            word |= word_at(table, long_at(code, at) * width + lane)
        set_word(table, slot * width + lane, word)


@part
def _pass_lazy(lanes: Any, memory: Any, target: Any, source: Any, slot: Any) -> Any:
    """Write the events of a mask that satisfy a lazy slot's predicate; whether there are any."""
    table, width = long_at(memory, TABLE), 8 * len(lanes)
    epochs, epoch = long_at(memory, SLOT_EPOCH), long_at(memory, EPOCH)
    if long_at(epochs, slot) != epoch:
        program = long_at(long_at(memory, SLOT_PROGRAM), slot)
        if program >= 0 and _is_few(lanes, source):
            return _evaluate(lanes, memory, target, source, slot)
        set_long(epochs, slot, epoch)
        note_touched(memory, slot)
        if program >= 0:
            _evaluate(lanes, memory, table + width * slot, table + width * ACTIVE, slot)
        else:
            _unite(lanes, memory, slot, -1 - program)
    return narrow(lanes, target, source, table + width * slot, table)


@part
def _pass(lanes: Any, memory: Any, target: Any, source: Any, node: Any) -> Any:
    """Write the events of a mask that may satisfy a node's predicate; whether there are any."""
    table, width = long_at(memory, TABLE), 8 * len(lanes)
    low, high = np.int64(int_at(node, 0)), np.int64(int_at(node, 1))
    if low == LAZY:
        return _pass_lazy(lanes, memory, target, source, high)
    return narrow(lanes, target, source, table + width * high, table + width * low)


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
def _find_unsure(lanes: Any, memory: Any, member: Any, chain: Any) -> Any:
    """Find the events of a member's mask in a cell where one of its ranges begins or ends.

    Whether there are any.
    """
    inexact = np.int64(int_at(chain, 2)) & (SEVERAL_ROWS - 1)
    if inexact == 0:
        return False
    table, width = long_at(memory, TABLE), 8 * len(lanes)
    unsure, mask = memory + 8 * UNSURE_MASK, memory + 8 * MEMBER_MASK
    narrow(lanes, unsure, mask, mask, table)
    for number in range(2 + int_at(chain, 1)):
        link = member + 8 * number if number < 2 else chain + 8 * number
        low, high = np.int64(int_at(link, 0)), np.int64(int_at(link, 1))
        if (inexact >> min(number, LAST_INEXACT)) & 1 and low > EMPTY:
            narrow(lanes, unsure, unsure, table + width * (high - 1), table + width * (low + 1))
    return narrow(lanes, unsure, mask, mask, unsure)


@part
def _confirm(lanes: Any, memory: Any, row: Any) -> Any:
    """Take out of a member's mask the unsure events that its row does not match exactly.

    Whether any are left.
    """
    left = np.uint64(0)
    for lane in range(len(lanes)):
        word, unsure = word_at(memory, MEMBER_MASK + lane), word_at(memory, UNSURE_MASK + lane)
        while unsure:
            bit = lowest_bit(unsure)
            if not _row_holds(memory, row, 64 * lane + bit):
                word &= ~(_ONE << np.uint64(bit))
            unsure &= unsure - _ONE
        set_word(memory, MEMBER_MASK + lane, word)
        left |= word
    return left != 0


@part
def _first_time(lanes: Any, memory: Any, slot: Any) -> None:
    """Take out of a member's mask what was found for a slot before; it is found now."""
    table = long_at(memory, TABLE)
    if is_empty(lanes, table, slot):
        note_touched(memory, slot)
    for lane in range(len(lanes)):
        word = word_at(memory, MEMBER_MASK + lane)
        before = word_at(table, slot * len(lanes) + lane)
        set_word(table, slot * len(lanes) + lane, before | word)
        set_word(memory, MEMBER_MASK + lane, word & ~before)


@part
def _report(lanes: Any, memory: Any, entry: Any, is_one_of_several: Any) -> None:
    """Note that an entry's key, or its destination if it is new, goes to the events in its mask."""
    number = entry
    if long_at(memory, FORWARDING):
        number = np.int64(int_at(long_at(memory, ENTRY_DESTINATION), entry))
        _first_time(lanes, memory, np.int64(int_at(long_at(memory, DESTINATION_SLOT), number)))
    elif is_one_of_several:
        _first_time(lanes, memory, np.int64(int_at(long_at(memory, ENTRY_SLOT), entry)))
    at = long_at(memory, REPORT_COUNT)
    report = memory + 8 * (REPORTS + REPORT_COLUMNS * at)
    set_long(report, 0, number)
    for lane in range(len(lanes)):
        set_word(report, 1 + lane, word_at(memory, MEMBER_MASK + lane))
    prefetch(long_at(long_at(memory, ITEMS) + ITEMS_OFFSET, 0) + 8 * number)
    set_long(memory, REPORT_COUNT, at + 1)
    if at + 1 == REPORTS_MAX:
        _deliver_reports(lanes, memory)


@part
def _number_reports(lanes: Any, memory: Any, reports: Any) -> None:
    """Write the numbers of what was reported beside its events; what finds no room is counted."""
    for at in range(reports):
        report = memory + 8 * (REPORTS + REPORT_COLUMNS * at)
        for lane in range(len(lanes)):
            word = word_at(report, 1 + lane)
            while word:
                event = 64 * lane + lowest_bit(word)
                found = long_at(memory, FOUND) + 4 * FOUND_COLUMNS * event
                count = int_at(found, 0) + 1
                set_int(found, 0, count)
                if count < FOUND_COLUMNS:
                    set_int(found, count, long_at(report, 0))
                word &= word - _ONE


@part
def _deliver_reports(lanes: Any, memory: Any) -> None:
    """Append what was reported to the lists of its events.

    Keys lie scattered in memory; asking for a few of them ahead hides most of the waiting.
    """
    items = long_at(long_at(memory, ITEMS) + ITEMS_OFFSET, 0)
    results, first = long_at(memory, RESULTS), long_at(memory, FIRST_EVENT)
    count = long_at(memory, REPORT_COUNT)
    if results == 0:
        _number_reports(lanes, memory, count)
        set_long(memory, REPORT_COUNT, 0)
        return
    for at in range(count):
        report = memory + 8 * (REPORTS + REPORT_COLUMNS * at)
        item = long_at(items, long_at(report, 0))
        set_long(report, 0, item)
        prefetch(item)
    for at in range(count):
        report = memory + 8 * (REPORTS + REPORT_COLUMNS * at)
        for lane in range(len(lanes)):
            word = word_at(report, 1 + lane)
            while word:
                event = first + 64 * lane + lowest_bit(word)
                list_append(list_get(results, event), long_at(report, 0))
                word &= word - _ONE
    set_long(memory, REPORT_COUNT, 0)


@part
def _meet(lanes: Any, memory: Any, member: Any, source: Any) -> None:
    """Report a member for the events that its whole chain leaves of a mask."""
    mask = memory + 8 * MEMBER_MASK
    chain = long_at(memory, CHAINS) + 8 * np.int64(int_at(member, 4))
    row, count = int_at(chain, 0), int_at(chain, 1)
    if not _pass(lanes, memory, mask, source, member):
        return
    if not _pass(lanes, memory, mask, mask, member + 8):
        return
    for link in range(2, count + 2):
        if not _pass(lanes, memory, mask, mask, chain + 8 * link):
            return
    entry, flags = np.int64(int_at(chain, 3)), np.int64(int_at(chain, 2))
    if entry < 0:
        return
    if not _find_unsure(lanes, memory, member, chain) or _confirm(lanes, memory, row):
        _report(lanes, memory, entry, flags & SEVERAL_ROWS)


@part
def _front_link(link: Any) -> Any:
    """The slots of a link; of a lazy one, those of a predicate that every event passes."""
    low, high = np.int64(int_at(link, 0)), np.int64(int_at(link, 1))
    if low == LAZY:
        return np.int64(EMPTY), np.int64(ACTIVE)
    return low, high


@part
def _search_members(lanes: Any, memory: Any, member: Any, count: Any, source: Any) -> None:
    """Search members that stand one behind the other.

    The first two links of a chain are tested together, without a branch in between that the
    processor would guess wrong; those that are lazy pass for now.
    """
    table, width = long_at(memory, TABLE), 8 * len(lanes)
    for _ in range(count):
        low, high = _front_link(member)
        low2, high2 = _front_link(member + 8)
        if meets(
            lanes,
            source,
            table + width * high,
            table + width * low,
            table + width * high2,
            table + width * low2,
        ):
            _meet(lanes, memory, member, source)
        member += 4 * MEMBER_COLUMNS


@part
def _drop_found(lanes: Any, memory: Any, mask: Any, destination: Any) -> Any:
    """Drop from a mask the events for which a group's own destination was found already.

    Whether any are left.
    """
    table, width = long_at(memory, TABLE), 8 * len(lanes)
    found = table + width * EMPTY
    if destination >= 0 and long_at(memory, FORWARDING):
        found = table + width * np.int64(int_at(long_at(memory, DESTINATION_SLOT), destination))
    return narrow(lanes, mask, mask, mask, found)


@part
def _search_group(lanes: Any, memory: Any, group: Any) -> None:
    """Search a group, given by its address."""
    mask, inner = memory + 8 * GROUP_MASK, memory + 8 * SUBGROUP_MASK
    active = long_at(memory, TABLE) + 8 * len(lanes) * ACTIVE
    destination = int_at(group, 4)
    if not _pass(lanes, memory, mask, active, group):
        return
    if destination >= 0 and not _drop_found(lanes, memory, mask, destination):
        return
    subgroups, members = long_at(memory, SUBGROUPS), long_at(memory, MEMBERS)
    for number in range(int_at(group, 2), int_at(group, 3)):
        subgroup = subgroups + 4 * SUBGROUP_COLUMNS * number
        if _pass(lanes, memory, inner, mask, subgroup):
            first = members + 4 * MEMBER_COLUMNS * np.int64(int_at(subgroup, 2))
            _search_members(lanes, memory, first, int_at(subgroup, 3), inner)
            if destination >= 0 and not _drop_found(lanes, memory, mask, destination):
                return


@part
def _search_touched(lanes: Any, memory: Any, segment: Any, count: Any) -> None:
    """Search the groups of points whose slot the chunk touched."""
    touched, groups = long_at(memory, TOUCHED), long_at(memory, GROUPS)
    hashed = long_at(memory, HASHED) + 4 * long_at(segment, HASH_FIRST)
    size, scan = long_at(segment, HASH_SIZE), long_at(segment, GROUP_SCAN)
    for at in range(count):
        slot = int_at(touched, at)
        place = hash_of(slot, size)
        number = np.int64(int_at(hashed, place))
        while number >= 0 and int_at(groups, GROUP_COLUMNS * number + 1) != slot:
            place = (place + 1) & (size - 1)
            number = np.int64(int_at(hashed, place))
        while 0 <= number < scan and int_at(groups, GROUP_COLUMNS * number + 1) == slot:
            _search_group(lanes, memory, groups + 4 * GROUP_COLUMNS * number)
            number += 1


@part
def search(lanes: Any, memory: Any) -> None:
    """Report everything in the segments that the chunk read last matches."""
    segment, groups = long_at(memory, DIRECTORY), long_at(memory, GROUPS)
    touched = long_at(memory, TOUCHED_COUNT)
    for _ in range(long_at(memory, SEGMENT_COUNT)):
        first = long_at(segment, GROUP_SCAN)
        if 2 * touched < first - long_at(segment, GROUP_FIRST):
            _search_touched(lanes, memory, segment, touched)
        else:
            first = long_at(segment, GROUP_FIRST)
        for number in range(first, long_at(segment, GROUP_END)):
            _search_group(lanes, memory, groups + 4 * GROUP_COLUMNS * number)
        segment += 8 * SEGMENT_COLUMNS
    _deliver_reports(lanes, memory)
