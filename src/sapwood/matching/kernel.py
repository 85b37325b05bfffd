"""The kernel behind a match: read a chunk, search it, forget it; and so on through a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import kernel, part
from sapwood.compiled.raw import int_at, long_at, set_long, set_word
from sapwood.matching.chunk import begin_chunk, forget_chunk, note_touched
from sapwood.matching.dictionaries import read_chunk
from sapwood.matching.layout import (
    CHUNK,
    DESTINATION_SLOT,
    FORWARDING,
    ITEMS,
    NARROW,
    RESULTS,
    TABLE,
    WIDE,
)
from sapwood.matching.searching import search

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@part
def _match_chunk(
    lanes: Any, memory: Any, events: Any, first: Any, count: Any, names: Any, exclude: Any
) -> Any:
    """Match one chunk; -1, or the number of a bad event."""
    begin_chunk(memory, first)
    bad = read_chunk(lanes, memory, events, first, count, names)
    if bad < 0:
        if exclude >= 0:
            mark_found(lanes, memory, 0)
            mark_found(lanes, memory, exclude)
        search(lanes, memory)
    forget_chunk(lanes, memory, count)
    return bad


@part
def mark_found(lanes: Any, memory: Any, destination: Any) -> None:
    """Take a destination for found, for all events: it is not reported then."""
    slot = np.int64(int_at(long_at(memory, DESTINATION_SLOT), destination))
    note_touched(memory, slot)
    for lane in range(len(lanes)):
        set_word(long_at(memory, TABLE), slot * len(lanes) + lane, _ALL)


@kernel
def match_events(
    memory: Any, events: Any, count: Any, names: Any, items: Any, results: Any, exclude: Any
) -> Any:
    """Append to each event's result list the items it matches; -1, or the number of a bad event.

    All but ``count`` and ``exclude`` are addresses: lists of events, items and results, and the
    dictionary of attribute names. ``exclude`` is the destination to leave out (0: none), or -1
    where the items are keys.
    """
    set_long(memory, ITEMS, items)
    set_long(memory, RESULTS, results)
    set_long(memory, FORWARDING, exclude >= 0)
    first, bad = 0, -1
    while first < count and bad < 0:
        size = min(CHUNK, count - first)
        if size > 64:
            bad = _match_chunk(WIDE, memory, events, first, size, names, exclude)
        else:
            bad = _match_chunk(NARROW, memory, events, first, size, names, exclude)
        first += size
    return bad
