"""A simulated client: the session of a client, and an application that notes what it does and sees.

The application reads at once whatever has come, and waits with its publications while the session
has no room for them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.client.config import SessionConfig
from sapwood.protocol.client.delivered import Delivered
from sapwood.protocol.client.deliveries import Gap, Inbox
from sapwood.protocol.client.outputs import (
    Accepted,
    Failed,
    Online,
    PublicationRefused,
    RequestRefused,
    Unconfirmed,
)
from sapwood.protocol.client.session import ClientSession
from sapwood.protocol.messages import Surveyed
from sapwood.protocol.ports import Connected, DriverEvent
from sapwood.protocol.reconfigure.asking import TreeChangeEnded, Wish
from sapwood.wire.frames import HEADER, HEADER_SIZE

if TYPE_CHECKING:
    from sapwood.sim.faithful.host import Host
    from sapwood.sim.kernel import Kernel


class Delivery(NamedTuple):
    """A notification that the application has got."""

    at: float
    publisher: str
    sequence: int


class Publication(NamedTuple):
    """A notification that the application has published."""

    at: float
    sequence: int
    attributes: Mapping[str, Value]


class Report(NamedTuple):
    """A subscription was told that notifications may be missing."""

    at: float
    lost: int
    """How many at most; zero if nobody knows."""
    reason: str


class Answer(NamedTuple):
    """What is known of a subscription changed: whether it has settled; None if nobody knows."""

    at: float
    is_settled: bool | None


class Home(NamedTuple):
    """A stream with a broker has begun, or goes on there."""

    at: float
    broker: str
    is_resumed: bool = False
    """Whether another broker has handed the stream over."""


class Wanted:
    """A subscription as its application sees it."""

    def __init__(self, name: str, filter: Filter, inbox: Inbox, asked_at: float) -> None:
        self.name = name
        self.filter = filter
        self.inbox = inbox
        self.asked_at = asked_at
        self.ended_at = inf
        self.answers: list[Answer] = []
        self.got: set[tuple[str, int]] = set()
        self.reports: list[Report] = []

    @property
    def is_settled(self) -> bool | None:
        """Whether it is known to be in effect everywhere."""
        return self.answers[-1].is_settled if self.answers else None

    def had_settled(self, at: float) -> bool:
        """Whether it was known to be in effect everywhere before a time.

        What happens at one moment has no order: without delays that may be much.
        """
        before = [one for one in self.answers if one.at < at]
        return bool(before and before[-1].is_settled)


class _Cutter:
    """Cuts what comes over a connection where frames end."""

    def __init__(self) -> None:
        self._rest = b""

    def cut(self, data: bytes) -> Iterator[bytes]:
        """The pieces of a read: no more than one of them ends within a frame."""
        held = len(self._rest)
        whole = self._rest + data
        at = start = 0
        while len(whole) - at >= HEADER_SIZE:
            _, body, head = HEADER.unpack_from(whole, at)
            end = at + HEADER_SIZE + head + body
            if end > len(whole):
                break
            yield whole[max(start, held) : end]
            at = start = end
        self._rest = whole[at:]
        if len(whole) > max(start, held):
            yield whole[max(start, held) :]


class FaithfulClient:
    """One session of a client and its application: a machine for the driver."""

    host: Host

    def __init__(
        self,
        session: str,
        servers: tuple[str, ...],
        random: Random,
        kernel: Kernel,
        **options: Any,
    ) -> None:
        name, _, number = session.rpartition(".")
        self.name = session
        self.session = ClientSession(
            SessionConfig(
                id=name,
                session=int(number),
                servers=servers,
                **{"connect_seconds": inf, "silence_seconds": 3.0, **options},
            ),
            random,
        )
        self.deadline = self.session.deadline
        """When the next tick is wanted at the latest."""
        self.events: list[Delivery | Publication] = []
        """What it published and got, in its own order."""
        self.received: Counter[str] = Counter()
        """How much it got, by publisher."""
        self.subscriptions: dict[str, Wanted] = {}
        self.ended: list[Wanted] = []
        self.homes: list[Home] = []
        """The brokers it had a stream with, in order."""
        self.unconfirmed: set[int] = set()
        """Sequence numbers of publications that perhaps no broker has got."""
        self.accepted_at: dict[int, float] = {}
        """When the application was told that a broker has a publication, by sequence number."""
        self.refused: list[str] = []
        self.changed: list[TreeChangeEnded] = []
        """What it was answered when it asked for changes of the tree."""
        self.surveyed: list[Surveyed] = []
        """What it was answered when it asked for surveys."""
        self.failed: Failed | None = None
        self._kernel = kernel
        self._advertisements: dict[str, str] = {}
        self._waiting: deque[tuple[Mapping[str, Value], bytes, float | None]] = deque()
        self._cutter = _Cutter()

    @property
    def now(self) -> float:
        """Virtual time, not that of its own clock."""
        return self._kernel.now

    # The door

    def handle(self, event: DriverEvent, now: float) -> Sequence[object]:
        """Take an event; what the driver has to do because of it, in order."""
        if isinstance(event, Connected):
            self._cutter = _Cutter()
        return self._after(self.session.handle(event, now), now)

    def receive(self, connection: int, data: bytes, now: float) -> Sequence[object]:
        """Take what came over the connection.

        With several subscriptions, each frame comes as a read of its own, so that the order in
        which notifications came is known whatever they were for.
        """
        pieces = list(self._cutter.cut(data))
        if len(self.session.deliveries) <= 1:
            pieces = [data]
        effects: list[object] = []
        for piece in pieces:
            effects += self._after(self.session.receive(connection, piece, now), now)
        return effects

    def _after(self, effects: Sequence[object], now: float) -> list[object]:
        """Read what has come, publish what has room, and send it."""
        done = list(effects)
        self._read()
        self.session.make_room()
        while self._waiting and not self.session.publishing.is_full and self.failed is None:
            attributes, payload, expires_in = self._waiting.popleft()
            sequence = self.session.publish(
                attributes, payload, published_at=now, expires_in=expires_in
            )
            self.events.append(Publication(self.now, sequence, attributes))
        if self.session.wants_flush:
            done += self.session.flush(now)
        self.deadline = self.session.deadline
        return done

    def _read(self) -> None:
        seen: list[Delivered] = []
        for wanted in self.subscriptions.values():
            items = wanted.inbox.items
            while items:
                item = items.popleft()
                if isinstance(item, Gap):
                    wanted.reports.append(Report(self.now, item.count, item.reason))
                    continue
                wanted.got.add((item.id.publisher, item.id.sequence))
                if not any(item is other for other in seen):
                    seen.append(item)
                    delivery = Delivery(self.now, item.id.publisher, item.id.sequence)
                    self.events.append(delivery)
                    self.received[delivery.publisher] += 1
            settled = wanted.inbox.settled
            if settled != wanted.is_settled:
                wanted.answers.append(Answer(self.now, settled))

    # What the application does

    def open(self, now: float) -> Sequence[object]:
        """Begin to look for a broker."""
        self.session.open(now)
        return self._after((), now)

    def subscribe(self, name: str, filter: str, settle: bool, now: float) -> Sequence[object]:
        """Subscribe under a name of the application's."""
        self._end(name)
        parsed = Filter(filter)
        inbox, _ = self.session.subscribe(parsed, settle=settle)
        self.subscriptions[name] = Wanted(name, parsed, inbox, self.now)
        return self._after((), now)

    def unsubscribe(self, name: str, settle: bool, now: float) -> Sequence[object]:
        """End a subscription."""
        self._end(name, settle=settle)
        return self._after((), now)

    def _end(self, name: str, *, settle: bool = False) -> None:
        wanted = self.subscriptions.pop(name, None)
        if wanted is not None:
            wanted.ended_at = self.now
            self.ended.append(wanted)
            self.session.unsubscribe(wanted.inbox.name, settle=settle)

    def advertise(self, name: str, filter: str, settle: bool, now: float) -> Sequence[object]:
        """Advertise under a name of the application's."""
        request = self.session.advertise(Filter(filter), settle=settle)
        self._advertisements[name] = request.name
        return self._after((), now)

    def unadvertise(self, name: str, settle: bool, now: float) -> Sequence[object]:
        """Take an advertisement back."""
        self.session.unadvertise(self._advertisements.pop(name), settle=settle)
        return self._after((), now)

    def change_tree(
        self, wish: Wish, links: tuple[tuple[str, str], ...], broker: str, now: float
    ) -> Sequence[object]:
        """Ask for a change of the tree."""
        self.session.change_tree(wish, links, broker)
        return self._after((), now)

    def survey(self, now: float) -> Sequence[object]:
        """Ask what the network looks like."""
        self.session.survey()
        return self._after((), now)

    def publish(
        self,
        attributes: Mapping[str, Value],
        payload: bytes,
        expires_in: float | None,
        now: float,
    ) -> Sequence[object]:
        """Publish a notification, when there is room for it."""
        self._waiting.append((attributes, payload, expires_in))
        return self._after((), now)

    def close(self, now: float) -> Sequence[object]:
        """End the session."""
        for name in list(self.subscriptions):
            wanted = self.subscriptions.pop(name)
            wanted.ended_at = self.now
            self.ended.append(wanted)
        self.session.close(now)
        return self._after((), now)

    # What it hears

    def hear(self, output: object) -> None:
        """Take what the session tells its application."""
        if isinstance(output, Online):
            if not output.is_resumed or output.broker != self.home(self.now):
                self.homes.append(Home(self.now, output.broker, output.is_resumed))
        elif isinstance(output, Accepted):
            for sequence in range(len(self.accepted_at) + 1, output.sequence + 1):
                self.accepted_at[sequence] = self.now
        elif isinstance(output, Unconfirmed):
            self.unconfirmed.update(range(output.first, output.last + 1))
        elif isinstance(output, PublicationRefused | RequestRefused):
            self.refused.append(output.reason)
        elif isinstance(output, TreeChangeEnded):
            self.changed.append(output)
        elif isinstance(output, Surveyed):
            self.surveyed.append(output)
        elif isinstance(output, Failed):
            self.failed = output
            for wanted in self.subscriptions.values():
                wanted.ended_at = self.now

    # Looking

    @property
    def deliveries(self) -> list[Delivery]:
        """What it got, in order."""
        return [event for event in self.events if isinstance(event, Delivery)]

    @property
    def publications(self) -> list[Publication]:
        """What it published, in order."""
        return [event for event in self.events if isinstance(event, Publication)]

    @property
    def all_subscriptions(self) -> list[Wanted]:
        """Those that ended, and those that stand."""
        return [*self.ended, *self.subscriptions.values()]

    @property
    def reports(self) -> list[Report]:
        """All that its subscriptions were told."""
        return [report for wanted in self.all_subscriptions for report in wanted.reports]

    @property
    def is_connected(self) -> bool:
        """Whether it has a connection that it takes for alive."""
        return self.session.is_connected

    @property
    def is_idle(self) -> bool:
        """Whether all it has published was accepted, or it has failed."""
        publishing = self.session.publishing
        return self.failed is not None or (
            not self._waiting and publishing.accepted == publishing.sequence
        )

    def home(self, at: float) -> str:
        """The broker of its stream at a time; empty before the first one."""
        return next((home.broker for home in reversed(self.homes) if home.at <= at), "")
