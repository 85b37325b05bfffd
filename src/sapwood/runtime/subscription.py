"""A subscription: an async iterator over what comes, with a bounded buffer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self, TypeAlias

import msgspec

from sapwood.errors import ClosedError
from sapwood.filters.filter import Filter
from sapwood.filters.notification import Notification


class Gap(msgspec.Struct, frozen=True):
    """In a stream of notifications: here some may be missing."""

    count: int
    """How many at most; zero if nobody knows."""
    reason: str


Item: TypeAlias = Notification | Gap


class SubscribingBus(Protocol):
    """What a subscription needs of its bus."""

    async def begin(self, subscription: Subscription) -> None:
        """Tell the broker; return when it has settled, or will not soon."""

    async def end(self, subscription: Subscription) -> None:
        """Tell the broker that it is over."""


class Subscription:
    """What comes for one filter. Use it as an async context manager and iterate over it.

    Iterating yields notifications; a `Gap` comes where some may be missing, unless `gaps` is
    False. When the buffer is full, the broker is not told that more was taken over: it keeps the
    rest, as far as its own buffer and its policy for slow consumers allow.
    """

    def __init__(
        self,
        bus: SubscribingBus,
        filter: Filter,
        name: str,
        *,
        buffer: int,
        settle: bool,
        gaps: bool,
    ) -> None:
        self.filter = filter
        self.name = name
        self.settle = settle
        self.settled: bool | None = None
        """Whether it is known to be in effect everywhere; None if that was not asked."""
        self.reason = ""
        """Why it has not settled, if so."""
        self.gaps: list[Gap] = []
        """Those that were reported so far."""
        self.on_room: Callable[[], None] | None = None
        self._bus = bus
        self._yields_gaps = gaps
        self._buffer = buffer
        self._items: deque[Item] = deque()
        self._ready = asyncio.Event()
        self._closed = False

    async def __aenter__(self) -> Self:
        """Subscribe; returns when the subscription has settled."""
        await self._bus.begin(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Unsubscribe."""
        await self.close()

    async def close(self) -> None:
        """Unsubscribe; what has come already can still be read."""
        if not self._closed:
            await self._bus.end(self)
            self.finish()

    def finish(self) -> None:
        """Nothing more will come."""
        self._closed = True
        self._ready.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        while not self._items:
            if self._closed:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        item = self._items.popleft()
        if self.on_room is not None and len(self._items) < self._buffer:
            self.on_room()
        return item

    async def get(self, seconds: float | None = None) -> Item:
        """The next item; a TimeoutError if none comes in time, a ClosedError after the end."""
        try:
            async with asyncio.timeout(seconds):
                return await anext(self)
        except StopAsyncIteration:
            raise ClosedError(f"the subscription {self.filter} is closed") from None

    # For the bus

    @property
    def is_full(self) -> bool:
        """Whether nothing more should come for now."""
        return len(self._items) >= self._buffer

    def put(self, notification: Notification) -> None:
        """A notification came."""
        self._items.append(notification)
        self._ready.set()

    def report(self, gap: Gap) -> None:
        """Something may be missing here."""
        self.gaps.append(gap)
        if self._yields_gaps:
            self._items.append(gap)
            self._ready.set()
