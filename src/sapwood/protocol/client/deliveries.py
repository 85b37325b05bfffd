"""From what a read brought to the subscriptions that want it.

A broker sends a client each notification once, however many of its subscriptions match. Most
clients have one subscription, and what comes is for that one. With several, the answer is kept by
the raw bytes of the head, which repeat (as a broker does it); what is not known is asked of each
filter, or of a match index where there are many and one was given.

After a change of broker, notifications may come once more over the new path. Those of one publisher
come in their order on every path, so the last one delivered of each publisher is remembered, and
what is not behind it is dropped until something newer of that publisher has come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from sapwood.errors import FilterError, FrameError
from sapwood.filters.filter import Filter
from sapwood.protocol.client.delivered import Delivered
from sapwood.wire.frames import (
    CONTROL,
    HEADER_SIZE,
    NOTIFICATION,
    NOTIFICATION_TYPES,
)
from sapwood.wire.heads import PAIR_AND_SHORT_TEXT, PAIR_AND_TEXT_8, START
from sapwood.wire.markers import SHORT_TEXT_END

REMEMBERED_MAX: Final = 4096
"""Heads whose subscriptions are remembered."""

INDEX_FROM: Final = 64
"""Subscriptions from which on a match index is worth it."""

PUBLISHERS_MAX: Final = 100_000
"""Publishers of which the last notification is remembered; the half heard last is always."""

GAPS_KEPT: Final = 1000
"""Gaps of a subscription that are kept for looking back."""

FILTERS_MAX: Final = 1000
"""Filters of a gap that are compared; where there are more, it may concern everybody."""

FOLD_BYTES: Final = 2**20
"""Bytes after which of the latest notifications only the numbers are kept."""

_unpack = START.unpack_from


class Gap(msgspec.Struct, frozen=True):
    """In a stream of notifications: here some may be missing."""

    count: int
    """How many at most; zero if nobody knows."""
    reason: str


Item: TypeAlias = Delivered | Gap
"""What a subscription yields."""


class Inbox:
    """The state of one subscription: what has come for it and was not read."""

    __slots__ = (
        "buffer",
        "filter",
        "gaps",
        "is_awaited",
        "items",
        "name",
        "reason",
        "settled",
        "yields_gaps",
    )

    def __init__(self, name: str, filter: Filter, buffer: int, *, yields_gaps: bool) -> None:
        self.name = name
        """The name under which the broker knows the subscription."""
        self.filter = filter
        self.buffer = buffer
        """How many items may wait before the broker is asked to stop."""
        self.yields_gaps = yields_gaps
        self.items: deque[Item] = deque()
        self.gaps: deque[Gap] = deque(maxlen=GAPS_KEPT)
        self.is_awaited = False
        """Whether a reader waits for the next item."""
        self.settled: bool | None = None
        """Whether it is known to be in effect everywhere; None if that is not known yet."""
        self.reason = ""
        """Why it has not settled, if so."""

    def __repr__(self) -> str:
        return f"<inbox {self.name} {str(self.filter)!r}, {len(self.items)} waiting>"

    def report(self, gap: Gap) -> None:
        """Note that something may be missing here; gaps with nothing between them become one."""
        self.gaps.append(gap)
        if not self.yields_gaps:
            return
        last = self.items[-1] if self.items else None
        if isinstance(last, Gap) and last.reason == gap.reason:
            count = last.count + gap.count if last.count and gap.count else 0
            self.items[-1] = Gap(count, gap.reason)
        else:
            self.items.append(gap)


class Deliveries:
    """The subscriptions of one session, and the way to them."""

    def __init__(self) -> None:
        self.received = 0
        """Notifications that have come, repeated ones included."""
        self.repeated = 0
        """Notifications that came once more from another broker, and were dropped."""
        self.woken: list[Inbox] = []
        """Those for which something has come since this was last emptied, if awaited."""
        self._inboxes: dict[str, Inbox] = {}
        self._plans: dict[bytes, tuple[Inbox, ...]] = {}
        self._full: dict[str, Inbox] = {}
        self._lingering = 0
        """Ended subscriptions for which something may still be under way."""
        self._index: Any = None
        self._latest: dict[bytes, Delivered] = {}
        """The last notification of each publisher heard lately, by the bytes of the publisher."""
        self._unfolded = 0
        """About how many bytes are kept by that."""
        self._last: dict[bytes, int] = {}
        """Of publishers heard before, the number of the last notification."""
        self._last_older: dict[bytes, int] = {}
        """The same of publishers that were not heard for longer."""
        self._before: dict[bytes, int] = {}
        """The same of publishers not heard since the broker changed."""

    def __len__(self) -> int:
        """How many subscriptions there are."""
        return len(self._inboxes)

    def __iter__(self) -> Iterator[Inbox]:
        """The subscriptions, in the order in which they began."""
        return iter(self._inboxes.values())

    def get(self, name: str) -> Inbox | None:
        """The subscription of a name."""
        return self._inboxes.get(name)

    # Who wants what

    def add(self, inbox: Inbox) -> bool:
        """Begin a subscription; whether a match index would pay from now on."""
        self._inboxes[inbox.name] = inbox
        self._plans.clear()
        if self._index is not None:
            self._index.add(inbox.name, inbox.filter)
            return False
        return len(self._inboxes) == INDEX_FROM

    def remove(self, name: str) -> bool:
        """End a subscription; False if it had ended. What is under way may still come."""
        if self._inboxes.pop(name, None) is None:
            return False
        self._plans.clear()
        self._full.pop(name, None)
        self._lingering += 1
        if self._index is not None:
            self._index.remove(name)
        return True

    def nothing_lingers(self) -> None:
        """The broker has confirmed an end: for that subscription nothing comes any more."""
        self._lingering = max(0, self._lingering - 1)

    def use_index(self, index: Any) -> None:
        """Ask a match index from now on, an empty one that keeps filters by key."""
        for inbox in self._inboxes.values():
            index.add(inbox.name, inbox.filter)
        self._index = index

    # What comes

    def deliver(self, data: bytes, at: int = 0) -> int:
        """Deliver the notifications from a place on, up to the next control message or the end.

        Returns where that is, or where a frame is that is too short for a notification.
        """
        single = self._single
        latest, before, count = self._latest, self._before, 0
        last_whole = len(data) - START.size  # what is behind it is too short for a notification
        while at <= last_whole:
            kind, body, head, marker, length = _unpack(data, at)
            if kind != NOTIFICATION and kind not in NOTIFICATION_TYPES:
                if kind == CONTROL:
                    break
                at += HEADER_SIZE + head + body
                continue
            head_at = at + HEADER_SIZE
            body_at = head_at + head
            at = body_at + body
            count += 1
            publisher = data[  # see publisher_end
                head_at : head_at + marker + PAIR_AND_SHORT_TEXT
                if marker < SHORT_TEXT_END
                else head_at + length + PAIR_AND_TEXT_8
            ]
            notification = Delivered(data[head_at:body_at], data[body_at:at])
            if before and self._is_repeated(publisher, notification):
                continue
            latest[publisher] = notification
            if single is not None:
                single.items.append(notification)
            else:
                self._hand_out(data[head_at:body_at], notification)
        self.received += count
        if single is not None and count:
            self._filled(single)
        self._unfolded += len(data)
        if self._unfolded > FOLD_BYTES:
            self._fold()
        return at

    def _hand_out(self, head: bytes, notification: Delivered) -> None:
        for inbox in self._wanting(head, notification):
            inbox.items.append(notification)
            self._filled(inbox)

    def _filled(self, inbox: Inbox) -> None:
        if inbox.is_awaited:
            inbox.is_awaited = False
            self.woken.append(inbox)
        if len(inbox.items) >= inbox.buffer:
            self._full[inbox.name] = inbox

    @property
    def _single(self) -> Inbox | None:
        """The one subscription for which everything is, if there is one."""
        if len(self._inboxes) != 1 or self._lingering:
            return None
        return next(iter(self._inboxes.values()))

    def _wanting(self, head: bytes, notification: Delivered) -> tuple[Inbox, ...]:
        found = self._plans.get(head)
        if found is None:
            inboxes = self._inboxes
            try:
                attributes = notification.attributes
            except FrameError:
                self.report(Gap(1, "a notification came that does not decode"))
                return ()
            if self._index is not None:
                found = tuple(inboxes[name] for name in self._index.match(attributes))
            else:
                found = tuple(one for one in inboxes.values() if one.filter.matches(attributes))
            if len(self._plans) >= REMEMBERED_MAX:
                self._plans.clear()
            self._plans[head] = found
        return found

    @property
    def is_full(self) -> bool:
        """Whether one of the subscriptions wants nothing more for now.

        One that was full wants more when half of its buffer is free.
        """
        for inbox in list(self._full.values()):
            if len(inbox.items) <= inbox.buffer // 2:
                del self._full[inbox.name]
        return bool(self._full)

    # Gaps

    def report(self, gap: Gap, filters: Iterable[str] = ()) -> None:
        """Report that something may be missing, to every subscription that it can concern.

        If there are filters, one of them matches whatever is missing.
        """
        missed = _parsed(tuple(filters))
        for inbox in self._inboxes.values():
            if not missed or any(inbox.filter.overlaps(one) for one in missed):
                inbox.report(gap)
                if inbox.is_awaited and inbox.yields_gaps:
                    inbox.is_awaited = False
                    self.woken.append(inbox)

    # What came before

    def change_broker(self) -> None:
        """From now on notifications come over another path, perhaps some of them once more.

        Whether a subscription has settled there is not known.
        """
        for inbox in self:
            inbox.settled = None
        self._lingering = 0
        self._fold()
        for remembered in (self._last_older, self._last):
            self._before.update(remembered)
        self._last, self._last_older = {}, {}
        excess = max(0, len(self._before) - PUBLISHERS_MAX)
        for publisher in list(self._before)[:excess]:
            del self._before[publisher]

    def _fold(self) -> None:
        """Keep only the numbers of the latest notifications: decoding each would cost more."""
        for publisher, notification in self._latest.items():
            self._last[publisher] = notification.sequence
        self._latest.clear()
        self._unfolded = 0
        if len(self._last) > PUBLISHERS_MAX // 2:
            self._last_older, self._last = self._last, {}

    def _is_repeated(self, publisher: bytes, notification: Delivered) -> bool:
        """Whether a notification came before the broker changed; once one did not, none does."""
        before = self._before.get(publisher)
        if before is None:
            return False
        if notification.sequence <= before:
            self.repeated += 1
            return True
        del self._before[publisher]
        return False


def _parsed(texts: tuple[str, ...]) -> list[Filter]:
    """The filters of some texts; none, which is any, if one is not understood or they are many."""
    if len(texts) > FILTERS_MAX:
        return []
    try:
        return [Filter(text) for text in texts]
    except FilterError:
        return []
