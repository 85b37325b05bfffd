"""The client library without ``await``: the same bus, on an event loop in a thread of its own.

Names, arguments and rules are those of `sapwood.runtime.client`; ``with`` replaces ``async with``,
``for`` replaces ``async for``, and calls block. A bus may be used by several threads.
"""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar, Unpack, overload

from sapwood.errors import ClosedError
from sapwood.filters.filter import Filter
from sapwood.filters.ids import NotificationId
from sapwood.filters.notification import Notification
from sapwood.filters.values import Value
from sapwood.protocol.durable.messages import Mailbox, MailboxAnswer, MailboxState
from sapwood.protocol.messages import Surveyed
from sapwood.protocol.reconfigure.asking import TreeChangeEnded, TreeChangeProgress, Wish
from sapwood.runtime import client
from sapwood.runtime.client import Gap, Item
from sapwood.runtime.client.durable import PAGE_BYTES
from sapwood.runtime.client.options import Confirm

__all__ = ["Bus", "Durable", "DurableSubscription", "Gap", "Item", "Subscription", "connect"]

Result = TypeVar("Result")

_AT_ONCE: Final = 256
"""Items that are brought over from the other thread at a time, if as many are there."""


class _Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = _new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sapwood", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine there, and wait for it; an interruption here cancels it there."""
        if self._loop.is_closed():
            work.close()
            raise ClosedError("the bus is closed; connect again")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _new_event_loop() -> asyncio.AbstractEventLoop:
    if importlib.util.find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    import uvloop  # noqa: PLC0415 - an optional part of the installation

    return uvloop.new_event_loop()


class Subscription:
    """What comes for one filter; see `sapwood.runtime.client.Subscription`."""

    def __init__(self, loop: _Loop, inner: client.Subscription) -> None:
        self._loop = loop
        self._inner = inner
        self._items: deque[Item] = deque()

    def __repr__(self) -> str:
        return repr(self._inner)

    def __enter__(self) -> Self:
        """Subscribe; returns when the subscription has settled, or will not soon."""
        self._loop.call(self._inner.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Unsubscribe."""
        self.close()

    def close(self, *, settle: bool = False) -> None:
        """Unsubscribe; what has come already can still be read."""
        self._loop.call(self._inner.close(settle=settle))

    @property
    def filter(self) -> Filter:
        """What is wanted."""
        return self._inner.filter

    @property
    def settled(self) -> bool | None:
        """Whether it is known to be in effect everywhere; None if that is not known yet."""
        return self._inner.settled

    @property
    def reason(self) -> str:
        """Why it has not settled, if so."""
        return self._inner.reason

    @property
    def gaps(self) -> list[Gap]:
        """Those that were reported so far, the last thousand of them."""
        return list(self._inner.gaps)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        if not self._items:
            self._inner.check_begun("with")
            self._items.extend(self._loop.call(self._inner.read(_AT_ONCE)))
            if not self._items:
                raise StopIteration
        return self._items.popleft()

    def get(self, seconds: float | None = None) -> Item:
        """The next item; a TimeoutError if none comes in time, a ClosedError after the end."""
        if self._items:
            return self._items.popleft()
        self._inner.check_begun("with")
        return self._loop.call(self._inner.get(seconds))

    def read(self, most: int = 1000, seconds: float | None = None) -> list[Item]:
        """What is there, up to a number; waits for the first. Empty after the end, or in time."""
        if self._items:
            return [self._items.popleft() for _ in range(min(most, len(self._items)))]
        self._inner.check_begun("with")
        return self._loop.call(self._inner.read(most, seconds))


class Durable:
    """A durable subscription by position; see `sapwood.runtime.client.Durable`."""

    def __init__(self, loop: _Loop, inner: client.Durable) -> None:
        self._loop = loop
        self._inner = inner

    @property
    def name(self) -> str:
        """What it is called."""
        return self._inner.name

    def open(self, filter: Filter | str = "") -> MailboxState:
        """Begin it, or find it; returns when the whole network knows."""
        return self._loop.call(self._inner.open(filter))

    def status(self, after: int = 0, wait: float = 0.0) -> MailboxState:
        """How far it is; waits up to some seconds until something is behind a position."""
        return self._loop.call(self._inner.status(after, wait))

    def read(
        self,
        offset: client.Offset,
        *,
        committed: int = 0,
        size: int = PAGE_BYTES,
        wait: float = 0.0,
    ) -> client.DurablePage:
        """What is there from an offset on, up to about a size in bytes."""
        page = self._inner.read(offset, committed=committed, size=size, wait=wait)
        return self._loop.call(page)

    def commit(self, offset: client.Offset) -> MailboxState:
        """Everything before an offset was read."""
        return self._loop.call(self._inner.commit(offset))

    def drop(self) -> None:
        """End it, with all that it keeps."""
        self._loop.call(self._inner.drop())


class DurableSubscription:
    """What a broker keeps; see `sapwood.runtime.client.DurableSubscription`."""

    def __init__(self, loop: _Loop, inner: client.DurableSubscription) -> None:
        self._loop = loop
        self._inner = inner

    def __repr__(self) -> str:
        return repr(self._inner)

    def __enter__(self) -> Self:
        """Open it; returns when the whole network knows."""
        self._loop.call(self._inner.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Acknowledge what was yielded; the subscription stays."""
        self._loop.call(self._inner.close())

    @property
    def offset(self) -> client.Offset:
        """Behind the item that was yielded last."""
        return self._inner.offset

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        return self.get()

    def get(self, seconds: float | None = None) -> Item:
        """The next item; a TimeoutError if none comes in time, a ClosedError after the end."""
        return self._loop.call(self._inner.get(seconds))


class Bus:
    """A connection to the network; see `sapwood.runtime.client.Bus`."""

    def __init__(self, inner: client.Bus) -> None:
        self._inner = inner
        self._running: _Loop | None = None

    def __repr__(self) -> str:
        return repr(self._inner)

    def __enter__(self) -> Self:
        """Connect; an UnreachableError or RefusedError if that cannot be."""
        self._running = _Loop()
        try:
            self._running.call(self._inner.__aenter__())
        except BaseException:
            self._running.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Send what was published, and leave."""
        if self._running is not None:
            self._end(self._inner.__aexit__(kind, error, trace))

    def close(self) -> None:
        """Send what was published, and leave."""
        if self._running is not None:
            self._end(self._inner.close())

    def _end(self, work: Coroutine[Any, Any, None]) -> None:
        loop, self._running = self._loop, None
        try:
            loop.call(work)
        finally:
            loop.stop()

    @property
    def _loop(self) -> _Loop:
        if self._running is None:
            raise ClosedError(
                "the bus is not connected; write: with sapwood.sync.connect(…) as bus"
            )
        return self._running

    # What is known

    @property
    def id(self) -> str:
        """The client's lasting name."""
        return self._inner.id

    @property
    def name(self) -> str:
        """Id and session: the publisher in the ids of notifications."""
        return self._inner.name

    @property
    def session(self) -> int:
        """The number of this session; it grows."""
        return self._inner.session

    @property
    def order(self) -> int:
        """How much was published and received, in the client's own order."""
        return self._inner.order

    @property
    def advertisements_required(self) -> bool:
        """Whether the network takes only publications that were advertised."""
        return self._inner.advertisements_required

    @property
    def broker(self) -> str:
        """The broker that this bus is connected to, or was last."""
        return self._inner.broker

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection at the moment."""
        return self._inner.is_connected

    @property
    def published(self) -> int:
        """How many notifications were published."""
        return self._inner.published

    @property
    def received(self) -> int:
        """How many notifications have come."""
        return self._inner.received

    @property
    def unconfirmed(self) -> int:
        """Publications of which nobody knows whether a broker that was lost had accepted them."""
        return self._inner.unconfirmed

    @property
    def refused(self) -> int:
        """Publications that a broker did not accept."""
        return self._inner.refused

    # What can be done

    def publish(
        self,
        notification: Notification | Mapping[str, Value],
        payload: bytes = b"",
        *,
        expires_in: float | None = None,
        confirm: Confirm = False,
    ) -> NotificationId:
        """Publish; waits only while the network takes nothing more, or for the confirmation."""
        return self._loop.call(
            self._inner.publish(notification, payload, expires_in=expires_in, confirm=confirm)
        )

    def flush(self) -> None:
        """Wait until the broker has accepted everything published so far."""
        self._loop.call(self._inner.flush())

    @overload
    def subscribe(
        self,
        filter: Filter | str,
        *,
        buffer: int = 10_000,
        settle: bool = True,
        gaps: bool = True,
        durable: None = None,
    ) -> Subscription: ...

    @overload
    def subscribe(
        self, filter: Filter | str, *, durable: str, start: client.Offset | None = None
    ) -> DurableSubscription: ...

    def subscribe(
        self,
        filter: Filter | str,
        *,
        buffer: int = 10_000,
        settle: bool = True,
        gaps: bool = True,
        durable: str | None = None,
        start: client.Offset | None = None,
    ) -> Subscription | DurableSubscription:
        """A subscription, to be used in a with statement: then it begins.

        With the name of a `durable` one, the broker keeps what matches, also while nobody reads.
        """
        if durable is not None:
            kept = self._inner.subscribe(filter, durable=durable, start=start)
            return DurableSubscription(self._loop, kept)
        inner = self._inner.subscribe(filter, buffer=buffer, settle=settle, gaps=gaps)
        return Subscription(self._loop, inner)

    def durables(self) -> tuple[MailboxState, ...]:
        """All durable subscriptions at this broker that are one's own."""
        return self._loop.call(self._inner.durables())

    def durable(self, name: str) -> Durable:
        """A durable subscription, to be read by position."""
        return Durable(self._loop, self._inner.durable(name))

    def ask_mailbox(self, asked: Mailbox) -> MailboxAnswer:
        """Ask the broker something about durable subscriptions."""
        return self._loop.call(self._inner.ask_mailbox(asked))

    def check_durable(self) -> None:
        """A NotDurableError if the broker does not have on disk what it accepts."""
        self._inner.check_durable()

    def advertise(self, filter: Filter | str) -> str:
        """Say what will be published; returns a name under which it can be taken back."""
        return self._loop.call(self._inner.advertise(filter))

    def unadvertise(self, name: str) -> None:
        """Take an advertisement back; returns when the whole network knows."""
        self._loop.call(self._inner.unadvertise(name))

    def survey(self) -> Surveyed:
        """Every broker that can be reached, with its neighbours: the tree as it is."""
        return self._loop.call(self._inner.survey())

    def change_tree(
        self,
        wish: Wish,
        links: Sequence[tuple[str, str]] = (),
        broker: str = "",
        on_progress: Callable[[TreeChangeProgress], None] | None = None,
    ) -> TreeChangeEnded:
        """Change the tree of brokers while it carries notifications: none is lost or repeated.

        Progress is told from the thread of the event loop.
        """
        return self._loop.call(self._inner.change_tree(wish, links, broker, on_progress))

    def ping(self) -> float:
        """Ask the broker whether it is there; the time until the answer, in seconds."""
        return self._loop.call(self._inner.ping())


def connect(*servers: str, **options: Unpack[client.ConnectOptions]) -> Bus:
    """A bus on one of some servers, to be used in a with statement; options as `BusOptions`."""
    return Bus(client.connect(*servers, **options))
