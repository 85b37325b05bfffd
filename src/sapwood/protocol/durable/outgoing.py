"""What goes to a neighbour over a durable link, by number.

Every notification for such a neighbour has a number, which goes on from session to session on both
sides: the neighbour writes down how far it has come, and says so when a stream begins. So what it
has is not sent again, and what it does not have is, whichever of the two was restarted.

The notifications themselves are in the stream to the neighbour as long as there is room in memory,
and in the journal in any case.
"""

from __future__ import annotations

from sapwood.protocol.durable.pages import Page, Pages, Place
from sapwood.protocol.durable.records import KeptLink
from sapwood.protocol.link.spool import FrameRun, paged_run


class Outgoing:
    """The durable link to one neighbour, outwards."""

    def __init__(self) -> None:
        self.pushed = 0
        """The number of the last notification."""
        self.released = 0
        """The number of the last one that the neighbour has."""
        self.pages = Pages()

    def push(self, frames: int, size: int, at: float, place: Place) -> Page:
        """Number some more notifications."""
        page = self.pages.append(self.pushed + 1, frames, size, at, place)
        self.pushed += frames
        return page

    def release(self, number: int) -> None:
        """The neighbour has everything up to a number."""
        self.released = max(self.released, min(number, self.pushed))
        self.pages.release(self.released + 1)

    def give_up(self, size: int, oldest: float) -> None:
        """Forget the oldest until no more than a size is kept; their numbers stay."""
        while self.pages.too_old(size, oldest) is not None:
            self.pages.drop_oldest()

    def give_up_all(self) -> None:
        """Forget everything; the numbers stay."""
        self.pages = Pages()

    def renumber(self, pushed: int, released: int) -> None:
        """Go on with other numbers: the neighbour knows none, or higher ones."""
        self.pages.shift(pushed - self.pushed)
        self.pushed = pushed
        self.released = released
        self.release(released)

    def runs(self) -> list[FrameRun]:
        """All that the neighbour does not have, in order: what is gone is a number of frames.

        What is there is in the journal and not here.
        """
        runs: list[FrameRun] = []
        reached = self.released
        for page in self.pages:
            if page.first > reached + 1:
                runs.append(FrameRun(None, page.first - reached - 1, 0))
            frames = page.behind - max(reached + 1, page.first)
            size = max(1, page.size * frames // page.count)
            runs.append(paged_run(frames, size, page.record))
            reached = page.behind - 1
        if reached < self.pushed:
            runs.append(FrameRun(None, self.pushed - reached, 0))
        return runs

    # The journal

    def kept(self) -> KeptLink:
        """What a checkpoint says of it."""
        return KeptLink(self.pushed, self.released)

    @classmethod
    def restored(cls, kept: KeptLink) -> Outgoing:
        """A link as a checkpoint has it."""
        link = cls()
        link.pushed = kept.pushed
        link.released = kept.released
        return link
