"""What a broker gives up, and why: counted, and recorded where a trace is written.

Nothing from outside is trusted (the architecture's rules): what makes no sense is dropped without
changing a table. It must not vanish without a trace, though, so each reason has a count.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Any

from sapwood.protocol.effects import Effect, Record


class Drop(StrEnum):
    """Why something was dropped. The texts are part of the trace and of the metrics."""

    CLIENT_TWICE = "a client that is there already"
    CLIENT_UNKNOWN = "the end of an unknown client"
    EXPIRED = "expired"
    FRAME_UNKNOWN = "a frame of an unknown type"
    HELD = "over a link that is not to carry anything"
    LINK_IMPOSSIBLE = "a link to itself or to a client"
    LINK_UNKNOWN = "the end of an unknown link"
    MALFORMED = "malformed"
    NOT_FOR_BROKERS = "a message that is not for a broker"
    OLD_SWITCH = "of a switch of an edge that is over"
    OTHER_CHANGE = "a message of a change that is not under way"
    OUTSIDE_TREE = "over a link outside the tree"
    REFUSED = "refused"
    REPEATED = "repeated"
    STALE = "from where a client has moved away"
    STRAY = "a probe or echo that belongs to nothing"
    UNADVERTISED = "an unadvertisement never advertised"
    UNKNOWN_SENDER = "from an unknown sender"
    UNSUBSCRIBED = "an unsubscription never subscribed"


class Drops:
    """Counts by reason."""

    def __init__(self, *, recording: bool) -> None:
        self.counts: Counter[Drop] = Counter()
        self.recording = recording

    def count(self, why: Drop, source: str, **fields: Any) -> list[Effect]:
        """Something from a source is dropped; the row about it, if rows are wanted."""
        self.counts[why] += 1
        if not self.recording:
            return []
        return [Record("dropped", {"source": source, "message": str(why), **fields})]
