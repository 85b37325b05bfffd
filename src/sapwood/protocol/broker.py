"""The broker: events in, effects out, nothing else.

This module only dispatches. What is owed to whom is in ``sapwood.routing``, what a read brings in
``reading``, where a notification goes in ``forwarding``, when a request has taken effect in
``settling``, and what clients claim in ``clients``. Whatever comes from someone unknown, or makes
no sense, is counted and dropped (``drops``): it never changes a table.

A table changes in one place for each kind of change, and after it every neighbour is sent the
difference between what it is owed and what it was told, subscriptions before unsubscriptions.
Hence a filter that takes the place of another leaves no gap: both changes are one difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from sapwood.errors import SapwoodError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED, ClientEntry, Clients
from sapwood.protocol.drops import Drop, Drops
from sapwood.protocol.effects import Effect, Record, Send
from sapwood.protocol.events import (
    ClientDown,
    ClientUp,
    ControlReceived,
    Event,
    FramesReceived,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    NotificationsMissed,
    SurveyRequested,
    Tick,
)
from sapwood.protocol.forwarding import Forwarding, SharedHeads
from sapwood.protocol.inbound import Admission, DecodeHead, FrameReader
from sapwood.protocol.messages import (
    CODEC,
    Advertise,
    BrokerReport,
    Echo,
    Missed,
    Probe,
    Refused,
    Subscribe,
    Survey,
    Unadvertise,
    Unsubscribe,
)
from sapwood.protocol.settling import Settling
from sapwood.routing.algorithms import FLOODING, check_algorithm
from sapwood.routing.strategy import Entry
from sapwood.routing.table import RoutingTable, Scope
from sapwood.wire.frames import decode_head

ParseFilter: TypeAlias = Callable[[str], Filter]

_ENDS = {SUBSCRIBED: "unsubscribed", ADVERTISED: "unadvertised"}


class BrokerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What is set for a broker from outside."""

    id: str
    session: int = 1
    advertisements_required: bool = False
    advertisement_routing: str = "covering"
    """How advertisements spread, where they are required. With flooding nobody is told of any, so
    every neighbour is taken to publish everything."""
    settle_interval: float = 0.05
    """Shortest time between two waves of a broker, in seconds."""
    settle_patience: float = 30.0
    """Time after which a request to be told is answered with no, in seconds."""
    remembered_max: int = 65_536
    """Publishers and sets of attributes whose destinations are remembered."""
    addresses: tuple[str, ...] = ()
    """Under which the broker can be reached, if any; told in surveys."""
    admin: str = ""
    """Where its admin endpoint is; told in surveys."""
    release: str = ""
    """Which release of Sapwood it is; told in surveys."""
    recording: bool = False
    """Whether rows for a trace are among the effects."""
    routing: str = "covering"
    expected: tuple[str, ...] = ()
    restore_seconds: float = 10.0

    def __post_init__(self) -> None:
        check_algorithm(self.advertisement_routing)


class Neighbour(msgspec.Struct, frozen=True):
    """A broker at the other end of a link."""

    in_tree: bool
    sends: str
    receives: str


class Broker:
    """One broker, without input, output or clock.

    Many brokers in one process may share `parts`, and what `decode` and `parse` remember.
    """

    def __init__(
        self,
        config: BrokerConfig,
        *,
        decode: DecodeHead = decode_head,
        parts: SharedHeads | None = None,
        parse: ParseFilter = Filter,
    ) -> None:
        self.config = config
        self.id = config.id
        self.drops = Drops(recording=config.recording)
        self.neighbours: dict[str, Neighbour] = {}
        self.clients = Clients()
        self.subscriptions = RoutingTable()
        self.advertisements = RoutingTable()
        self.forwarding = Forwarding(config.remembered_max, parts)
        self.settling = Settling(
            config.id,
            config.session,
            config.settle_interval,
            config.settle_patience,
            self.drops,
            self.report,
        )
        self._parse = parse
        admission = Admission(
            rejection=self._rejection,
            is_client=self.clients.__contains__,
            refusal=self._refusal,
            control=self._decoded,
            restricts_clients=config.advertisements_required,
        )
        self._read = FrameReader(self.forwarding, admission, self.drops, decode).read
        self._handlers: dict[type, Callable[[Any, float], list[Effect]]] = {
            ControlReceived: self._told,
            LinkUp: self._link_up,
            LinkDown: self._link_down,
            NeighbourAway: self._away,
            NeighbourBack: self._back,
            NotificationsMissed: self._gave_up,
            SurveyRequested: self._inspect,
            ClientUp: self._client_up,
            ClientDown: self._client_down,
            Tick: self._tick,
        }
        self._message_handlers: dict[type, Callable[[str, Any, float], list[Effect]]] = {
            Subscribe: self._subscribe,
            Unsubscribe: self._unsubscribe,
            Advertise: self._advertise,
            Unadvertise: self._unadvertise,
            Probe: self._probe,
            Echo: self._echo,
            Missed: self._missed,
            Survey: self._survey,
        }

    def handle(self, event: Event, now: float) -> list[Effect]:
        """Take an event; what the driver has to do because of it, in order."""
        if type(event) is FramesReceived:  # by far the most frequent
            return self._read(event, now)
        return self._handlers[type(event)](event, now)

    @property
    def next_at(self) -> float | None:
        """When the driver has to bring the next `Tick` at the latest; None if nothing is due."""
        return self.settling.next_at

    @property
    def is_restoring(self) -> bool:
        return False

    # Who may send what

    def _rejection(self, source: str) -> Drop | None:
        """Why nothing is taken from a source, if so."""
        if source in self.clients:
            return None
        neighbour = self.neighbours.get(source)
        if neighbour is None:
            return Drop.UNKNOWN_SENDER
        return None if neighbour.in_tree else Drop.OUTSIDE_TREE

    def _refusal(self, source: str, publisher: str, attributes: dict[str, Value]) -> str:
        """Why a source may not send a notification; neighbours have checked their clients."""
        if source not in self.clients:
            return ""
        if publisher != source:
            return f"published as {publisher!r} by {source!r}: a client publishes as itself"
        if not self.config.advertisements_required:
            return ""
        return self.clients.refusal(source, attributes)

    # Control messages

    def _decoded(self, source: str, body: bytes, now: float) -> list[Effect]:
        try:
            message = CODEC.decode(body)
        except SapwoodError as problem:
            return self._malformed(source, problem, request=0)
        return self._told(ControlReceived(source, message), now)

    def _told(self, event: ControlReceived, now: float) -> list[Effect]:
        rejection = self._rejection(event.source)
        if rejection is not None:
            return self.drops.count(rejection, event.source)
        handler = self._message_handlers.get(type(event.message))
        if handler is None:
            return self.drops.count(Drop.NOT_FOR_BROKERS, event.source)
        return handler(event.source, event.message, now)

    def _subscribe(self, source: str, message: Subscribe, now: float) -> list[Effect]:
        return self._claim(source, message, now, SUBSCRIBED, self.subscriptions)

    def _advertise(self, source: str, message: Advertise, now: float) -> list[Effect]:
        return self._claim(source, message, now, ADVERTISED, self.advertisements)

    def _unsubscribe(self, source: str, message: Unsubscribe, now: float) -> list[Effect]:
        return self._give_up(source, message, now, SUBSCRIBED, self.subscriptions)

    def _unadvertise(self, source: str, message: Unadvertise, now: float) -> list[Effect]:
        return self._give_up(source, message, now, ADVERTISED, self.advertisements)

    def _probe(self, source: str, message: Probe, now: float) -> list[Effect]:
        return self.settling.probed(source, message, now)

    def _echo(self, source: str, message: Echo, now: float) -> list[Effect]:
        return self.settling.echoed(source, message, now)

    def _survey(self, source: str, message: Survey, now: float) -> list[Effect]:
        if source not in self.clients:
            return self.drops.count(Drop.NOT_FOR_BROKERS, source)
        return self.settling.request(source, message.request, now)

    def _inspect(self, event: SurveyRequested, now: float) -> list[Effect]:
        return self.settling.request(self.id, event.request, now)

    def report(self) -> BrokerReport:
        """What this broker says about itself in a survey."""
        links = self.neighbours.items()
        return BrokerReport(
            id=self.id,
            session=self.config.session,
            neighbours=tuple(name for name, link in links if link.in_tree),
            candidates=tuple(name for name, link in links if not link.in_tree),
            away=tuple(self.settling.away),
            clients=len(self.clients),
            subscriptions=len(self.subscriptions),
            addresses=self.config.addresses,
            admin=self.config.admin,
            release=self.config.release,
        )

    # Subscriptions and advertisements

    def _claim(
        self,
        source: str,
        message: Subscribe | Advertise,
        now: float,
        kind: str,
        table: RoutingTable,
    ) -> list[Effect]:
        """A subscription or advertisement comes, perhaps in place of one with the same id."""
        try:
            filter = self._parse(message.filter)
        except SapwoodError as problem:
            return self._malformed(source, problem, message.request)
        entry_id = self._entry_id(source, message.id)
        known = table.get(source, entry_id)
        effects: list[Effect] = []
        if known == filter:
            effects += self.drops.count(Drop.REPEATED, source)
        else:
            if known is not None:
                self._remove(table, source, entry_id)
            self._add(table, Entry(source, entry_id, filter))
            effects += self._note_claim(source, entry_id, kind, filter, known)
            effects += self._tell_all()
        return effects + self._when_settled(source, message.request, now, kind, entry_id)

    def _give_up(
        self,
        source: str,
        message: Unsubscribe | Unadvertise,
        now: float,
        kind: str,
        table: RoutingTable,
    ) -> list[Effect]:
        """A subscription or advertisement goes."""
        entry_id = self._entry_id(source, message.id)
        entry = self._remove(table, source, entry_id)
        if entry is None:
            why = Drop.UNSUBSCRIBED if kind == SUBSCRIBED else Drop.UNADVERTISED
            effects = self.drops.count(why, source)
            if source in self.clients and message.request:
                effects.append(Send(source, Refused(f"{why}: {message.id}", message.request)))
            return effects
        return [
            *self._note_end(source, entry_id, kind, entry.filter),
            *self._tell_all(),
            *self._when_settled(source, message.request, now, kind, entry_id),
        ]

    def _entry_id(self, source: str, message_id: str) -> str:
        """The id of an entry: two clients may use the same, so the session becomes part of it."""
        return f"{source}/{message_id}" if source in self.clients else message_id

    def _add(self, table: RoutingTable, entry: Entry) -> None:
        table.add(entry)
        if table is self.subscriptions:
            self.forwarding.add(entry)
        else:
            self._advertisements_changed(entry.destination)

    def _remove(self, table: RoutingTable, source: str, entry_id: str) -> Entry | None:
        entry = table.remove(source, entry_id)
        if entry is not None:
            if table is self.subscriptions:
                self.forwarding.remove(source, entry_id)
            else:
                self._advertisements_changed(source)
        return entry

    def _advertisements_changed(self, source: str) -> None:
        """What a client may publish has changed, or what a neighbour has to be asked for."""
        self.forwarding.invalidate()
        self.subscriptions.rescope(source)

    def _scope(self, neighbour: str) -> Scope | None:
        """Which subscriptions a neighbour gets: those that overlap what it advertised."""
        if not self.spreads_advertisements:
            return None

        def is_within(filter: Filter) -> bool:
            return any(entry.filter.overlaps(filter) for entry in self.advertisements.of(neighbour))

        return is_within

    @property
    def spreads_advertisements(self) -> bool:
        """Whether neighbours are told of advertisements, and of subscriptions only within them."""
        config = self.config
        return config.advertisements_required and config.advertisement_routing != FLOODING

    # Links and clients

    def _link_up(self, event: LinkUp, now: float) -> list[Effect]:
        """A link comes, or comes again: then what was there before is forgotten first."""
        name = event.neighbour
        check_algorithm(event.sends)
        check_algorithm(event.receives)
        if name == self.id or name in self.clients:
            return self.drops.count(Drop.LINK_IMPOSSIBLE, name)
        effects = self._link_down(LinkDown(name), now) if name in self.neighbours else []
        self.neighbours[name] = Neighbour(event.in_tree, event.sends, event.receives)
        if not event.in_tree:
            return effects
        self.forwarding.open(name, everything=event.receives == FLOODING)
        if self.spreads_advertisements:
            self.advertisements.open(name, self.config.advertisement_routing)
        self.subscriptions.open(name, event.sends, self._scope(name))
        self.settling.add_neighbour(name)
        return [*effects, *self._tell_all()]

    def _link_down(self, event: LinkDown, now: float) -> list[Effect]:
        name = event.neighbour
        if self.neighbours.pop(name, None) is None:
            return self.drops.count(Drop.LINK_UNKNOWN, name)
        self.subscriptions.close(name)
        self.advertisements.close(name)
        self.forwarding.close(name)
        self._forget(name)
        return [*self._tell_all(), *self.settling.remove_neighbour(name, now)]

    def _away(self, event: NeighbourAway, now: float) -> list[Effect]:
        return self.settling.neighbour_away(event.neighbour, now)

    def _back(self, event: NeighbourBack, now: float) -> list[Effect]:
        self.settling.neighbour_back(event.neighbour)
        return []

    def _gave_up(self, event: NotificationsMissed, now: float) -> list[Effect]:
        rejection = self._rejection(event.neighbour)
        if rejection is not None:
            return self.drops.count(rejection, event.neighbour)
        return self._pass_on_missed(
            event.neighbour, Missed(event.count, f"{event.neighbour}-{self.id}")
        )

    def _missed(self, source: str, message: Missed, now: float) -> list[Effect]:
        if source in self.clients:
            return self.drops.count(Drop.NOT_FOR_BROKERS, source)
        return self._pass_on_missed(source, message)

    def _pass_on_missed(self, source: str, message: Missed) -> list[Effect]:
        """Tell everybody on this side of a link what did not come over it."""
        others = [
            name
            for name, neighbour in self.neighbours.items()
            if neighbour.in_tree and name != source
        ]
        concerned = [name for name in self.clients if self.clients.claims(name, SUBSCRIBED)]
        effects: list[Effect] = [Send(name, message) for name in (*others, *concerned)]
        if self.config.recording:
            what = f"{message.count} notifications given up on {message.link}"
            effects.append(Record("missed", {"source": source, "message": what}))
        return effects

    def _client_up(self, event: ClientUp, now: float) -> list[Effect]:
        name = event.client
        if name == self.id or name in self.neighbours or not self.clients.add(name):
            return self.drops.count(Drop.CLIENT_TWICE, name)
        return []

    def _client_down(self, event: ClientDown, now: float) -> list[Effect]:
        name = event.client
        if name not in self.clients:
            return self.drops.count(Drop.CLIENT_UNKNOWN, name)
        effects: list[Effect] = []
        for kind in (SUBSCRIBED, ADVERTISED):
            for filter in dict.fromkeys(self.clients.claims(name, kind).values()):
                effects += self._recorded(_ENDS[kind], name, filter)
        self.clients.remove(name)
        self.settling.forget_client(name)
        self._forget(name)
        return [*effects, *self._tell_all()]

    def _forget(self, destination: str) -> None:
        """Remove everything a destination wanted or advertised."""
        for table in (self.subscriptions, self.advertisements):
            for entry in table.of(destination):
                self._remove(table, destination, entry.id)
        self.forwarding.invalidate()

    def _tick(self, event: Tick, now: float) -> list[Effect]:
        return self.settling.tick(now)

    # What is told to others

    def _tell_all(self) -> list[Effect]:
        """Send every neighbour what it is owed and was not told yet."""
        return [
            *_told_differences(self.advertisements, Advertise, Unadvertise),
            *_told_differences(self.subscriptions, Subscribe, Unsubscribe),
        ]

    def _when_settled(
        self, source: str, request: int, now: float, kind: str, entry_id: str
    ) -> list[Effect]:
        """Tell a client that asked when this has taken effect everywhere."""
        if not request or source not in self.clients:
            return []
        claim = self.clients.standing(source, kind, entry_id)

        def record() -> list[Effect]:
            # A claim that was given up meanwhile has not settled, even if there is another one.
            if claim is None or self.clients.standing(source, kind, entry_id) is not claim:
                return []
            return self._recorded("settled", source, claim.filter, message=kind)

        return self.settling.request(source, request, now, record)

    def _malformed(self, source: str, problem: SapwoodError, request: int) -> list[Effect]:
        effects = self.drops.count(Drop.MALFORMED, source)
        if source in self.clients:
            effects.append(Send(source, Refused(str(problem), request)))
        return effects

    # What is recorded: in the terms of clients; what neighbours tell is not

    def _note_claim(
        self, source: str, entry_id: str, kind: str, filter: Filter, replaced: Filter | None
    ) -> list[Effect]:
        if source not in self.clients:
            return []
        self.clients.claim(source, entry_id, ClientEntry(kind, filter))
        effects = self._recorded(kind, source, filter)
        if replaced is not None and not self.clients.has_equal(source, kind, replaced):
            effects += self._recorded(_ENDS[kind], source, replaced)
        return effects

    def _note_end(self, source: str, entry_id: str, kind: str, filter: Filter) -> list[Effect]:
        """The end of a claim is an end only if the client does not claim the same once more."""
        if source not in self.clients:
            return []
        self.clients.give_up(source, kind, entry_id)
        if self.clients.has_equal(source, kind, filter):
            return []
        return self._recorded(_ENDS[kind], source, filter)

    def _recorded(
        self, kind: str, client: str, filter: Filter, message: str | None = None
    ) -> list[Effect]:
        if not self.config.recording:
            return []
        fields = {"client": client, "filter": str(filter)}
        if message is not None:
            fields["message"] = message
        return [Record(kind, fields)]


def _told_differences(
    table: RoutingTable,
    begin: type[Subscribe | Advertise],
    end: type[Unsubscribe | Unadvertise],
) -> list[Effect]:
    effects: list[Effect] = []
    for neighbour, difference in table.differences():
        for entry_id, filter in difference.subscribe:
            effects.append(Send(neighbour, begin(entry_id, str(filter))))
        for entry_id in difference.unsubscribe:
            effects.append(Send(neighbour, end(entry_id)))
    return effects
