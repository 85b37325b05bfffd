"""The disk of a simulated site: what is written, and what a crash leaves of it.

What was brought to disk stays. Of what was written since then, a crash leaves any part from the
beginning, which may end in the middle of a record: that is a torn tail, and the next life cuts it
off by the same code as a live broker (``sapwood.protocol.durable.records``).
"""

from __future__ import annotations

from random import Random

from sapwood.protocol.durable.records import Segment, decode_segment
from sapwood.protocol.ports import Append, Fetch, Trim


class Store:
    """The journal of one site."""

    def __init__(self) -> None:
        self._files: dict[int, bytearray] = {}
        """By the number of the segment."""
        self._synced: dict[int, int] = {}
        """How many bytes of each are on disk."""

    def append(self, effect: Append) -> None:
        """Write, behind everything else."""
        if effect.segment:
            for number, data in self._files.items():
                self._synced[number] = len(data)  # a file is whole before the next one begins
            self._files[effect.segment] = bytearray()
            self._synced[effect.segment] = 0
        self._files[max(self._files)] += effect.data

    def mark(self) -> dict[int, int]:
        """How much is written by now: a sync brings that to disk, and nothing later."""
        return {number: len(data) for number, data in self._files.items()}

    def sync(self, mark: dict[int, int]) -> None:
        """So much is on disk."""
        for number, size in mark.items():
            if number in self._files:
                self._synced[number] = max(self._synced[number], size)

    def fetch(self, effect: Fetch) -> bytes:
        """What is written between two places of a file."""
        return bytes(self._files[effect.segment][effect.start : effect.end])

    def trim(self, effect: Trim) -> None:
        """Remove what is not needed."""
        for number in [one for one in self._files if one < effect.segment]:
            del self._files[number], self._synced[number]

    def crash(self, random: Random) -> None:
        """The process dies: of what is not on disk, something may be left."""
        for number, data in self._files.items():
            synced = self._synced[number]
            kept = random.choice((synced, random.randint(synced, len(data)), len(data)))
            del data[kept:]
            self._synced[number] = kept

    def open(self) -> list[Segment]:
        """What the next life finds."""
        segments: list[Segment] = []
        for number in sorted(self._files):
            segment = decode_segment(bytes(self._files[number]), is_last=number == max(self._files))
            if not segment.records:
                del self._files[number], self._synced[number]
                continue
            del self._files[number][segment.end :]
            self._synced[number] = segment.end
            segments.append(segment)
        return segments

    @property
    def size(self) -> int:
        """Bytes in all files."""
        return sum(map(len, self._files.values()))
