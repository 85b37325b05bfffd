"""The client library without ``await``: the same bus, on an event loop in a thread of its own.

Names and arguments are those of `sapwood.runtime.client`, and so is every rule. Iterating blocks,
and ``with`` replaces ``async with``. A bus may be used by several threads.
"""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from sapwood.errors import ClosedError
from sapwood.filters.filter import Filter
from sapwood.filters.ids import NotificationId
from sapwood.filters.notification import Notification
from sapwood.filters.values import Value
from sapwood.runtime import client, subscription

Result = TypeVar("Result")


class _Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = _new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sapwood", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine there, and wait for it; an interruption here cancels it there."""
        if not self._thread.is_alive():
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
    """What comes for one filter; see `sapwood.runtime.subscription.Subscription`."""

    def __init__(self, loop: _Loop, make: Callable[[], subscription.Subscription]) -> None:
        self._loop = loop
        self._make = make
        self._inner: subscription.Subscription | None = None

    def __enter__(self) -> Self:
        """Subscribe; returns when the subscription has settled."""
        self._inner = self._loop.call(self._begin())
        return self

    async def _begin(self) -> subscription.Subscription:
        return await self._make().__aenter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Unsubscribe."""
        self.close()

    def close(self) -> None:
        """Unsubscribe; what has come already can still be read."""
        self._loop.call(self._open.close())

    @property
    def _open(self) -> subscription.Subscription:
        if self._inner is None:
            raise ClosedError("the subscription has not begun; use it in a with statement")
        return self._inner

    def __iter__(self) -> Iterator[subscription.Item]:
        return self

    def __next__(self) -> subscription.Item:
        try:
            return self.get()
        except ClosedError:
            raise StopIteration from None

    def get(self, seconds: float | None = None) -> subscription.Item:
        """The next item; a TimeoutError if none comes in time, a ClosedError after the end."""
        return self._loop.call(self._open.get(seconds))


class Bus:
    """A connection to the network; see `sapwood.runtime.client.Bus`."""

    def __init__(self, make: Callable[[], client.Bus]) -> None:
        self._make = make
        self._loop: _Loop | None = None
        self._inner: client.Bus | None = None

    def __enter__(self) -> Self:
        self._loop = _Loop()
        try:
            self._inner = self._loop.call(self._begin())
        except BaseException:
            self._loop.stop()
            raise
        return self

    async def _begin(self) -> client.Bus:
        return await self._make().__aenter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Send what was published, and leave."""
        inner, loop = self._open
        loop.call(inner.close())
        loop.stop()

    @property
    def _open(self) -> tuple[client.Bus, _Loop]:
        if self._inner is None or self._loop is None:
            raise ClosedError("the bus is not connected; use it in a with statement")
        return self._inner, self._loop

    def publish(
        self,
        notification: Notification | Mapping[str, Value],
        payload: bytes = b"",
        *,
        confirm: bool = False,
    ) -> NotificationId:
        """Publish; waits only while the network takes nothing more, or for the confirmation."""
        inner, loop = self._open
        return loop.call(inner.publish(notification, payload, confirm=confirm))

    def subscribe(self, filter: Filter | str, **options: Any) -> Subscription:
        """A subscription, to be used in a with statement."""
        inner, loop = self._open
        return Subscription(loop, lambda: inner.subscribe(filter, **options))


def connect(*servers: str, **options: Any) -> Bus:
    """A bus on one of some servers, to be used in a with statement."""
    return Bus(lambda: client.connect(*servers, **options))
