"""The kernel behind a match: read a chunk, search it, forget it; and so on through a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.matching.compiling import kernel
from sapwood.matching.layout import (
    CHUNK,
    DESTINATION_COUNT,
    DESTINATION_FOUND,
    EPOCH,
    FIRST_EVENT,
    FORWARDING,
    ITEMS,
    RESULTS,
)
from sapwood.matching.raw import long_at, set_long, set_word
from sapwood.matching.reading import forget_chunk, read_chunk
from sapwood.matching.searching import search

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


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
    for first in range(0, count, CHUNK):
        size = min(CHUNK, count - first)
        set_long(memory, EPOCH, long_at(memory, EPOCH) + 1)
        set_long(memory, FIRST_EVENT, first)
        bad = read_chunk(memory, events, first, size, names)
        if bad < 0:
            if exclude >= 0:
                found = long_at(memory, DESTINATION_FOUND)
                for destination in range(long_at(memory, DESTINATION_COUNT)):
                    set_word(found, destination, 0)
                set_word(found, 0, _ALL)
                set_word(found, exclude, _ALL)
            search(memory)
        forget_chunk(memory, size)
        if bad >= 0:
            return bad
    return -1
