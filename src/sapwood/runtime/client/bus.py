"""A bus on asyncio: the client's session, with a driver and with those who wait for it."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self, Unpack, overload

from sapwood.errors import (
    ClosedError,
    NetworkError,
    NotDurableError,
    ParameterError,
    RefusedError,
    UnconfirmedError,
    UnreachableError,
    UnsupportedTypeError,
)
from sapwood.filters.filter import Filter
from sapwood.filters.ids import NotificationId
from sapwood.filters.notification import Notification, attributes_of
from sapwood.filters.values import Value
from sapwood.matching import MatchIndex, preload
from sapwood.protocol.client.config import SessionConfig
from sapwood.protocol.client.outputs import (
    Accepted,
    Answered,
    Failed,
    IndexWanted,
    Offline,
    Online,
    Ponged,
    PublicationRefused,
    Readable,
    RequestRefused,
    Unconfirmed,
)
from sapwood.protocol.client.session import ClientSession
from sapwood.protocol.durable.messages import Mailbox, MailboxAnswer, MailboxState
from sapwood.protocol.messages import Surveyed
from sapwood.protocol.reconfigure.asking import TreeChangeEnded, TreeChangeProgress, Wish
from sapwood.runtime.address import parse_address
from sapwood.runtime.client.durable import Durable, DurableSubscription, Offset
from sapwood.runtime.client.environment import completed_options, completed_servers
from sapwood.runtime.client.options import (
    BusOptions,
    Confirm,
    ConnectOptions,
    check_confirm,
    check_options,
)
from sapwood.runtime.client.subscription import Subscription
from sapwood.runtime.client.waiters import Waiters
from sapwood.runtime.clock import Clock
from sapwood.runtime.driver import Driver

_GOODBYE_SECONDS: Final = 1.0
"""How long the last message may take; else it may stay behind with the event loop."""


class Bus:
    """A connection to the network; made by `connect`, used as an async context manager.

    It has one connection at a time, looks for another one when it is lost, and says what that
    meant: nothing if the same broker kept the stream, else a `Gap` in every subscription, and
    publications counted as unconfirmed.
    """

    def __init__(self, servers: Sequence[str], options: BusOptions) -> None:
        check_options(options)
        own = f"{options.account}/" if options.account else "client-"
        self.id = options.id or f"{own}{secrets.token_hex(4)}"
        self.session = _next_session()
        config = SessionConfig(
            id=self.id,
            session=self.session,
            servers=tuple(str(parse_address(text)) for text in servers),
            network=options.network,
            token=options.token,
            account=options.account,
            secret=options.secret,
            slow_policy=options.slow_policy,
            buffer_bytes=options.buffer_bytes,
            connect_seconds=options.connect_seconds,
            silence_seconds=options.silence_seconds,
            answer_seconds=options.answer_seconds,
            raises_faults=False,
        )
        self.name = config.name
        """Id and session: the publisher in the ids of notifications."""
        self._options = options
        self._machine = ClientSession(config, random.Random())
        self._publishing = self._machine.publishing
        self._driver = Driver(self._machine, Clock(), self._take, options.tls)
        self._waiters = Waiters()
        self._subscriptions: dict[str, Subscription] = {}
        self._opened: asyncio.Future[None] | None = None
        self._progress = asyncio.Event()
        self._is_flush_scheduled = False
        self._loading: asyncio.Task[None] | None = None
        self._closed = False
        self._failure: NetworkError | None = None
        self._takers: dict[type, Callable[[Any], None]] = {
            Accepted: self._take_accepted,
            Answered: self._waiters.answered,
            TreeChangeEnded: self._waiters.answered,
            TreeChangeProgress: self._waiters.progressed,
            Failed: self._take_failed,
            IndexWanted: self._take_index_wanted,
            MailboxAnswer: self._waiters.answered,
            Offline: self._take_offline,
            Online: self._take_online,
            Ponged: self._waiters.ponged,
            PublicationRefused: self._take_refused,
            Readable: self._take_readable,
            RequestRefused: self._waiters.answered,
            Surveyed: self._waiters.answered,
            Unconfirmed: self._waiters.unconfirmed,
        }
        """By kind, whom an output of the session concerns; others concern nobody."""

    def __repr__(self) -> str:
        state = "closed" if self._closed else "connected" if self.is_connected else "disconnected"
        return f"<bus {self.name}, {state}, broker {self.broker or 'none'}>"

    # Life

    async def __aenter__(self) -> Self:
        """Connect; an UnreachableError or RefusedError if that cannot be."""
        self._opened = asyncio.get_running_loop().create_future()
        self._driver.start()
        self._machine.open(self._driver.clock.now())
        self._flush()
        try:
            await self._opened
        except BaseException:
            await self._driver.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Send what was published, and leave."""
        try:
            await self.close()
        except UnconfirmedError:
            if error is None:
                raise

    async def close(self) -> None:
        """Send what was published, and leave.

        An UnconfirmedError if some of it was not accepted in time.
        """
        if self._closed:
            return
        self._closed = True
        try:
            if self._failure is None:
                await self._accepted_before_leaving()
        finally:
            if self._loading is not None:
                self._loading.cancel()
            closed = ClosedError("the bus was closed")
            if self._opened is not None and not self._opened.done():
                self._opened.set_exception(closed)
            self._waiters.fail(closed)
            self._progress.set()
            for subscription in self._subscriptions.values():
                subscription.finish()
            self._machine.close(self._driver.clock.now())
            self._flush()
            await self._driver.close(_GOODBYE_SECONDS)

    async def _accepted_before_leaving(self) -> None:
        last = self._publishing.sequence
        try:
            async with asyncio.timeout(self._options.close_seconds):
                await self._answered(last)
        except UnconfirmedError:
            return  # counted already
        except TimeoutError:
            missing = last - self._publishing.accepted
            raise UnconfirmedError(
                "publications that were not accepted within "
                f"{self._options.close_seconds} s: {missing}; is the network reachable?"
            ) from None

    # What is known

    @property
    def account(self) -> str:
        """The account that this is, if brokers have accounts."""
        return self._options.account

    @property
    def secret(self) -> str:
        """The secret of that account."""
        return self._options.secret

    @property
    def tls(self) -> ssl.SSLContext | None:
        """What encrypted connections are made with; None for the usual."""
        return self._options.tls

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection at the moment."""
        return self._machine.is_connected

    @property
    def broker(self) -> str:
        """The broker that this bus is connected to, or was last."""
        return self._machine.broker

    @property
    def advertisements_required(self) -> bool:
        """Whether the network takes only publications that were advertised."""
        return self._machine.advertisements_required

    @property
    def order(self) -> int:
        """How much was published and received, in the client's own order."""
        return self._machine.order

    @property
    def received(self) -> int:
        """How many notifications have come."""
        return self._machine.deliveries.received

    @property
    def published(self) -> int:
        """How many notifications were published."""
        return self._publishing.sequence

    @property
    def unconfirmed(self) -> int:
        """Publications of which nobody knows whether a broker that was lost had accepted them."""
        return self._publishing.unconfirmed

    @property
    def refused(self) -> int:
        """Publications that a broker did not accept."""
        return self._publishing.refused

    async def ping(self) -> float:
        """Ask the broker whether it is there; the time until the answer, in seconds."""
        self._check_open()
        if not self.is_connected:
            raise UnreachableError("there is no connection to the network at the moment")
        answer = self._waiters.ping(self._machine.ping())
        start = time.perf_counter()
        self._flush()
        await answer
        return time.perf_counter() - start

    # Publishing

    async def publish(
        self,
        notification: Notification | Mapping[str, Value],
        payload: bytes = b"",
        *,
        expires_in: float | None = None,
        confirm: Confirm = False,
    ) -> NotificationId:
        """Publish; waits only while the network takes nothing more.

        With `confirm` it returns when the broker has accepted this notification; a RefusedError
        if it does not, an UnconfirmedError if it was lost before it answered. With ``"durable"``
        it returns when the broker has it on disk, with all that it has to do with it; a
        NotDurableError if the broker keeps no journal. With `expires_in` seconds, it is not
        delivered later than that.
        """
        check_confirm(confirm)
        attributes = attributes_of(notification)
        if isinstance(notification, Notification) and not payload:
            payload = notification.payload
        if type(payload) is not bytes:
            raise UnsupportedTypeError(
                f"the payload is of type {type(payload).__name__}; it must be bytes"
            )
        if self._publishing.is_ample:
            await self._make_room()
        if self._closed or self._failure is not None or self._opened is None:
            self._check_open()
        if confirm == "durable":
            self.check_durable()
        sequence = self._machine.publish(
            attributes, payload, published_at=time.time(), expires_in=expires_in
        )
        if not self._is_flush_scheduled:
            self._schedule_flush()
        if confirm:
            await self._waiters.publication(sequence)
            if confirm == "durable":
                self.check_durable()
        return NotificationId(self.name, sequence)

    def check_durable(self) -> None:
        """A NotDurableError if the broker does not have on disk what it accepts."""
        if not self._machine.has_journal:
            raise NotDurableError(
                f"broker {self.broker or '(none yet)'} keeps no journal, so nothing is durable "
                "there; set durability.spool to 'disk' at the broker, or use confirm='broker'"
            )

    async def _make_room(self) -> None:
        """Send a batch and let others work; wait while too much is on its way."""
        self._flush()
        await asyncio.sleep(0)
        while self._publishing.is_full and self._failure is None and not self._closed:
            self._progress.clear()
            await self._progress.wait()

    async def flush(self) -> None:
        """Wait until the broker has taken everything published so far.

        What it refused is counted in `refused`. An UnconfirmedError if meanwhile a broker was
        lost that had not answered.
        """
        self._check_open()
        before = self._publishing.unconfirmed
        await self._answered(self._publishing.sequence)
        lost = self._publishing.unconfirmed - before
        if lost:
            raise UnconfirmedError(f"the broker was lost before it answered {lost} publications")

    async def _answered(self, last: int) -> None:
        """Wait until the broker has said of all publications up to one whether it takes them.

        Whether the last one is refused while somebody waits here or before is a matter of
        chance, so a refusal is no error here: it was counted and told to `on_refused`.
        """
        try:
            if last > self._publishing.accepted:
                await self._waiters.publication(last)
        except RefusedError:
            if self._failure is not None:
                raise

    def _check_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._closed:
            raise ClosedError("the bus is closed; connect again")
        if self._opened is None:
            raise ClosedError(
                "the bus is not connected yet; write: async with sapwood.connect(…) as bus"
            )

    # Subscribing and advertising

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
        self, filter: Filter | str, *, durable: str, start: Offset | None = None
    ) -> DurableSubscription: ...

    def subscribe(
        self,
        filter: Filter | str,
        *,
        buffer: int = 10_000,
        settle: bool = True,
        gaps: bool = True,
        durable: str | None = None,
        start: Offset | None = None,
    ) -> Subscription | DurableSubscription:
        """A subscription, to be used as an async context manager: then it begins.

        `buffer` is how many notifications may wait to be read. Without `settle`, it does not wait
        until the whole network knows. Without `gaps`, only notifications are yielded.

        With the name of a `durable` subscription, the broker keeps what matches, also while nobody
        is connected; it goes on behind what was read last, or at a `start`.
        """
        wanted = filter if isinstance(filter, Filter) else Filter(filter)
        if durable is not None:
            return DurableSubscription(self, wanted, durable, start)
        if buffer < 1:
            raise ParameterError(f"is {buffer}; at least 1 notification must fit", "buffer")
        return Subscription(self, wanted, buffer=buffer, settle=settle, gaps=gaps)

    async def begin(self, subscription: Subscription) -> None:
        """Let a subscription begin; return when it has settled, or will not soon."""
        self._check_open()
        inbox, number = self._machine.subscribe(
            subscription.filter,
            buffer=subscription.buffer,
            settle=subscription.settle,
            gaps=subscription.yields_gaps,
        )
        subscription.begin(inbox)
        self._subscriptions[inbox.name] = subscription
        self._schedule_flush()
        if number:
            try:
                await self._waiters.request(number)
            except BaseException:
                await subscription.close()
                raise

    async def end(self, subscription: Subscription, *, settle: bool) -> None:
        """Let a subscription end; with `settle`, return when everybody knows."""
        found = self._subscriptions.pop(subscription.inbox.name, None)
        if found is None or self._closed or self._failure is not None:
            return
        number = self._machine.unsubscribe(subscription.inbox.name, settle=settle)
        self._machine.make_room()
        self._schedule_flush()
        if number:
            await self._waiters.request(number)

    async def advertise(self, filter: Filter | str) -> str:
        """Say what will be published; returns a name under which it can be taken back.

        Returns when the whole network knows. Where advertisements are not required, they do
        nothing.
        """
        self._check_open()
        what = filter if isinstance(filter, Filter) else Filter(filter)
        request = self._machine.advertise(what)
        self._schedule_flush()
        try:
            await self._waiters.request(request.number)
        except BaseException:
            if not self._closed and self._failure is None:
                self._machine.unadvertise(request.name, settle=False)
                self._schedule_flush()
            raise
        return request.name

    async def unadvertise(self, name: str) -> None:
        """Take an advertisement back; returns when the whole network knows."""
        self._check_open()
        if name not in self._machine.requests or name in self._subscriptions:
            raise ClosedError(f"nothing is advertised under {name!r}")
        number = self._machine.unadvertise(name)
        self._schedule_flush()
        await self._waiters.request(number)

    async def survey(self) -> Surveyed:
        """Every broker that can be reached, with its neighbours: the tree as it is."""
        self._check_open()
        number = self._machine.survey()
        self._schedule_flush()
        answer: Surveyed = await self._waiters.request(number)
        return answer

    async def change_tree(
        self,
        wish: Wish,
        links: Sequence[tuple[str, str]] = (),
        broker: str = "",
        on_progress: Callable[[TreeChangeProgress], None] | None = None,
    ) -> TreeChangeEnded:
        """Change the tree of brokers while it carries notifications: none is lost or repeated.

        With ``"exchange"`` or ``"swap"`` the first link gives way to the second, with ``"plan"``
        the links are all those of the tree that is wanted, and with ``"remove"`` a broker hands
        its clients over and leaves. Returns when it is done, or will not be: the answer says how
        far it went. Raises `RefusedError` if it cannot be known.
        """
        self._check_open()
        number = self._machine.change_tree(wish, tuple(links), broker)
        self._schedule_flush()
        answer: TreeChangeEnded = await self._waiters.change(number, on_progress)
        return answer

    def durable(self, name: str) -> Durable:
        """A durable subscription, to be read by position."""
        return Durable(self, name)

    async def durables(self) -> tuple[MailboxState, ...]:
        """All durable subscriptions at this broker that are one's own."""
        return (await self.ask_mailbox(Mailbox(request=0, action="list"))).mailboxes

    async def ask_mailbox(self, asked: Mailbox) -> MailboxAnswer:
        """Ask the broker something about durable subscriptions."""
        self._check_open()
        number = self._machine.mailbox(asked)
        self._schedule_flush()
        return await self._waiters.mailbox(number)

    def has_room(self) -> None:
        """The broker may perhaps send more."""
        if self._machine.channel.withheld:
            self._machine.make_room()
            self._flush()

    # The session

    def _schedule_flush(self) -> None:
        """Send at the end of this turn of the event loop, with all that is published until then."""
        if not self._is_flush_scheduled:
            self._is_flush_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_scheduled = False
        self._driver.carry_out(self._machine.flush(self._driver.clock.now()))

    def _take(self, output: object) -> None:
        taker = self._takers.get(type(output))
        if taker is not None:
            taker(output)

    def _take_online(self, output: Online) -> None:
        if self._opened is not None and not self._opened.done():
            self._opened.set_result(None)
        self._progress.set()

    def _take_offline(self, output: Offline) -> None:
        self._waiters.offline(output.reason)

    def _take_accepted(self, output: Accepted) -> None:
        self._waiters.accepted(output.sequence)
        self._progress.set()

    def _take_refused(self, output: PublicationRefused) -> None:
        self._waiters.refused(output)
        if self._options.on_refused is not None:
            refused = NotificationId(self.name, output.sequence)
            self._options.on_refused(refused, output.reason)

    def _take_readable(self, output: Readable) -> None:
        subscription = self._subscriptions.get(output.subscription)
        if subscription is not None:
            subscription.wake()

    def _take_failed(self, output: Failed) -> None:
        """It is over: nobody can be reached, or the network does not want this client."""
        problem: NetworkError = (
            RefusedError(output.reason, output.code, output.broker)
            if output.is_refusal
            else UnreachableError(output.reason)
        )
        if self._opened is not None and not self._opened.done():
            self._opened.set_exception(problem)
        self._failure = problem
        self._waiters.fail(problem)
        self._progress.set()
        for subscription in self._subscriptions.values():
            subscription.finish(problem)

    def _take_index_wanted(self, output: IndexWanted) -> None:
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load_index())

    async def _load_index(self) -> None:
        """Load the matching engine beside the event loop: that takes a second."""
        with suppress(ImportError):
            await asyncio.to_thread(preload)
            self._machine.deliveries.use_index(MatchIndex())


def connect(*servers: str, **options: Unpack[ConnectOptions]) -> Bus:
    """A bus on one of some servers, to be used as an async context manager.

    Options are those of `BusOptions`. What is not given is taken from the environment, as far as
    it says something about getting in (`sapwood.runtime.client.environment`).
    """
    chosen = completed_servers(servers, os.environ)
    try:
        complete = BusOptions(**completed_options(options, chosen, os.environ))
    except TypeError as problem:
        raise ParameterError(str(problem), "connect") from None
    return Bus(chosen, complete)


_last_session = 0


def _next_session() -> int:
    """A number that grows with every start: the time, in microseconds."""
    global _last_session  # noqa: PLW0603 - two sessions in one microsecond must differ
    _last_session = max(_last_session + 1, time.time_ns() // 1000)
    return _last_session
