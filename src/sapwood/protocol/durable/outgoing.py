"""What goes to a neighbour over a durable link, by number.

Every notification for such a neighbour has a number, which goes on from session to session on both
sides: the neighbour writes down how far it has come, and says so when a stream begins. So what it
has is not sent again, and what it does not have is, whichever of the two was restarted.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from sapwood.protocol.durable.records import KeptLink, KeptRun
from sapwood.protocol.link.spool import FrameRun
from sapwood.wire.scan import skip


class _Written(NamedTuple):
    """Notifications for the neighbour, and the record of the journal that has them."""

    last: int
    record: int
    frames: int
    data: bytes | None
    at: float


class Outgoing:
    """The durable link to one neighbour, outwards."""

    def __init__(self) -> None:
        self.pushed = 0
        """The number of the last notification."""
        self.released = 0
        """The number of the last one that the neighbour has."""
        self.size = 0
        """Bytes that are kept in the journal for it."""
        self._written: deque[_Written] = deque()

    def push(self, frames: int, data: bytes | None, at: float, record: int) -> None:
        """Number some more notifications."""
        self.pushed += frames
        self.size += len(data or b"")
        self._written.append(_Written(self.pushed, record, frames, data, at))

    def release(self, number: int) -> None:
        """The neighbour has everything up to a number."""
        self.released = max(self.released, min(number, self.pushed))
        written = self._written
        while written and written[0].last <= self.released:
            self.size -= len(written.popleft().data or b"")

    def give_up(self, size: int, oldest: float) -> None:
        """Forget the oldest runs until no more than a size is kept; their numbers stay."""
        for at, one in enumerate(self._written):
            if self.size <= size and one.at >= oldest:
                return
            if one.data is not None:
                self.size -= len(one.data)
                self._written[at] = one._replace(data=None)

    def renumber(self, pushed: int, released: int) -> None:
        """Go on with other numbers: the neighbour knows none, or higher ones."""
        shift = pushed - self.pushed
        self._written = deque(one._replace(last=one.last + shift) for one in self._written)
        self.pushed = pushed
        self.released = released
        self.release(released)

    @property
    def needed(self) -> int | None:
        """The position in the journal of the oldest record that is needed, if any."""
        return self._written[0].record if self._written else None

    def runs(self) -> list[FrameRun]:
        """All that the neighbour does not have, in order: what is gone is a number of frames."""
        runs: list[FrameRun] = []
        reached = self.released
        for one in self._written:
            first = one.last - one.frames + 1
            if first > reached + 1:
                runs.append(FrameRun(None, first - reached - 1, 0))
            left_out = max(0, reached + 1 - first)
            frames = one.frames - left_out
            if one.data is None:
                runs.append(FrameRun(None, frames, 0))
            else:
                data = skip(one.data, left_out) if left_out else one.data
                runs.append(FrameRun(data, frames, len(data), position=one.record))
            reached = one.last
        if reached < self.pushed:
            runs.append(FrameRun(None, self.pushed - reached, 0))
        return runs

    # The journal

    def kept(self, *, is_whole: bool) -> KeptLink:
        """What a checkpoint says of it; with everything that is kept, or without."""
        written = self._written if is_whole else ()
        runs = (KeptRun(one.last - one.frames + 1, one.frames, one.data, one.at) for one in written)
        return KeptLink(self.pushed, self.released, tuple(runs))

    @classmethod
    def restored(cls, kept: KeptLink) -> Outgoing:
        """A link as a checkpoint has it."""
        link = cls()
        link.pushed = kept.runs[0].first - 1 if kept.runs else kept.pushed
        for run in kept.runs:
            link.push(run.count, run.data, run.at, 0)
        link.release(kept.released)
        return link
