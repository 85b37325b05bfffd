"""From what a read brought to the subscriptions that want it.

A broker sends a client each notification once, however many of its subscriptions match. Most
clients have one subscription, and what comes is for that one. With several, the answer is kept by
the raw bytes of the head, which repeat (as a broker does it); what is not known is asked of each
filter, or of a match index where there are many and it is installed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from sapwood.matching import MatchIndex, preload
from sapwood.runtime.delivered import Delivered
from sapwood.runtime.subscription import Gap, Subscription
from sapwood.wire.frames import (
    CONTROL,
    HEADER,
    HEADER_SIZE,
    NOTIFICATION,
    NOTIFICATION_TYPES,
    decode_envelope,
    decode_head,
    split,
)

REMEMBERED_MAX: Final = 4096
"""Heads whose subscriptions are remembered."""

INDEX_FROM: Final = 64
"""Subscriptions from which on a match index is worth it."""

RECENT_BYTES: Final = 64 * 1024
"""How much of what came last is kept, to recognise it if it comes again from another broker."""

REPEAT_SECONDS: Final = 60.0
"""How long after a change of the broker something may come that had come before."""

_unpack = HEADER.unpack_from


class Dispatch:
    """The subscriptions of one session, and the way to them."""

    def __init__(self, told: Callable[[bytes], None]) -> None:
        self.repeated = 0
        """Notifications that came once more from another broker, and were left out."""
        self._told = told
        self._subscriptions: dict[Subscription, None] = {}
        self._plans: dict[bytes, tuple[Subscription, ...]] = {}
        self._full: dict[Subscription, None] = {}
        self._lingering = 0
        """Ended subscriptions for which something may still be under way."""
        self._index: MatchIndex[Subscription] | None = None
        self._loading: asyncio.Task[None] | None = None
        self._recent: deque[bytes] = deque()
        self._recent_bytes = 0
        self._seen: dict[str, int] = {}
        """After a change of the broker: by publisher, the last that had come before."""
        self._seen_until = 0.0

    def __len__(self) -> int:
        """How many subscriptions there are."""
        return len(self._subscriptions)

    def __iter__(self) -> Iterator[Subscription]:
        """The subscriptions, in the order in which they began."""
        return iter(self._subscriptions)

    # Who wants what

    def add(self, subscription: Subscription) -> None:
        """A subscription begins."""
        self._subscriptions[subscription] = None
        self._plans.clear()
        if self._index is not None:
            self._index.add(subscription, subscription.filter)
        elif len(self._subscriptions) >= INDEX_FROM and self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load_index())

    def remove(self, subscription: Subscription) -> bool:
        """A subscription ends; False if it had already. What is under way may still come."""
        if self._subscriptions.pop(subscription, self) is self:
            return False
        self._plans.clear()
        self._full.pop(subscription, None)
        self._lingering += 1
        if self._index is not None:
            self._index.remove(subscription)
        return True

    def nothing_lingers(self) -> None:
        """The broker has confirmed an end: for that subscription nothing comes any more."""
        self._lingering -= 1

    async def _load_index(self) -> None:
        """Load the matching engine beside the event loop: that takes a second."""
        with suppress(ImportError):
            await asyncio.to_thread(preload)
            index: MatchIndex[Subscription] = MatchIndex()
            for subscription in self._subscriptions:
                index.add(subscription, subscription.filter)
            self._index = index

    def close(self) -> None:
        """Nothing more will come."""
        if self._loading is not None:
            self._loading.cancel()

    # What comes

    def deliver(self, data: bytes) -> int:
        """Take the frames of a read; how many notifications there were."""
        self._remember(data)
        single = self._single
        at, end, count = 0, len(data), 0
        while at < end:
            kind, body, head = _unpack(data, at)
            head_at = at + HEADER_SIZE
            body_at = head_at + head
            at = body_at + body
            if kind != NOTIFICATION and kind not in NOTIFICATION_TYPES:
                if kind == CONTROL:
                    self._told(data[body_at:at])
                    single = self._single
                continue
            count += 1
            notification = Delivered(data[head_at:body_at], data[body_at:at])
            if single is not None:
                single.items.append(notification)
                if single.is_awaited:
                    single.wake()
            elif not (self._seen and self._is_repeated(notification)):
                self._hand_out(data[head_at:body_at], notification)
        if single is not None and len(single.items) >= single.buffer:
            self._full[single] = None
        return count

    def _hand_out(self, head: bytes, notification: Delivered) -> None:
        for subscription in self._wanting(head, notification):
            subscription.items.append(notification)
            subscription.wake()
            if len(subscription.items) >= subscription.buffer:
                self._full[subscription] = None

    @property
    def _single(self) -> Subscription | None:
        """The one subscription for which everything is, if there is one."""
        if len(self._subscriptions) != 1 or self._lingering or self._seen:
            return None
        return next(iter(self._subscriptions))

    def _wanting(self, head: bytes, notification: Delivered) -> tuple[Subscription, ...]:
        found = self._plans.get(head)
        if found is None:
            attributes = notification.attributes
            if self._index is not None:
                found = tuple(self._index.match(attributes))
            else:
                found = tuple(
                    subscription
                    for subscription in self._subscriptions
                    if subscription.filter.matches(attributes)
                )
            if len(self._plans) >= REMEMBERED_MAX:
                self._plans.clear()
            self._plans[head] = found
        return found

    def report(self, gap: Gap) -> None:
        """Something may be missing, for every subscription."""
        for subscription in self._subscriptions:
            subscription.report(gap)

    @property
    def is_full(self) -> bool:
        """Whether one of the subscriptions wants nothing more for now.

        One that was full wants more when half of its buffer is free.
        """
        for subscription in list(self._full):
            if len(subscription.items) <= subscription.buffer // 2:
                del self._full[subscription]
        return bool(self._full)

    # What came before

    def _remember(self, data: bytes) -> None:
        """Keep what came last as the bytes it is: it is looked at only if the broker changes."""
        self._recent.append(data)
        self._recent_bytes += len(data)
        while self._recent_bytes > RECENT_BYTES and len(self._recent) > 1:
            self._recent_bytes -= len(self._recent.popleft())

    def change_broker(self) -> None:
        """What comes from now on comes over another path, perhaps some of it once more.

        The notifications of one publisher come in their order on every path. So whatever is not
        behind the last one that came is known already, or out of order.
        """
        self._lingering = 0
        for data in self._recent:
            for kind, head, body in split(data):
                if kind in NOTIFICATION_TYPES:
                    publisher, _ = decode_head(head)
                    sequence = decode_envelope(body).sequence
                    self._seen[publisher] = max(sequence, self._seen.get(publisher, 0))
        self._recent.clear()
        self._recent_bytes = 0
        self._seen_until = time.monotonic() + REPEAT_SECONDS

    def _is_repeated(self, notification: Delivered) -> bool:
        found = notification.id
        last = self._seen.get(found.publisher)
        if last is not None and found.sequence <= last:
            self.repeated += 1
            return True
        self._seen.pop(found.publisher, None)
        if time.monotonic() > self._seen_until:
            self._seen.clear()
        return False
