"""What a broker has handled lately: for which sets of neighbours, how often, how many bytes.

Counts are kept in a ring of buckets, oldest first. A bucket ends when its share of the window is
over, and whenever the neighbours change: so a window that begins with a link begins with a bucket.
Where there are too many, the two shortest neighbours in time become one; a window that would begin
inside of it begins behind it. Every count has left the ring after the longest window, whatever a
fault made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import isfinite
from typing import Any, Final

import msgspec

from sapwood.protocol.optimize.gain import Concerned, renamed, rewritten

BUCKETS: Final = 8
"""Buckets in the ring, beside the open one."""

SETS_MAX: Final = 1024
"""Sets of neighbours that are told apart in a bucket; of more the rarest are given up."""

LOST_SHARE_MAX: Final = 0.05
"""Nothing is decided where more than this share of what was handled was not counted."""


class Bucket(msgspec.Struct):
    """What was handled from a time on, until the next bucket begins."""

    begin: float
    sets: dict[Concerned, list[int]] = {}
    """Notifications and bytes, by whom they concern."""
    lost: int = 0
    """Notifications of sets that were given up."""

    def add(self, concerned: Concerned, number: int, size: int) -> None:
        """Count notifications."""
        cell = self.sets.get(concerned)
        if cell is None:
            self.sets[concerned] = [number, size]
        else:
            cell[0] += number
            cell[1] += size

    def trim(self) -> None:
        """Give up the rarest sets beyond the bound."""
        if len(self.sets) > SETS_MAX:
            by_number = sorted(self.sets.items(), key=lambda item: (-item[1][0], item[0]))
            self.lost += sum(cell[0] for _, cell in by_number[SETS_MAX:])
            self.sets = dict(by_number[:SETS_MAX])


class Window(msgspec.Struct, frozen=True):
    """Some of the last buckets: what was handled from a time until now."""

    begin: float
    end: float
    buckets: tuple[Bucket, ...]

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.begin

    @property
    def sets(self) -> dict[Concerned, float]:
        """Notifications by whom they concern, all buckets together."""
        total: dict[Concerned, float] = {}
        for bucket in self.buckets:
            for concerned, cell in bucket.sets.items():
                total[concerned] = total.get(concerned, 0) + cell[0]
        return total

    @property
    def lost_share(self) -> float:
        """Which share of what was handled was not counted."""
        lost = sum(bucket.lost for bucket in self.buckets)
        counted = sum(cell[0] for bucket in self.buckets for cell in bucket.sets.values())
        return lost / (lost + counted) if lost else 0.0

    def parts(self) -> Iterator[tuple[float, Bucket]]:
        """The buckets with how long each is."""
        ends = (*(bucket.begin for bucket in self.buckets[1:]), self.end)
        for bucket, end in zip(self.buckets, ends, strict=True):
            yield end - bucket.begin, bucket


class Traffic:
    """The ring of buckets."""

    def __init__(self) -> None:
        self.buckets: list[Bucket] = []

    def fold(self, counts: Mapping[Concerned, tuple[int, int]], now: float) -> None:
        """Add what was handled since the last time: it belongs to the bucket that is open."""
        if not self.buckets:
            self.buckets.append(Bucket(now))
        bucket = self.buckets[-1]
        for concerned, (number, size) in counts.items():
            bucket.add(concerned, number, size)
        bucket.trim()

    def turn(self, now: float, window_max: float, *, at_once: bool = False) -> None:
        """Begin a new bucket if the open one is full, or at once; leave out what is too old."""
        self.mend(now)
        if not self.buckets:
            self.buckets.append(Bucket(now))
            return
        last = self.buckets[-1]
        is_over = now - last.begin >= window_max / BUCKETS
        if is_over or (at_once and now > last.begin):
            self.buckets.append(Bucket(now))
        while len(self.buckets) > 1 and self.buckets[1].begin <= now - window_max:
            del self.buckets[0]
        if len(self.buckets) > BUCKETS + 1:
            self._merge()

    def _merge(self) -> None:
        """Let the two shortest buckets that follow each other be one; the open one stays open."""
        begins = [bucket.begin for bucket in self.buckets]
        lengths = [after - before for before, after in pairwise(begins)]
        place = min(
            range(len(lengths) - 1), key=lambda at: lengths[at] + lengths[at + 1], default=0
        )
        first, second = self.buckets[place], self.buckets.pop(place + 1)
        for concerned, cell in second.sets.items():
            first.add(concerned, *cell)
        first.lost += second.lost
        first.trim()

    def window(self, since: float, now: float, window_max: float) -> Window | None:
        """What was handled from a time on, as far as buckets begin there; None if none does."""
        first = max(since, now - window_max)
        inside = tuple(bucket for bucket in self.buckets if bucket.begin >= first)
        return Window(inside[0].begin, now, inside) if inside else None

    def swapped(self, mover: str, onto: str) -> None:
        """This broker was the middle of a swap: the mover is behind the other one in all sets."""
        self._replace(lambda concerned: rewritten(concerned, mover, onto))

    def renamed(self, before: str, after: str) -> None:
        """This broker was the mover of a swap: it hangs on another one."""
        self._replace(lambda concerned: renamed(concerned, before, after))

    def _replace(self, change: Any) -> None:
        for bucket in self.buckets:
            before, bucket.sets = bucket.sets, {}
            for concerned, cell in before.items():
                after = change(concerned)
                if after is not None:
                    bucket.add(after, *cell)

    def mend(self, now: float) -> None:
        """Forget counts and times that make no sense: they are from before a fault."""
        sound: list[Bucket] = []
        for bucket in self.buckets if type(self.buckets) is list else ():
            if _is_sound(bucket) and bucket.begin <= now:
                if sound and bucket.begin < sound[-1].begin:
                    continue
                sound.append(bucket)
        self.buckets = sound


def _is_sound(bucket: object) -> bool:
    if type(bucket) is not Bucket or type(bucket.begin) not in (float, int):
        return False
    if not isfinite(bucket.begin) or type(bucket.sets) is not dict:
        return False
    if type(bucket.lost) is not int or bucket.lost < 0:
        return False
    return all(_is_counted(*item) for item in bucket.sets.items())


def _is_counted(concerned: object, cell: object) -> bool:
    if type(concerned) is not tuple or not all(type(one) is str for one in concerned):
        return False
    if type(cell) is not list or len(cell) != 2:
        return False
    return all(type(one) is int and one >= 0 for one in cell)
