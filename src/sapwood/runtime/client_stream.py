"""A client's stream to the network: one connection at a time, found again when it is lost.

The stream outlives connections as a link's does (`sapwood.protocol.link.channel`): after a broken
connection to the same broker nothing is lost and nothing repeated. With another broker, or one
that was started anew, a new stream begins, and whoever uses it is told.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from sapwood.errors import NetworkError, RefusedError, UnreachableError
from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.handshake import (
    FINAL_CODES,
    LEAVING,
    PROTOCOL,
    REPLACED,
    SLOW_CONSUMER,
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
from sapwood.runtime.address import Address
from sapwood.runtime.connection import Connection
from sapwood.runtime.dialing import dial
from sapwood.runtime.tls import client_context

ACK_SECONDS: Final = 0.02
"""Longest time until what came is acknowledged."""

_RETRY_FIRST, _RETRY_MAX = 0.05, 5.0
_GOODBYE_SECONDS: Final = 1.0
_ENDINGS: Final = frozenset({SLOW_CONSUMER, PROTOCOL, REPLACED})
"""Reasons of a broker to end a connection after which trying again would be no better."""


class StreamUser(Protocol):
    """Whoever a stream belongs to."""

    @property
    def order(self) -> int:
        """How much was published and received, in the client's own order."""

    @property
    def wants_no_more(self) -> bool:
        """Whether the broker should not send more notifications for now."""

    def begin_anew(self, welcome: Welcome, channel: Channel, *, is_first: bool) -> None:
        """A broker is there that knows nothing of this client."""

    def before_sending(self, channel: Channel) -> None:
        """Put what is to be sent into the stream."""

    def after_sending(self, channel: Channel) -> None:
        """Something of the stream was handed to a connection."""

    def acknowledged(self, frames: int) -> None:
        """The broker has taken so many frames of the stream over."""

    def delivered(self, data: bytes) -> None:
        """Frames of the stream came."""

    def missed(self, count: int) -> None:
        """The broker gave up notifications for this client."""

    def failed(self, problem: NetworkError) -> None:
        """There will be no connection any more."""


class Stream:
    """The stream of one session, across connections and brokers."""

    def __init__(
        self,
        user: StreamUser,
        addresses: Sequence[Address],
        hello: Hello,
        limits: ChannelLimits,
        tls: ssl.SSLContext | None,
    ) -> None:
        self.channel = Channel(limits)
        self.connection: Connection | None = None
        self.broker = ""
        """The broker of this stream, or of the last one."""
        self.address: Address | None = None
        """Where the last connection led to."""
        self._user = user
        self._addresses = list(addresses)
        self._hello = hello
        self._limits = limits
        self._tls = tls
        self._broker_session = 0
        self._flush_scheduled = False
        self._ack_timer: asyncio.TimerHandle | None = None
        self._alive_timer: asyncio.TimerHandle | None = None
        self._lost = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._pings: dict[int, asyncio.Future[None]] = {}
        self._ping_numbers = itertools.count(1)
        self._confirming: int | None = None
        """The number of the ping whose answer confirms what a resumed stream had brought."""

    # Finding a broker

    async def open(self, seconds: float) -> None:
        """Connect; an UnreachableError or RefusedError if that cannot be."""
        await self._connect(time.monotonic() + seconds)
        self._keeper = asyncio.create_task(self._keep_connected())

    async def close(self) -> None:
        """Leave."""
        for timer in (self._ack_timer, self._alive_timer):
            if timer is not None:
                timer.cancel()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        if self.connection is not None:
            self.acknowledge()
            self.connection.close(Goodbye(LEAVING))
            with suppress(TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self._lost.wait()  # else the goodbye may stay behind with the event loop

    async def _keep_connected(self) -> None:
        while True:
            await self._lost.wait()
            try:
                await self._connect(None)
            except RefusedError as refused:
                self._user.failed(refused)
                return

    async def _connect(self, deadline: float | None) -> None:
        """Connect to one of the servers: the last one first, then the others in turn."""
        delay = _RETRY_FIRST
        while True:
            problem: NetworkError | None = None
            for address in list(self._addresses):
                try:
                    await self._dial(address)
                except RefusedError as refused:
                    if refused.code in FINAL_CODES:
                        raise
                    problem = refused
                except UnreachableError as unreachable:
                    problem = unreachable
                else:
                    self._prefer(address)
                    return
            assert problem is not None
            if deadline is not None and time.monotonic() + delay >= deadline:
                raise problem
            await asyncio.sleep(delay * random.uniform(0.5, 1.0))
            delay = min(delay * 2, _RETRY_MAX)

    def _prefer(self, address: Address) -> None:
        """Begin with this server next time: it may have kept the stream."""
        self.address = address
        at = self._addresses.index(address)
        self._addresses = self._addresses[at:] + self._addresses[:at]

    async def _dial(self, address: Address) -> None:
        resume: tuple[Resume, ...] = ()
        if self._broker_session:
            resume = (Resume(self.broker, self._broker_session, self.channel.received),)
        hello = msgspec.structs.replace(self._hello, resume=resume, order=self._user.order)
        tls = (self._tls or client_context()) if address.tls else None
        await dial(address, hello, self._welcome, time.monotonic(), tls)

    def _welcome(self, connection: Connection, welcome: Welcome) -> None:
        connection.owner = self
        connection.is_open = True
        connection.silence = welcome.silence
        self.connection = connection
        self._lost.clear()
        if welcome.resumed is None:
            self._begin_anew(welcome)
        elif self.channel.can_connect(welcome.resumed):
            self.channel.connect(welcome.resumed, welcome.credit)
            self._confirm_later(connection)
        else:
            self._broker_session = 0
            connection.close(Goodbye(PROTOCOL, "this is another stream; beginning anew"))
            return
        self._look_after(connection, time.monotonic())
        self.flush()

    def _confirm_later(self, connection: Connection) -> None:
        """What the broker has taken over is accepted unless it was refused.

        A refusal that was under way when the connection broke comes behind the welcome, but before
        the answer to anything that is said now.
        """
        self._confirming = next(self._ping_numbers)
        connection.say(Ping(self._confirming))

    def _begin_anew(self, welcome: Welcome) -> None:
        is_first = not self.broker
        self.channel = Channel(self._limits)
        self.channel.connect(0, welcome.credit)
        self.broker, self._broker_session = welcome.id, welcome.session
        self._user.begin_anew(welcome, self.channel, is_first=is_first)

    # Sending

    def send(self, control: bytes) -> None:
        """Send a control message, behind all that was published before."""
        self._user.before_sending(self.channel)
        self.channel.push_control(control)
        self.schedule_flush()

    def schedule_flush(self) -> None:
        """Send at the end of this turn of the event loop, with all that is published until then."""
        if not self._flush_scheduled:
            self._flush_scheduled = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Send what may be sent.

        What came before is acknowledged first, so that a trace knows what a publication may have
        been caused by. An acknowledgement never waits behind publications: they may be waiting
        for the broker, and the broker for it.
        """
        self._flush_scheduled = False
        self._user.before_sending(self.channel)
        if self.connection is None:
            return
        runs = self.channel.take()
        if runs:
            self._user.after_sending(self.channel)
            if self.channel.owes_ack:
                runs.insert(0, self.channel.ack())
            self.connection.write(b"".join(runs))

    def acknowledge(self) -> None:
        """Tell the broker what came, and how much may come."""
        self.channel.withheld = self._user.wants_no_more
        if self.connection is not None and self.channel.owes_ack:
            self.connection.write(self.channel.ack())

    def _acknowledge_later(self) -> None:
        self._ack_timer = None
        self.acknowledge()

    async def ping(self) -> float:
        """Ask the broker whether it is there; the time until it says so, in seconds."""
        if self.connection is None:
            raise UnreachableError("there is no connection to the network at the moment")
        number = next(self._ping_numbers)
        answer = self._pings[number] = asyncio.get_running_loop().create_future()
        start = time.perf_counter()
        self.connection.say(Ping(number))
        try:
            await answer
        finally:
            self._pings.pop(number, None)
        return time.perf_counter() - start

    # As the owner of a connection

    def received(self, connection: Connection, data: bytes, frames: int, size: int) -> None:
        """Notifications and answers came."""
        if connection is not self.connection:
            return
        is_due = self.channel.count(frames, size)
        self._user.delivered(data)
        if is_due:
            self.acknowledge()
        elif self._ack_timer is None:
            loop = asyncio.get_running_loop()
            self._ack_timer = loop.call_later(ACK_SECONDS, self._acknowledge_later)

    def said(self, connection: Connection, message: LinkMessage) -> None:
        """The broker said something about the connection."""
        if connection is not self.connection:
            return
        if isinstance(message, Ack):
            self.channel.acknowledge(message)
            self._user.acknowledged(self.channel.acknowledged)
            self.flush()
        elif isinstance(message, GivenUp):
            self.channel.miss(message.count)
            self._user.missed(message.count)
        elif isinstance(message, Ping):
            connection.say(Pong(message.number))
        elif isinstance(message, Pong):
            if message.number == self._confirming:
                self._user.acknowledged(self.channel.acknowledged)
            answer = self._pings.get(message.number)
            if answer is not None and not answer.done():
                answer.set_result(None)
        elif isinstance(message, Goodbye):
            self._told_goodbye(connection, message)
        else:
            connection.close(Goodbye(PROTOCOL, f"{type(message).__name__} after the handshake"))

    def _told_goodbye(self, connection: Connection, goodbye: Goodbye) -> None:
        reason = goodbye.reason or goodbye.code
        if goodbye.code in _ENDINGS:
            self._give_up(RefusedError(f"broker {self.broker}: {reason}", goodbye.code))
        connection.abort(reason)

    def _give_up(self, problem: NetworkError) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
        self._user.failed(problem)

    def lost(self, connection: Connection, reason: str) -> None:
        """The connection is gone; another one is looked for."""
        if connection is not self.connection:
            return
        self.connection = None
        self.channel.disconnect()
        if self._alive_timer is not None:
            self._alive_timer.cancel()
        for answer in self._pings.values():
            if not answer.done():
                answer.set_exception(UnreachableError(f"the connection was lost: {reason}"))
        self._lost.set()

    # Keep-alive

    def _look_after(self, connection: Connection, due: float) -> None:
        """Keep a connection alive, or notice that it is dead; again and again.

        If this comes much later than it was due, it was this process that stood still: the broker
        may have said something that was not read yet.
        """
        if connection is not self.connection:
            return
        now = time.monotonic()
        silence = self._hello.silence
        stands = connection.silence or silence
        step = min(silence, stands) / 8
        if connection.has_heard or now > due + step:
            connection.has_heard = False
            connection.heard_at = now
        elif now - connection.heard_at > silence:
            connection.abort(f"the broker was silent for {silence} s")
            return
        if connection.has_written:
            connection.has_written = False
            connection.wrote_at = now
        elif now - connection.wrote_at > stands / 4:
            connection.say(Ping())
        loop = asyncio.get_running_loop()
        self._alive_timer = loop.call_later(step, self._look_after, connection, now + step)
