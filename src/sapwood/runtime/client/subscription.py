"""A subscription: an async iterator over what comes, with a bounded buffer."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Protocol, Self

from sapwood.errors import ClosedError, NetworkError
from sapwood.filters.filter import Filter
from sapwood.protocol.client.deliveries import Gap, Inbox, Item


class SubscribingBus(Protocol):
    """What a subscription needs of its bus."""

    async def begin(self, subscription: Subscription) -> None:
        """Tell the broker; return when it has settled, or will not soon."""

    async def end(self, subscription: Subscription, *, settle: bool) -> None:
        """Tell the broker that it is over; with `settle`, return when everybody knows."""

    def has_room(self) -> None:
        """Half of a subscription's buffer is free, perhaps after it was full."""


class Subscription:
    """What comes for one filter. Use it as an async context manager and iterate over it.

    Iterating yields notifications; a `Gap` comes where some may be missing, unless the
    subscription was made with ``gaps=False``. When the buffer is full, the broker is not allowed
    to send more: it keeps the rest, as far as its own buffer and its policy for slow consumers
    allow. That holds for all subscriptions of a bus together, since they share a stream.
    """

    def __init__(
        self,
        bus: SubscribingBus,
        filter: Filter,
        *,
        buffer: int,
        settle: bool,
        gaps: bool,
    ) -> None:
        self.filter = filter
        self.settle = settle
        self.buffer = buffer
        self.yields_gaps = gaps
        self.inbox = Inbox("", filter, buffer, yields_gaps=gaps)
        self.items: deque[Item] = self.inbox.items
        """What has come and was not read."""
        self._bus = bus
        self._ready = asyncio.Event()
        self._has_begun = False
        self._closed = False
        self._problem: NetworkError | None = None

    def __repr__(self) -> str:
        return f"<subscription {str(self.filter)!r}, {len(self.items)} waiting>"

    async def __aenter__(self) -> Self:
        """Subscribe; returns when the subscription has settled, or will not soon."""
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

    async def close(self, *, settle: bool = False) -> None:
        """Unsubscribe; what has come already can still be read.

        With `settle` it returns when the whole network knows, or will not soon.
        """
        if not self._closed:
            self.finish()
            await self._bus.end(self, settle=settle)

    # What is known

    @property
    def settled(self) -> bool | None:
        """Whether it is known to be in effect everywhere; None if that is not known yet."""
        return self.inbox.settled

    @property
    def reason(self) -> str:
        """Why it has not settled, if so."""
        return self.inbox.reason

    @property
    def gaps(self) -> deque[Gap]:
        """Those that were reported so far, the last thousand of them."""
        return self.inbox.gaps

    # Reading

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        if not self.items:
            await self._wait()
            if not self.items:
                raise StopAsyncIteration
        item = self.items.popleft()
        if len(self.items) == self.buffer // 2:
            self._bus.has_room()
        return item

    async def _wait(self) -> None:
        """Wait until something is there, or nothing will come any more."""
        while not self.items:
            if self._problem is not None:
                raise self._problem
            if self._closed:
                return
            self.check_begun("async with")
            self._ready.clear()
            self.inbox.is_awaited = True
            await self._ready.wait()

    async def get(self, seconds: float | None = None) -> Item:
        """The next item; a TimeoutError if none comes in time, a ClosedError after the end."""
        try:
            if self.items:
                return await anext(self)
            async with asyncio.timeout(seconds):
                return await anext(self)
        except StopAsyncIteration:
            raise ClosedError(f"the subscription {self.filter} is closed") from None

    async def read(self, most: int = 1000, seconds: float | None = None) -> list[Item]:
        """What is there, up to a number; waits for the first. Empty after the end, or in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._wait()
        except TimeoutError:
            return []
        return [await anext(self) for _ in range(min(most, len(self.items)))]

    # For the bus

    def check_begun(self, statement: str) -> None:
        """Refuse to wait for what was never asked for; `statement` is what would ask for it."""
        if not self._has_begun and not self._closed:
            raise ClosedError(
                f"the subscription {self.filter} has not begun, so nothing would ever come; "
                f"write: {statement} bus.subscribe(…) as subscription"
            )

    def begin(self, inbox: Inbox) -> None:
        """Read what comes into an inbox."""
        self._has_begun = True
        self.inbox = inbox
        self.items = inbox.items

    def wake(self) -> None:
        """Something has come, or this is the end."""
        self._ready.set()

    def finish(self, problem: NetworkError | None = None) -> None:
        """Nothing more will come; if that is because of a problem, whoever reads is told."""
        self._closed = True
        self._problem = self._problem or problem
        self.wake()
