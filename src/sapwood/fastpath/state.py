"""What the compiled router keeps: numbers and addresses in one array, for the kernels to read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.compiled.table import ByteTable
from sapwood.matching.layout import CHUNK, FOUND_COLUMNS

(
    KEYS,
    DOOR,
    FRAMES,
    RUNS,
    EVENTS,
    NAMES,
    NEW_PLANS,
    NEW_COUNT,
    PLAN_COUNT,
    MATCHED,
    POSITION,
    ENGINE,
    NAME_NUMBERS,
    ITEMS,
) = range(14)
"""The table of keys, and the hashes of heads seen once. Room for the frames and runs of a read, for
the events of a chunk, for the names of the attributes read last. Plans made for new sets of
destinations, how many, and how many plans there are at all. How many notifications were matched,
and where a read stopped. The matching engine: its memory, its names, its destinations."""

STATE_SIZE = 14

FRAMES_MAX = 2048
"""Frames of a read that are routed in one go."""

FRAME_COLUMNS = 4
FRAME_PLAN, FRAME_START, FRAME_ATTRIBUTES, FRAME_BODY = range(FRAME_COLUMNS)
RUN_COLUMNS = 4
"""Of a run: plan, start, end, how many frames."""

NEW_PLANS_MAX = 64

NAMES_MAX = 64
"""Attributes of a notification that are read by compiled code."""
NAME_COLUMNS = 3

DOOR_SIZE = 4096

LOOK_CLOSER = -1
"""In place of a plan: a frame that is for Python to look at."""

UNKNOWN = -2
"""In place of a plan: attributes that are not remembered."""

ATTRIBUTES_SALT, DESTINATIONS_SALT, SOURCES_SALT = 0, 1, 2
"""What a key is: attributes, numbers of destinations, or, from there on by source, a publisher."""


class State:
    """The array of numbers and addresses, and the arrays they point to."""

    def __init__(self, size: int) -> None:
        self.numbers = np.zeros(STATE_SIZE, np.int64)
        self.address = self.numbers.ctypes.data
        self.keys = ByteTable(size, key_bytes=64)
        self.runs = np.zeros((FRAMES_MAX, RUN_COLUMNS), np.int64)
        self.new_plans = np.zeros((NEW_PLANS_MAX, FOUND_COLUMNS), np.int32)
        self._others: dict[int, NDArray[Any]] = {
            DOOR: np.zeros(DOOR_SIZE, np.uint64),
            FRAMES: np.zeros((FRAMES_MAX, FRAME_COLUMNS), np.int64),
            RUNS: self.runs,
            EVENTS: np.zeros(CHUNK, np.int64),
            NAMES: np.zeros((NAMES_MAX, NAME_COLUMNS), np.int64),
            NEW_PLANS: self.new_plans,
        }
        for number, array in self._others.items():
            self.numbers[number] = array.ctypes.data
        self.numbers[KEYS] = self.keys.address

    def clear(self, size: int) -> None:
        """Remove all keys, and have ``size`` places for them from now on."""
        self.keys.clear(size)
        self._others[DOOR].fill(0)
        self.numbers[[PLAN_COUNT, NEW_COUNT]] = 0
