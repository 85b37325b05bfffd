"""Those who wait for something that a session will say: futures, by the number they wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from sapwood.errors import NetworkError, RefusedError, UnconfirmedError, UnreachableError
from sapwood.protocol.client.outputs import (
    Answered,
    Ponged,
    PublicationRefused,
    RequestRefused,
    Unconfirmed,
)
from sapwood.protocol.durable.messages import MailboxAnswer
from sapwood.protocol.messages import Surveyed
from sapwood.protocol.reconfigure.asking import TreeChangeEnded, TreeChangeProgress


class Waiters:
    """All who wait for one session.

    Everybody has a future of their own: one that is cancelled disturbs no other.
    """

    def __init__(self) -> None:
        self._publications: dict[int, list[asyncio.Future[None]]] = {}
        """By sequence number, which only grows: whoever waits, waits for the last one so far."""
        self._requests: dict[int, asyncio.Future[Any]] = {}
        self._pings: dict[int, asyncio.Future[None]] = {}
        self._on_progress: dict[int, Callable[[TreeChangeProgress], None]] = {}
        """Who wants to know how far a change of the tree is, by its request."""

    # Waiting

    def publication(self, sequence: int) -> asyncio.Future[None]:
        """Done when a broker has accepted a publication, or with the reason why not."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._publications.setdefault(sequence, []).append(future)
        return future

    def request(self, number: int) -> asyncio.Future[Any]:
        """Done with the answer to a request."""
        future = self._requests[number] = asyncio.get_running_loop().create_future()
        return future

    async def mailbox(self, number: int) -> MailboxAnswer:
        """The answer to a question about durable subscriptions."""
        answer: MailboxAnswer = await self.request(number)
        return answer

    def change(
        self, number: int, on_progress: Callable[[TreeChangeProgress], None] | None
    ) -> asyncio.Future[Any]:
        """Done with the answer to a request to change the tree; told of every step before."""
        if on_progress is not None:
            self._on_progress[number] = on_progress
        return self.request(number)

    def ping(self, number: int) -> asyncio.Future[None]:
        """Done when the broker has answered a ping."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pings[number] = future
        return future

    # What the session says

    def accepted(self, sequence: int) -> None:
        """All publications up to a number are accepted."""
        waiters = self._publications
        while waiters:
            first = next(iter(waiters))
            if first > sequence:
                return
            for future in waiters.pop(first):
                if not future.done():
                    future.set_result(None)

    def refused(self, output: PublicationRefused) -> None:
        """A publication was refused."""
        _fail(self._publications.pop(output.sequence, ()), RefusedError(output.reason))

    def unconfirmed(self, output: Unconfirmed) -> None:
        """Nobody knows what became of some publications."""
        problem = UnconfirmedError("the broker was lost before it answered")
        for sequence in [n for n in self._publications if output.first <= n <= output.last]:
            _fail(self._publications.pop(sequence), problem)

    def progressed(self, output: TreeChangeProgress) -> None:
        """A step of a change of the tree has ended."""
        if output.request in self._on_progress:
            self._on_progress[output.request](output)

    def answered(
        self, output: Answered | RequestRefused | Surveyed | TreeChangeEnded | MailboxAnswer
    ) -> None:
        """A request was answered."""
        self._on_progress.pop(output.request, None)
        future = self._requests.pop(output.request, None)
        if future is None or future.done():
            return
        if isinstance(output, RequestRefused):
            future.set_exception(RefusedError(output.reason))
        else:
            future.set_result(output)

    def ponged(self, output: Ponged) -> None:
        """A ping was answered."""
        future = self._pings.pop(output.number, None)
        if future is not None and not future.done():
            future.set_result(None)

    def offline(self, reason: str) -> None:
        """Pings will not be answered."""
        pings, self._pings = self._pings, {}
        _fail(pings.values(), UnreachableError(f"the connection was lost: {reason}"))

    def fail(self, problem: NetworkError) -> None:
        """Nothing will be answered or accepted any more."""
        publications = [one for waiting in self._publications.values() for one in waiting]
        waiting = [*publications, *self._requests.values(), *self._pings.values()]
        self._publications, self._requests, self._pings = {}, {}, {}
        _fail(waiting, problem)


def _fail(futures: Iterable[asyncio.Future[Any]], problem: NetworkError) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(problem)
            future.exception()  # perhaps nobody waits: then nobody is told that it was unread
