"""The kernel of the fast path: frames of a read in, runs of frames with one plan out.

Three passes. Every frame's publisher and attributes are looked up among those remembered; the
attributes that are not known are matched, many at once, straight from their bytes; neighbours with
one plan are joined to runs. A control message ends a read for now, since it may change the tables
that decide about what follows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import kernel, part
from sapwood.compiled.raw import (
    float_at,
    int_at,
    is_equal,
    long_at,
    set_int,
    set_long,
    set_word,
    word_at,
)
from sapwood.compiled.table import find, hash_of, put
from sapwood.fastpath.heads import forget_names, read_attributes
from sapwood.fastpath.state import (
    ATTRIBUTES_SALT,
    DESTINATIONS_SALT,
    DOOR,
    DOOR_SIZE,
    ENGINE,
    EVENTS,
    FRAME_ATTRIBUTES,
    FRAME_BODY,
    FRAME_COLUMNS,
    FRAME_PLAN,
    FRAME_START,
    FRAMES,
    FRAMES_MAX,
    ITEMS,
    KEYS,
    LOOK_CLOSER,
    MATCHED,
    NEW_COUNT,
    NEW_PLANS,
    NEW_PLANS_MAX,
    PLAN_COUNT,
    POSITION,
    RUN_COLUMNS,
    RUNS,
    UNKNOWN,
)
from sapwood.matching import layout
from sapwood.matching.chunk import accumulate_cells, begin_chunk, forget_chunk, set_bit
from sapwood.matching.kernel import mark_found
from sapwood.matching.layout import CHUNK, FOUND, FOUND_COLUMNS, NARROW, WIDE
from sapwood.matching.searching import search
from sapwood.wire.frames import CONTROL, ENVELOPE_SIZE, EXPIRES, HEADER_SIZE, NOTIFICATION
from sapwood.wire.raw_frames import WITHOUT_FLAGS, header_at, publisher_in

_EXPIRY_AT = 16
"""Where the body of a notification has its expiry."""


@part
def _is_due(kind: Any, body: Any, body_length: Any, now: Any) -> Any:
    """Whether a frame is a notification that has not expired."""
    if kind & WITHOUT_FLAGS != NOTIFICATION or body_length < ENVELOPE_SIZE:
        return False
    return kind & EXPIRES == 0 or float_at(body + _EXPIRY_AT, 0) > now


@part
def _look_up(state: Any, data: Any, at: Any, end: Any, salt: Any, now: Any, stops: Any) -> Any:
    """Look up frame by frame; how many. Where it stops is noted."""
    table, count = long_at(state, KEYS), 0
    publisher, publisher_length = data, np.int64(-1)
    attributes, attributes_length, plan = data, np.int64(-1), np.int64(0)
    is_over = False
    while not is_over and count < FRAMES_MAX and at + HEADER_SIZE <= end:
        kind, head_length, body_length = header_at(data + at)
        head = data + at + HEADER_SIZE
        body = head + head_length
        if at + HEADER_SIZE + head_length + body_length > end:
            break
        found = np.int64(LOOK_CLOSER)
        length = np.int64(0)
        if _is_due(kind, body, body_length, now):
            _, length = publisher_in(head, head_length)
        if length:
            is_known = length == publisher_length and is_equal(head, publisher, length)
            if not is_known:
                hashed = hash_of(table, head, length, salt)
                is_known = find(table, head, length, salt, hashed) >= 0
                publisher, publisher_length = head, (length if is_known else np.int64(-1))
            if is_known:
                rest, rest_length = head + length, head_length - length
                if rest_length != attributes_length or not is_equal(rest, attributes, rest_length):
                    hashed = hash_of(table, rest, rest_length, ATTRIBUTES_SALT)
                    plan = find(table, rest, rest_length, ATTRIBUTES_SALT, hashed)
                    attributes, attributes_length = rest, rest_length
                found = plan if plan >= 0 else np.int64(UNKNOWN)
            else:
                is_over = stops
        elif kind == CONTROL:
            is_over = True
        frame = long_at(state, FRAMES) + 8 * FRAME_COLUMNS * count
        set_long(frame, FRAME_PLAN, found)
        set_long(frame, FRAME_START, at)
        set_long(frame, FRAME_ATTRIBUTES, head + length)
        set_long(frame, FRAME_BODY, body)
        count += 1
        at += HEADER_SIZE + head_length + body_length
    set_long(state, POSITION, at)
    return count


@part
def _plan_for(state: Any, found: Any) -> Any:
    """The plan for the destinations found for an event, a new one if need be."""
    count = int_at(found, 0)
    if not 0 <= count < FOUND_COLUMNS:
        return np.int64(LOOK_CLOSER)
    table, length = long_at(state, KEYS), np.int64(4 * count)
    hashed = hash_of(table, found + 4, length, DESTINATIONS_SALT)
    plan = find(table, found + 4, length, DESTINATIONS_SALT, hashed)
    if plan >= 0:
        return plan
    number, plan = long_at(state, NEW_COUNT), long_at(state, PLAN_COUNT)
    if number == NEW_PLANS_MAX or not put(
        table, found + 4, length, DESTINATIONS_SALT, hashed, plan
    ):
        return np.int64(LOOK_CLOSER)
    new = long_at(state, NEW_PLANS) + 4 * FOUND_COLUMNS * number
    for at in range(count + 1):
        set_int(new, at, int_at(found, at))
    set_long(state, NEW_COUNT, number + 1)
    set_long(state, PLAN_COUNT, plan + 1)
    return plan


@part
def _remember(state: Any, address: Any, length: Any, plan: Any) -> None:
    """Remember the plan for attributes, if they come for the second time lately.

    Where no attributes ever come again, remembering them costs more than matching.
    """
    table = long_at(state, KEYS)
    hashed = hash_of(table, address, length, ATTRIBUTES_SALT)
    door = long_at(state, DOOR) + 8 * (np.int64(hashed >> np.uint64(20)) & (DOOR_SIZE - 1))
    if word_at(door, 0) != hashed:
        set_word(door, 0, hashed)
    elif find(table, address, length, ATTRIBUTES_SALT, hashed) < 0:
        put(table, address, length, ATTRIBUTES_SALT, hashed, plan)


@part
def _match(lanes: Any, state: Any, count: Any) -> None:
    """Find the plans of the frames that were noted as the events of a chunk."""
    memory, events = long_at(state, ENGINE), long_at(state, EVENTS)
    begin_chunk(memory, 0)
    for event in range(count):
        frame = long_at(events, event)
        found = long_at(memory, FOUND) + 4 * FOUND_COLUMNS * event
        start, end = long_at(frame, FRAME_ATTRIBUTES), long_at(frame, FRAME_BODY)
        set_int(found, 0, -1)
        if read_attributes(lanes, state, event, start, end):
            set_bit(lanes, long_at(memory, layout.TABLE), layout.ACTIVE, event)
            set_int(found, 0, 0)
    accumulate_cells(lanes, memory)
    mark_found(lanes, memory, 0)
    search(lanes, memory)
    forget_chunk(lanes, memory, count)
    for event in range(count):
        frame = long_at(events, event)
        plan = _plan_for(state, long_at(memory, FOUND) + 4 * FOUND_COLUMNS * event)
        set_long(frame, FRAME_PLAN, plan)
        if plan >= 0:
            start, end = long_at(frame, FRAME_ATTRIBUTES), long_at(frame, FRAME_BODY)
            _remember(state, start, end - start, plan)


@part
def _match_chunk(state: Any, count: Any) -> None:
    if count > 64:
        _match(WIDE, state, count)
    else:
        _match(NARROW, state, count)


@part
def _match_unknown(state: Any, frames: Any) -> None:
    """Match what is not remembered, a chunk at a time."""
    memory, events = long_at(state, ENGINE), long_at(state, EVENTS)
    set_long(memory, layout.ITEMS, long_at(state, ITEMS))
    set_long(memory, layout.RESULTS, 0)
    set_long(memory, layout.FORWARDING, 1)
    count = matched = 0
    for number in range(frames):
        frame = long_at(state, FRAMES) + 8 * FRAME_COLUMNS * number
        if long_at(frame, FRAME_PLAN) == UNKNOWN:
            if matched == 0:
                forget_names(state)
            set_long(events, count, frame)
            count += 1
            matched += 1
            if count == CHUNK:
                _match_chunk(state, count)
                count = 0
    if count:
        _match_chunk(state, count)
    set_long(state, MATCHED, matched)


@part
def _join(state: Any, frames: Any) -> Any:
    """Join frames with one plan to runs; how many there are."""
    runs, run = -1, long_at(state, RUNS) - 8 * RUN_COLUMNS
    before = np.int64(LOOK_CLOSER)
    for number in range(frames):
        frame = long_at(state, FRAMES) + 8 * FRAME_COLUMNS * number
        plan, start = long_at(frame, FRAME_PLAN), long_at(frame, FRAME_START)
        if plan != before or plan == LOOK_CLOSER:
            if runs >= 0:
                set_long(run, 2, start)
            runs += 1
            run += 8 * RUN_COLUMNS
            set_long(run, 0, plan)
            set_long(run, 1, start)
            set_long(run, 3, 0)
            before = plan
        set_long(run, 3, long_at(run, 3) + 1)
    if runs >= 0:
        set_long(run, 2, long_at(state, POSITION))
    return runs + 1


@kernel
def route(state: Any, data: Any, at: Any, end: Any, salt: Any, now: Any, stops: Any) -> Any:
    """Write the runs of the frames from a place on; how many. Where it stopped is noted.

    ``stops`` says whether to stop behind a notification of a publisher that is not known: Python
    will find out about it, and then it is.
    """
    set_long(state, NEW_COUNT, 0)
    frames = _look_up(state, data, at, end, salt, now, stops != 0)
    _match_unknown(state, frames)
    return _join(state, frames)
