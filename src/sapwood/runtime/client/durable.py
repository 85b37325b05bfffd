"""Durable subscriptions on asyncio: the broker keeps what matches, and whoever reads says how far.

`DurableSubscription` is what `bus.subscribe(filter, durable="name")` gives: iterating yields what
was kept, in order, and what comes. Asking for the next item acknowledges the one before. `Durable`
is the level below: open, status, read from a position, commit, drop. An offset is an epoch and a
position; it can be kept anywhere, together with what was made of the notifications.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, Self

from sapwood.errors import ClosedError, FrameError, NetworkError, RefusedError
from sapwood.filters.filter import Filter
from sapwood.protocol.client.delivered import Delivered
from sapwood.protocol.client.deliveries import Gap, Item
from sapwood.protocol.client.requests import ASK_AGAIN
from sapwood.protocol.durable.messages import Action, Mailbox, MailboxAnswer, MailboxState
from sapwood.wire.frames import NOTIFICATION_TYPES, split

POLL_SECONDS: Final = 30.0
"""How long a broker may take to answer that there is nothing yet."""

PAGE_BYTES: Final = 2**18
"""About how much is read at a time."""


class Offset(NamedTuple):
    """A place in a durable subscription."""

    epoch: int
    """Which life of the subscription: it never comes again."""
    position: int
    """How many notifications are before it."""


class DurablePage(NamedTuple):
    """Consecutive notifications of a durable subscription."""

    first: Offset
    """Where the first of them is. Behind what was asked for: those between were given up."""
    next: Offset
    """Where to go on."""
    notifications: list[Delivered]


class AskingBus(Protocol):
    """What durable subscriptions need of their bus."""

    async def ask_mailbox(self, asked: Mailbox) -> MailboxAnswer:
        """Ask the broker; a RefusedError if it says no."""


class Durable:
    """One durable subscription by its name, at the broker that the bus is connected to."""

    def __init__(self, bus: AskingBus, name: str) -> None:
        self.name = name
        self._bus = bus

    async def open(self, filter: Filter | str = "") -> MailboxState:
        """Begin it, or find it; returns when the whole network knows.

        Without a filter it has to be there. With another filter than before it is refused.
        """
        return await self._state("open", filter=str(filter))

    async def status(self, after: int = 0, wait: float = 0.0) -> MailboxState:
        """How far it is; waits up to some seconds until something is behind a position."""
        return await self._state("status", position=after, wait=wait)

    async def read(
        self, offset: Offset, *, committed: int = 0, size: int = PAGE_BYTES, wait: float = 0.0
    ) -> DurablePage:
        """What is there from an offset on, up to about a size in bytes.

        Waits up to some seconds if nothing is. Everything before `committed` was read, and is let
        go by the broker.
        """
        answer = await self._ask(
            "read",
            epoch=offset.epoch,
            position=offset.position,
            committed=committed,
            size=size,
            wait=wait,
        )
        notifications = [
            Delivered(head, body)
            for kind, head, body in split(answer.data)
            if kind in NOTIFICATION_TYPES
        ]
        if len(notifications) != answer.count:
            raise FrameError(f"a page of {answer.count} notifications has {len(notifications)}")
        first = Offset(offset.epoch, answer.first)
        return DurablePage(first, Offset(offset.epoch, answer.first + answer.count), notifications)

    async def commit(self, offset: Offset) -> MailboxState:
        """Everything before an offset was read."""
        position = offset.position
        return await self._state("commit", epoch=offset.epoch, committed=position)

    async def drop(self) -> None:
        """End it, with all that it keeps."""
        await self._ask("drop")

    async def _state(self, action: Action, **asked: Any) -> MailboxState:
        return (await self._ask(action, **asked)).mailboxes[0]

    async def _ask(self, action: Action, **asked: Any) -> MailboxAnswer:
        """Ask; once more if the broker is lost before it answers."""
        while True:
            question = Mailbox(request=0, action=action, name=self.name, **asked)
            try:
                return await self._bus.ask_mailbox(question)
            except RefusedError as problem:
                if str(problem) != ASK_AGAIN:
                    raise


class DurableSubscription:
    """What is kept for one name. Use it as an async context manager and iterate over it.

    Iterating yields notifications in order, and a `Gap` where some were given up. Asking for the
    next one acknowledges those before; leaving acknowledges what was yielded. The subscription
    itself stays at the broker until it is dropped, or nobody uses it for long.
    """

    def __init__(self, bus: AskingBus, filter: Filter, name: str, start: Offset | None) -> None:
        self.filter = filter
        self.durable = Durable(bus, name)
        self.offset = start or Offset(0, 0)
        """Behind the item that was yielded last."""
        self._start = start
        self._items: deque[Delivered] = deque()
        self._gaps: deque[Gap] = deque()
        self._next = self.offset
        """Behind what was read from the broker."""
        self._reading: asyncio.Task[DurablePage] | None = None
        self._is_open = False

    def __repr__(self) -> str:
        return f"<durable subscription {self.durable.name} at {self.offset.position}>"

    async def __aenter__(self) -> Self:
        """Open it; returns when the whole network knows."""
        await self._open()
        self._is_open = True
        return self

    async def _open(self) -> None:
        state = await self.durable.open(self.filter)
        begun = Offset(state.epoch, state.committed)
        if self._start is not None and self._start.epoch == state.epoch:
            begun = self._start
        elif self._start is not None or self._is_open:
            reason = f"the durable subscription {self.durable.name!r} has begun anew"
            self._gaps.append(Gap(0, reason))
        self._items.clear()
        self.offset = self._next = begun

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Acknowledge what was yielded; the subscription stays."""
        await self.close()

    async def close(self) -> None:
        """The same."""
        if not self._is_open:
            return
        self._is_open = False
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError, NetworkError):
                await self._reading
        with suppress(NetworkError):
            await self.durable.commit(self.offset)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        while not self._items and not self._gaps:
            if not self._is_open:
                raise StopAsyncIteration
            await self._fill()
        if self._gaps:
            return self._gaps.popleft()
        self.offset = self.offset._replace(position=self.offset.position + 1)
        return self._items.popleft()

    async def get(self, seconds: float | None = None) -> Item:
        """The next item; a TimeoutError if none comes in time, a ClosedError after the end."""
        try:
            async with asyncio.timeout(seconds):
                return await anext(self)
        except StopAsyncIteration:
            name = self.durable.name
            raise ClosedError(f"the durable subscription {name!r} is closed") from None

    async def _fill(self) -> None:
        """Read what comes next, and ask for what comes behind it already.

        A reader that stops to wait leaves the question standing: nothing is lost by that.
        """
        if self._reading is None:
            self._reading = self._ask()
        try:
            page = await asyncio.shield(self._reading)
        except RefusedError:
            self._reading = None
            await self._open()
            return
        self._reading = None
        if page.first.position > self._next.position:
            count = page.first.position - self._next.position
            reason = (
                f"{count} notifications from position {self._next.position} on were given up: "
                "they were not read in time"
            )
            self._gaps.append(Gap(count, reason))
            self.offset = page.first
        self._next = page.next
        self._items.extend(page.notifications)
        if page.notifications:
            self._reading = self._ask()

    def _ask(self) -> asyncio.Task[DurablePage]:
        reading = self.durable.read(self._next, committed=self.offset.position, wait=POLL_SECONDS)
        return asyncio.ensure_future(reading)
