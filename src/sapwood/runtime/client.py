"""The client library: a bus to publish on and to subscribe to, over one connection at a time.

The stream to the broker outlives connections like a link's does: after a broken connection to the
same broker nothing is lost and nothing repeated. If the broker itself was lost, or the bus had to
go to another one, it subscribes anew and puts a `Gap` into every subscription.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import secrets
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias

from sapwood.errors import ClosedError, NetworkError, RefusedError, UnreachableError
from sapwood.filters.filter import Filter
from sapwood.filters.ids import NotificationId
from sapwood.filters.notification import Notification, attributes_of
from sapwood.filters.values import Value
from sapwood.protocol.channel import Channel, ChannelLimits
from sapwood.protocol.handshake import (
    CLIENT,
    FINAL_CODES,
    LEAVING,
    PROTOCOL,
    Ack,
    GivenUp,
    Goodbye,
    Hello,
    LinkMessage,
    Ping,
    Pong,
    Resume,
    Welcome,
)
from sapwood.protocol.messages import (
    CODEC,
    Advertise,
    Message,
    Missed,
    Refused,
    Settled,
    Subscribe,
    Survey,
    Surveyed,
    Unsubscribe,
)
from sapwood.runtime.address import Address, parse_address
from sapwood.runtime.connection import Connection
from sapwood.runtime.dialing import dial
from sapwood.runtime.subscription import Gap, Subscription
from sapwood.wire.frames import (
    CONTROL,
    decode_envelope,
    decode_head,
    encode_head,
    encode_notification,
    split,
)

ACK_SECONDS = 0.02
_RETRY_FIRST, _RETRY_MAX = 0.05, 5.0
_SILENCE = 30.0

Answer: TypeAlias = Settled | Surveyed | Refused
"""What a broker answers to a request."""


class Bus:
    """A connection to the network; made by `connect`."""

    def __init__(
        self,
        servers: Sequence[str],
        *,
        id: str | None = None,  # noqa: A002 - the name users know it by
        network: str = "sapwood",
        token: str = "",
        slow_policy: str = "",
        buffer_bytes: int = 16 * 2**20,
        connect_seconds: float = 10.0,
    ) -> None:
        self._addresses = [parse_address(text) for text in servers]
        self.id = id or f"client-{secrets.token_hex(4)}"
        self.session = time.time_ns() // 1_000_000
        self.name = f"{self.id}.{self.session}"
        self.broker = ""
        """The broker that this bus is connected to, or was last."""
        self.order = 0
        """How much this session has published and got, in its own order."""
        self._network = network
        self._token = token
        self._slow_policy = slow_policy
        self._limits = ChannelLimits(buffer_bytes=buffer_bytes)
        self._connect_seconds = connect_seconds
        self._channel = Channel(self._limits)
        self._connection: Connection | None = None
        self._broker_session = 0
        self._sequence = 0
        self._numbers = itertools.count(1)
        self._subscriptions: dict[str, Subscription] = {}
        self._advertised: dict[str, Filter] = {}
        self._requests: dict[int, asyncio.Future[Answer]] = {}
        self._progress = asyncio.Event()
        self._lost = asyncio.Event()
        self._flush_scheduled = False
        self._ack_timer: asyncio.TimerHandle | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False
        self._failure: NetworkError | None = None

    # Life

    async def __aenter__(self) -> Self:
        """Connect; an UnreachableError or RefusedError if that cannot be."""
        await self._connect(time.monotonic() + self._connect_seconds)
        self._keeper = asyncio.create_task(self._keep_connected())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Send what was published, and leave."""
        await self.close()

    async def close(self) -> None:
        """Send what was published, and leave."""
        if self._closed:
            return
        self._closed = True
        if self._connection is not None and not self._channel.is_idle:
            try:
                async with asyncio.timeout(self._connect_seconds):
                    await self._until_idle()
            except (TimeoutError, NetworkError):
                pass
        if self._keeper is not None:
            self._keeper.cancel()
        if self._connection is not None:
            self._send_ack()
            self._connection.close(Goodbye(LEAVING))
        for subscription in self._subscriptions.values():
            subscription.finish()

    async def _connect(self, deadline: float | None) -> None:
        """Connect to one of the servers, trying them in turn until a deadline."""
        delay = _RETRY_FIRST
        while True:
            problem: NetworkError | None = None
            for address in self._addresses:
                try:
                    return await self._dial(address)
                except RefusedError as refused:
                    if refused.code in FINAL_CODES:
                        raise
                    problem = refused
                except UnreachableError as unreachable:
                    problem = unreachable
            assert problem is not None
            if deadline is None or time.monotonic() + delay < deadline:
                await asyncio.sleep(delay * random.uniform(0.5, 1.0))
                delay = min(delay * 2, _RETRY_MAX)
            else:
                raise problem

    async def _dial(self, address: Address) -> None:
        resume: tuple[Resume, ...] = ()
        if self._broker_session:
            resume = (Resume(self.broker, self._broker_session, self._channel.received),)
        hello = Hello(
            role=CLIENT,
            network=self._network,
            id=self.id,
            session=self.session,
            credentials={"token": self._token} if self._token else {},
            resume=resume,
            credit=self._limits.window_bytes,
            silence=_SILENCE,
            slow_policy=self._slow_policy,
            order=self.order,
        )
        await dial(address, hello, self._welcome, time.monotonic())

    def _welcome(self, connection: Connection, welcome: Welcome) -> None:
        connection.owner = self
        connection.is_open = True
        connection.silence = welcome.silence
        self._connection = connection
        self._lost.clear()
        if welcome.resumed is not None and self._channel.can_connect(welcome.resumed):
            self._channel.connect(welcome.resumed, welcome.credit)
        else:
            self._begin_anew(welcome)
        self._flush()

    def _begin_anew(self, welcome: Welcome) -> None:
        """A stream with a broker that knows nothing of this session."""
        is_first = not self._broker_session
        self._channel = Channel(self._limits)
        self._channel.connect(0, welcome.credit)
        self.broker, self._broker_session = welcome.id, welcome.session
        for name, filter in self._advertised.items():
            self._push(Advertise(name, str(filter)))
        for subscription in self._subscriptions.values():
            self._push(Subscribe(subscription.name, str(subscription.filter)))
            subscription.report(Gap(0, f"the connection to the network was lost; now {welcome.id}"))
        if not is_first:
            self._fail_requests(UnreachableError("the broker was lost before it answered"))

    async def _keep_connected(self) -> None:
        while not self._closed:
            await self._lost.wait()
            try:
                await self._connect(None)
            except RefusedError as refused:
                self._fail(refused)
                return

    def _fail(self, problem: NetworkError) -> None:
        """It is over: the network does not want this client."""
        self._failure = problem
        self._fail_requests(problem)
        self._progress.set()
        for subscription in self._subscriptions.values():
            subscription.finish()

    def _fail_requests(self, problem: NetworkError) -> None:
        for request in self._requests.values():
            if not request.done():
                request.set_exception(problem)
        self._requests.clear()

    # Publishing

    async def publish(
        self,
        notification: Notification | Mapping[str, Value],
        payload: bytes = b"",
        *,
        expires_at: float = 0.0,
        confirm: bool = False,
    ) -> NotificationId:
        """Publish; waits only while the network takes nothing more.

        With `confirm`, it returns when the broker has accepted the notification.
        """
        attributes = attributes_of(notification)
        if isinstance(notification, Notification) and not payload:
            payload = notification.payload
        while self._channel.buffered > self._limits.buffer_bytes // 2:
            await self._wait_for_progress()
        self._check_open()
        self._sequence += 1
        head = encode_head(self.name, attributes)
        frame = encode_notification(head, self._sequence, time.time(), payload, expires_at)
        self.order += 1
        self._channel.push(frame, 1)
        self._schedule_flush()
        if confirm:
            await self._until_idle()
        return NotificationId(self.name, self._sequence)

    async def flush(self) -> None:
        """Wait until the broker has accepted everything published so far."""
        await self._until_idle()

    async def _until_idle(self) -> None:
        while not self._channel.is_idle:
            await self._wait_for_progress()

    async def _wait_for_progress(self) -> None:
        self._check_open(closing=True)
        self._progress.clear()
        await self._progress.wait()
        self._check_open(closing=True)

    def _check_open(self, *, closing: bool = False) -> None:
        if self._failure is not None:
            raise self._failure
        if self._closed and not closing:
            raise ClosedError("the bus is closed; connect again")

    # Subscribing and advertising

    def subscribe(
        self,
        filter: Filter | str,
        *,
        buffer: int = 10_000,
        settle: bool = True,
        gaps: bool = True,
    ) -> Subscription:
        """A subscription, to be used as an async context manager."""
        wanted = filter if isinstance(filter, Filter) else Filter(filter)
        name = str(next(self._numbers))
        return Subscription(self, wanted, name, buffer=buffer, settle=settle, gaps=gaps)

    async def begin(self, subscription: Subscription) -> None:
        """Tell the broker of a subscription; return when it has settled, or will not soon."""
        self._check_open()
        self._subscriptions[subscription.name] = subscription
        subscription.on_room = self._room
        answer = await self._ask(Subscribe, subscription.name, subscription.filter)
        subscription.settled, subscription.reason = answer.settled, answer.reason

    async def end(self, subscription: Subscription) -> None:
        """Tell the broker that a subscription is over."""
        if self._subscriptions.pop(subscription.name, None) is None or self._closed:
            return
        self._push(Unsubscribe(subscription.name))

    async def advertise(self, filter: Filter | str) -> str:
        """Say what will be published; returns a name under which it can be taken back."""
        self._check_open()
        what = filter if isinstance(filter, Filter) else Filter(filter)
        name = str(next(self._numbers))
        self._advertised[name] = what
        await self._ask(Advertise, name, what)
        return name

    async def survey(self) -> Surveyed:
        """Every broker that can be reached, with its neighbours: the tree as it is."""
        self._check_open()
        number = next(self._numbers)
        self._push(Survey(number))
        said = await self._answer(number)
        assert isinstance(said, Surveyed)
        return said

    async def _ask(
        self, kind: type[Subscribe] | type[Advertise], name: str, filter: Filter
    ) -> Settled:
        number = next(self._numbers)
        self._push(kind(name, str(filter), number))
        said = await self._answer(number)
        assert isinstance(said, Settled)
        return said

    async def _answer(self, number: int) -> Settled | Surveyed:
        """What the broker answers to a request; a RefusedError if it says no."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._requests[number] = answer
        said = await answer
        if isinstance(said, Refused):
            raise RefusedError(said.reason)
        return said

    def _push(self, message: Message) -> None:
        self._channel.push_control(CODEC.encode(message))
        self._schedule_flush()

    # As the owner of a connection

    def received(self, connection: Connection, data: bytes, frames: int, size: int) -> None:
        """Notifications and answers came."""
        is_due = self._channel.count(frames, size)
        for kind, head, body in split(data):
            if kind == CONTROL:
                self._told(CODEC.decode(body))
            else:
                self._notified(head, body)
        if self._is_full:
            self._channel.withheld = True
        elif is_due:
            self._send_ack()
        elif self._ack_timer is None:
            loop = asyncio.get_running_loop()
            self._ack_timer = loop.call_later(ACK_SECONDS, self._ack_later)

    def said(self, connection: Connection, message: LinkMessage) -> None:
        """The broker said something about the connection."""
        if isinstance(message, Ack):
            self._channel.acknowledge(message)
            self._progress.set()
            self._flush()
        elif isinstance(message, GivenUp):
            self._channel.miss(message.count)
            self._report(Gap(message.count, "this client did not keep up"))
        elif isinstance(message, Ping):
            connection.say(Pong(message.number))
        elif isinstance(message, Goodbye):
            connection.abort(message.reason or message.code)
        elif not isinstance(message, Pong):
            connection.close(Goodbye(PROTOCOL, f"{type(message).__name__} after the handshake"))

    def lost(self, connection: Connection, reason: str) -> None:
        """The connection is gone; another one is looked for."""
        if connection is self._connection:
            self._connection = None
            self._channel.disconnect()
            self._lost.set()

    def _told(self, message: Message) -> None:
        if isinstance(message, Settled | Surveyed | Refused):
            answer = self._requests.pop(message.request, None)
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif isinstance(message, Missed):
            self._report(Gap(message.count, f"notifications were given up on {message.link}"))

    def _notified(self, head: bytes, body: bytes) -> None:
        publisher, attributes = decode_head(head)
        envelope = decode_envelope(body)
        self.order += 1
        found = NotificationId(publisher, envelope.sequence)
        notification = Notification(attributes, envelope.payload, found)
        for subscription in self._subscriptions.values():
            if subscription.filter.matches(notification):
                subscription.put(notification)

    def _report(self, gap: Gap) -> None:
        for subscription in self._subscriptions.values():
            subscription.report(gap)

    # Bytes

    @property
    def _is_full(self) -> bool:
        return any(subscription.is_full for subscription in self._subscriptions.values())

    def _room(self) -> None:
        """A subscription has room again."""
        if self._channel.withheld and not self._is_full:
            self._channel.withheld = False
            self._send_ack()

    def _ack_later(self) -> None:
        self._ack_timer = None
        if not self._is_full:
            self._send_ack()

    def _send_ack(self) -> None:
        if self._connection is not None and self._channel.connected and self._channel.owes_ack:
            self._connection.write([self._channel.ack()])

    def _schedule_flush(self) -> None:
        """Send at the end of this turn of the event loop, with all that is published until then."""
        if not self._flush_scheduled:
            self._flush_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        """Send what may be sent.

        What came before is acknowledged first, so that a trace knows what a publication may have
        been caused by. An acknowledgement never waits behind publications: they may be waiting
        for the broker, and the broker for it.
        """
        self._flush_scheduled = False
        if self._connection is not None and self._channel.connected:
            runs = self._channel.take()
            if runs and self._channel.owes_ack:
                runs.insert(0, self._channel.ack())
            if runs:
                self._connection.write(runs)


def connect(*servers: str, **options: Any) -> Bus:
    """A bus on one of some servers, to be used as an async context manager."""
    return Bus(servers or ("sapwood://127.0.0.1:7470",), **options)
