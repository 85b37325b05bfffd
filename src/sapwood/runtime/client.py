"""The client library: a bus to publish on and to subscribe to.

``sapwood.connect`` makes one. It has one connection at a time, looks for another one when it is
lost, and says what that meant: nothing if the same broker kept the stream, else a `Gap` in every
subscription, and publications counted as unconfirmed.
"""

from __future__ import annotations

import asyncio
import secrets
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

import msgspec

from sapwood.errors import (
    ClosedError,
    NetworkError,
    ParameterError,
    RefusedError,
    UnconfirmedError,
    UnsupportedTypeError,
)
from sapwood.filters.filter import Filter
from sapwood.filters.ids import NotificationId, SessionId
from sapwood.filters.notification import Notification, attributes_of
from sapwood.filters.values import Value
from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.flow import SLOW_POLICIES
from sapwood.protocol.link.handshake import CLIENT, Hello, Welcome
from sapwood.protocol.messages import (
    CODEC,
    Advertise,
    Message,
    Missed,
    Refused,
    Settled,
    Subscribe,
    Surveyed,
)
from sapwood.runtime.address import parse_address
from sapwood.runtime.claims import Claim, Claims
from sapwood.runtime.client_stream import Stream
from sapwood.runtime.config.settings import DEFAULT_PORT
from sapwood.runtime.dispatch import Dispatch
from sapwood.runtime.publishing import Publishing
from sapwood.runtime.subscription import Gap, Subscription
from sapwood.wire.frames import BODY_BYTES_MAX

DEFAULT_SERVER: Final = f"sapwood://127.0.0.1:{DEFAULT_PORT}"

Listener = Callable[[NotificationId, str], None]


class BusOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be chosen when connecting."""

    id: str = ""
    """A lasting name; by default one is made up. The session number grows with every connect."""
    network: str = "sapwood"
    """The network this is meant for: brokers of another one refuse."""
    token: str = ""
    """The shared secret of the network, if it has one."""
    slow_policy: str = ""
    """What the broker does when this client does not keep up: ``drop_oldest``, ``disconnect`` or
    ``block``; empty for the broker's default."""
    buffer_bytes: int = 8 * 2**20
    """Publications that may wait for the broker; beyond it, `publish` waits."""
    connect_seconds: float = 10.0
    """How long the first connection is tried for."""
    close_seconds: float = 10.0
    """How long `close` waits until everything published is accepted."""
    silence_seconds: float = 10.0
    """Time without a sign of the broker after which another connection is looked for."""
    tls: ssl.SSLContext | None = None
    """For ``sapwoods://`` addresses; by default the system's authorities are trusted."""
    on_refused: Listener | None = None
    """Called with the id and the reason when a broker does not accept a publication."""


class Bus:
    """A connection to the network; made by `connect`, used as an async context manager."""

    def __init__(self, servers: Sequence[str], options: BusOptions) -> None:
        _check(options)
        self.id = options.id or f"client-{secrets.token_hex(4)}"
        self.session = _next_session()
        self.name = str(SessionId(self.id, self.session))
        """Id and session: the publisher in the ids of notifications."""
        self.received = 0
        """How many notifications have come."""
        self.advertisements_required = False
        """Whether the network takes only publications that were advertised."""
        self._options = options
        self._publishing = Publishing(self.name, options.buffer_bytes)
        self._claims = Claims(self._send)
        self._dispatch = Dispatch(self._told)
        limits = ChannelLimits(buffer_bytes=2 * options.buffer_bytes + 2 * BODY_BYTES_MAX)
        hello = Hello(
            role=CLIENT,
            network=options.network,
            id=self.id,
            session=self.session,
            credentials={"token": options.token} if options.token else {},
            credit=limits.window_bytes,
            silence=options.silence_seconds,
            slow_policy=options.slow_policy,
        )
        addresses = [parse_address(text) for text in servers]
        self._stream = Stream(self, addresses, hello, limits, options.tls)
        self._progress = asyncio.Event()
        self._closed = False
        self._failure: NetworkError | None = None

    def __repr__(self) -> str:
        state = "closed" if self._closed else "connected" if self.is_connected else "disconnected"
        return f"<bus {self.name}, {state}, broker {self.broker or 'none'}>"

    # Life

    async def __aenter__(self) -> Self:
        """Connect; an UnreachableError or RefusedError if that cannot be."""
        await self._stream.open(self._options.connect_seconds)
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
            self._dispatch.close()
            self._claims.fail(ClosedError("the bus was closed"))
            for subscription in self._dispatch:
                subscription.finish()
            await self._stream.close()

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
    def is_connected(self) -> bool:
        """Whether there is a connection at the moment."""
        return self._stream.connection is not None

    @property
    def broker(self) -> str:
        """The broker that this bus is connected to, or was last."""
        return self._stream.broker

    @property
    def order(self) -> int:
        """How much was published and received, in the client's own order."""
        return self.received + self._publishing.sequence - self._publishing.waiting

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
        return await self._stream.ping()

    # Publishing

    async def publish(
        self,
        notification: Notification | Mapping[str, Value],
        payload: bytes = b"",
        *,
        expires_in: float | None = None,
        confirm: bool = False,
    ) -> NotificationId:
        """Publish; waits only while the network takes nothing more.

        With `confirm` it returns when the broker has accepted this notification; a RefusedError
        if it does not, an UnconfirmedError if it was lost before it answered. With `expires_in`
        seconds, it is not delivered later than that.
        """
        attributes = attributes_of(notification)
        if isinstance(notification, Notification) and not payload:
            payload = notification.payload
        if type(payload) is not bytes:
            raise UnsupportedTypeError(
                f"the payload is of type {type(payload).__name__}; it must be bytes"
            )
        publishing, stream = self._publishing, self._stream
        if publishing.is_ample:
            await self._make_room()
        if self._closed or self._failure is not None:
            self._check_open()
        sequence = publishing.add(attributes, payload, expires_in)
        stream.schedule_flush()
        if confirm:
            await publishing.accepted_later(sequence)
        return NotificationId(self.name, sequence)

    async def _make_room(self) -> None:
        """Send a batch and let others work; wait while too much is on its way."""
        self._stream.flush()
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
            if last:
                await self._publishing.accepted_later(last)
        except RefusedError:
            if self._failure is not None:
                raise

    def _check_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._closed:
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
        """A subscription, to be used as an async context manager: then it begins.

        `buffer` is how many notifications may wait to be read. Without `settle`, it does not wait
        until the whole network knows. Without `gaps`, only notifications are yielded.
        """
        wanted = filter if isinstance(filter, Filter) else Filter(filter)
        if buffer < 1:
            raise ParameterError(f"is {buffer}; at least 1 notification must fit", "buffer")
        return Subscription(self, wanted, buffer=buffer, settle=settle, gaps=gaps)

    async def begin(self, subscription: Subscription) -> None:
        """Let a subscription begin; return when it has settled, or will not soon."""
        self._check_open()
        self._dispatch.add(subscription)
        claim = self._claims.make(
            Subscribe,
            subscription.filter,
            settle=subscription.settle,
            on_settled=subscription.told_settled,
        )
        subscription.claim = claim.name
        if subscription.settle:
            try:
                await self._answer(claim)
            except BaseException:
                await subscription.close()
                raise

    async def end(self, subscription: Subscription, *, settle: bool) -> None:
        """Let a subscription end; with `settle`, return when everybody knows."""
        if not self._dispatch.remove(subscription) or self._closed or self._failure is not None:
            return
        answer = self._claims.give_up(subscription.claim, settle=settle)
        self.has_room()
        if settle:
            await answer
            self._dispatch.nothing_lingers()

    async def advertise(self, filter: Filter | str) -> str:
        """Say what will be published; returns a name under which it can be taken back.

        Returns when the whole network knows. Where advertisements are not required, they do
        nothing.
        """
        self._check_open()
        what = filter if isinstance(filter, Filter) else Filter(filter)
        claim = self._claims.make(Advertise, what, settle=True)
        try:
            await self._answer(claim)
        except BaseException:
            if not self._closed and self._failure is None:
                self._claims.give_up(claim.name, settle=False)
            raise
        return claim.name

    async def unadvertise(self, name: str) -> None:
        """Take an advertisement back; returns when the whole network knows."""
        self._check_open()
        if name not in self._claims:
            raise ClosedError(f"nothing is advertised under {name!r}")
        await self._claims.give_up(name, settle=True)

    async def survey(self) -> Surveyed:
        """Every broker that can be reached, with its neighbours: the tree as it is."""
        self._check_open()
        answer = self._claims.survey()
        self.has_room()
        return await answer

    async def _answer(self, claim: Claim) -> Settled:
        self.has_room()  # the answer must not wait behind notifications that nobody reads
        return await claim.answer

    def _send(self, message: Message) -> None:
        self._stream.send(CODEC.encode(message))

    def has_room(self) -> None:
        """The broker may perhaps send more."""
        if self._stream.channel.withheld:
            self._stream.acknowledge()

    # As the user of a stream

    @property
    def wants_no_more(self) -> bool:
        """Whether the broker should not send more: unless an answer would wait behind it."""
        return self._dispatch.is_full and not self._claims.is_waiting

    def begin_anew(self, welcome: Welcome, channel: Channel, *, is_first: bool) -> None:
        """A broker is there that knows nothing of this client."""
        self.advertisements_required = welcome.advertisements_required
        self._claims.repeat(lambda message: channel.push_control(CODEC.encode(message)))
        self._publishing.begin_anew(channel)
        if is_first:
            return
        self._dispatch.change_broker()
        for subscription in self._dispatch:
            subscription.settled = None
        self._dispatch.report(Gap(0, f"the broker was lost; now connected to {welcome.id}"))
        self._progress.set()

    def before_sending(self, channel: Channel) -> None:
        """Put what was published into the stream."""
        self._publishing.move_into(channel)

    def after_sending(self, channel: Channel) -> None:
        """Something of the stream was handed to a connection."""
        self._publishing.handed_over(channel)

    def acknowledged(self, frames: int) -> None:
        """The broker has taken so many frames of the stream over."""
        self._publishing.acknowledged(frames)
        self._progress.set()

    def delivered(self, data: bytes) -> None:
        """Frames of the stream came."""
        self.received += self._dispatch.deliver(data)

    def _told(self, body: bytes) -> None:
        message = CODEC.decode(body)
        if isinstance(message, Refused) and message.sequence:
            self._publishing.refuse(message.sequence, message.reason)
            if self._options.on_refused is not None:
                refused = NotificationId(self.name, message.sequence)
                self._options.on_refused(refused, message.reason)
        elif isinstance(message, Settled | Refused):
            self._claims.answered(message)
        elif isinstance(message, Surveyed):
            self._claims.surveyed(message)
        elif isinstance(message, Missed):
            self._dispatch.report(
                Gap(message.count, f"notifications were given up on the link {message.link}")
            )

    def missed(self, count: int) -> None:
        """The broker gave up notifications for this client."""
        self._dispatch.report(Gap(count, "this client did not keep up"))

    def failed(self, problem: NetworkError) -> None:
        """It is over: the network does not want this client."""
        self._failure = problem
        self._claims.fail(problem)
        self._publishing.fail(problem)
        self._progress.set()
        for subscription in self._dispatch:
            subscription.finish(problem)


def connect(*servers: str, **options: object) -> Bus:
    """A bus on one of some servers, to be used as an async context manager.

    Options are those of `BusOptions`.
    """
    try:
        chosen = BusOptions(**options)  # type: ignore[arg-type]
    except TypeError as problem:
        raise ParameterError(str(problem), "connect") from None
    return Bus(servers or (DEFAULT_SERVER,), chosen)


def _check(options: BusOptions) -> None:
    if options.slow_policy and options.slow_policy not in SLOW_POLICIES:
        raise ParameterError(
            f"is {options.slow_policy!r}; choose from {', '.join(SLOW_POLICIES)}", "slow_policy"
        )
    for name in ("connect_seconds", "close_seconds", "silence_seconds", "buffer_bytes"):
        if not getattr(options, name) > 0:
            raise ParameterError(f"is {getattr(options, name)}; it must be above zero", name)


_last_session = 0


def _next_session() -> int:
    """A number that grows with every start: the time, in microseconds."""
    global _last_session  # noqa: PLW0603 - two sessions in one microsecond must differ
    _last_session = max(_last_session + 1, time.time_ns() // 1000)
    return _last_session
