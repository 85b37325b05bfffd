"""Clocks and figures that hold on a noisy machine.

Time is processor time of this process: what other processes take is not counted. Whatever is
compared is measured in turns, so that a slow minute of the machine hits all alike, and the best of
several rounds is reported: noise only ever makes a round slower.
"""

from __future__ import annotations

import math
import re
import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from time import process_time, process_time_ns
from typing import Any, TypeVar

Item = TypeVar("Item")

_STATUS = Path("/proc/self/status")
_MEGABYTE = 1e6


def batches_of(items: Sequence[Item], size: int) -> list[list[Item]]:
    """The items in lists of a size; what is left over at the end is dropped."""
    return [list(items[at : at + size]) for at in range(0, len(items) - size + 1, size)]


def per_second(
    work: Callable[[list[Item]], object], batches: Sequence[list[Item]], seconds: float
) -> float:
    """Items a second, doing work on batch after batch, over and over, for some seconds."""
    items = 0
    start = process_time()
    for batch in cycle(batches):
        work(batch)
        items += len(batch)
        passed = process_time() - start
        if passed >= seconds:
            return items / passed
    raise ValueError("no batches to work on")


def in_turns(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """What each contender measures in each round; all have their turn in every round."""
    figures: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, measure in contenders.items():
            figures[name].append(measure())
    return figures


def microseconds_each(work: Callable[[Item], object], items: Iterable[Item]) -> list[float]:
    """How long work takes on each item."""
    durations = []
    for item in items:
        start = process_time_ns()
        work(item)
        durations.append((process_time_ns() - start) / 1000)
    return durations


def percentile(figures: Sequence[float], share: float) -> float:
    """The least figure that at least this share of all does not exceed (nearest rank)."""
    return sorted(figures)[max(math.ceil(len(figures) * share) - 1, 0)]


class Stopwatch:
    """Adds up the processor time spent in its ``with`` blocks."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._start = 0.0

    def __enter__(self) -> None:
        self._start = process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += process_time() - self._start


def in_chunks(items: Iterator[Item], count: int, size: int) -> Iterator[list[Item]]:
    """The next ``count`` items in lists of at most a size, without holding all of them."""
    while chunk := list(islice(items, min(size, count))):
        count -= len(chunk)
        yield chunk


def resident_megabytes() -> float:
    """The memory of this process that is in use now; where that is not told, the most so far."""
    if _STATUS.exists():
        found = re.search(r"^VmRSS:\s+(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
        if found:
            return int(found[1]) * 1024 / _MEGABYTE
    return most_resident_megabytes()


def most_resident_megabytes() -> float:
    """The most memory that this process has had in use."""
    peak: Any = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak) * (1 if sys.platform == "darwin" else 1024) / _MEGABYTE
