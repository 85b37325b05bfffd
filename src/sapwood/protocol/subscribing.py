"""What neighbours and clients want and advertise, and how each edge is routed.

Subscriptions and advertisements are entries of two tables (``core``). What clients claim is also
kept in their own terms (``clients``), for the rows of a trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sapwood.errors import RoutingError, SapwoodError
from sapwood.filters.filter import Filter
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.events import RoutingChanged
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.messages import (
    Advertise,
    Refused,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from sapwood.protocol.settling import Settling
from sapwood.routing.algorithms import FLOODING, check_algorithm
from sapwood.routing.strategy import Entry

_ENDS = {SUBSCRIBED: "unsubscribed", ADVERTISED: "unadvertised"}


SLICE_SECONDS: Final = 0.02
SLICE_WORK: Final = 64
"""Filters that are looked at in one go because of one wide one, and the time between two goes."""


class Subscribing(Machine):
    """Keeps the tables of a broker, and tells its neighbours what changes."""

    name = "subscribing"
    derived = ("_tables",)

    def __init__(self, core: Core, settling: Settling) -> None:
        super().__init__(core)
        self._settling = settling
        self.slice_at = float("-inf")
        """When there is time for another part of what was left to do."""
        self._tables = {SUBSCRIBED: core.subscriptions, ADVERTISED: core.advertisements}

    def events(self) -> Mapping[type, EventHandler]:
        """The routing of an edge may change."""
        return {RoutingChanged: self._routing_changed}

    def from_clients(self) -> Mapping[type, MessageHandler]:
        """Claims and their ends."""
        return {
            Subscribe: self._subscribe,
            Unsubscribe: self._unsubscribe,
            Advertise: self._advertise,
            Unadvertise: self._unadvertise,
        }

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """The same from neighbours."""
        return self.from_clients()

    # Subscriptions and advertisements

    def _subscribe(self, source: str, message: Subscribe, now: float) -> list[Effect]:
        if self.core.is_deaf_to(source):
            return []
        return self._begin(source, message, now, SUBSCRIBED)

    def _advertise(self, source: str, message: Advertise, now: float) -> list[Effect]:
        return self._begin(source, message, now, ADVERTISED)

    def _unsubscribe(self, source: str, message: Unsubscribe, now: float) -> list[Effect]:
        if self.core.is_deaf_to(source):
            return []
        return self._end(source, message, now, SUBSCRIBED)

    def _unadvertise(self, source: str, message: Unadvertise, now: float) -> list[Effect]:
        return self._end(source, message, now, ADVERTISED)

    def _begin(
        self,
        source: str,
        message: Subscribe | Advertise,
        now: float,
        kind: str,
    ) -> list[Effect]:
        """A subscription or advertisement comes, perhaps in place of one with the same id."""
        core, table = self.core, self._tables[kind]
        try:
            filter = core.parse(message.filter)
        except SapwoodError as problem:
            return self._malformed(source, problem, message.request)
        entry_id = self.entry_id(source, message.id)
        if reason := core.claim_refusal(source, kind, entry_id, filter):
            return self.refused(source, reason, message.request)
        effects: list[Effect] = []
        if table.get(source, entry_id) != filter:
            effects += self.enter(source, entry_id, kind, filter, message.filter)
            effects += core.tell_all()
        else:
            table.add(Entry(source, entry_id, filter), message.filter)
        return effects + self._when_settled(source, message.request, now, kind, entry_id)

    def enter(
        self, source: str, entry_id: str, kind: str, filter: Filter, text: str
    ) -> list[Effect]:
        """Let something be in force that a source has said in these words; nobody is told yet."""
        table = self._tables[kind]
        claim = self.core.clients.standing(source, kind, entry_id)
        known = table.get(source, entry_id) if claim is None else claim.filter
        self.core.add(table, Entry(source, entry_id, filter), text)
        return self._note_begin(source, entry_id, kind, filter, known)

    def leave(self, source: str, entry_id: str, kind: str) -> list[Effect] | None:
        """Let it be in force no longer; nobody is told yet. None if it was not.

        What a client has claimed ends though a fault took it out of the table, or changed it there.
        """
        claim = self.core.clients.standing(source, kind, entry_id)
        entry = self.core.remove(self._tables[kind], source, entry_id)
        ended = entry if claim is None else claim
        return None if ended is None else self._note_end(source, entry_id, kind, ended.filter)

    def _end(
        self,
        source: str,
        message: Unsubscribe | Unadvertise,
        now: float,
        kind: str,
    ) -> list[Effect]:
        """A subscription or advertisement goes."""
        core = self.core
        entry_id = self.entry_id(source, message.id)
        ended = self.leave(source, entry_id, kind)
        if ended is None:
            why = Drop.UNSUBSCRIBED if kind == SUBSCRIBED else Drop.UNADVERTISED
            effects = core.drops.count(why, source)
            if source in core.clients and message.request:
                effects.append(Send(source, Refused(f"{why}: {message.id}", message.request)))
            return effects
        return [
            *ended,
            *core.tell_all(),
            *self._when_settled(source, message.request, now, kind, entry_id),
        ]

    def entry_id(self, source: str, message_id: str) -> str:
        """The id of an entry: two clients may use the same, so the session becomes part of it."""
        return f"{source}/{message_id}" if source in self.core.clients else message_id

    def _when_settled(
        self, source: str, request: int, now: float, kind: str, entry_id: str
    ) -> list[Effect]:
        """Tell a client that asked when this has taken effect everywhere."""
        if not request or source not in self.core.clients:
            return []
        return self._settling.request(source, request, kind, entry_id, now)

    def refused(self, source: str, reason: str, request: int = 0) -> list[Effect]:
        """A client asks for what it may not have: it is told why, and nothing changes."""
        refusal = Send(source, Refused(reason, request))
        return [*self.core.drops.count(Drop.REFUSED, source), refusal]

    def _malformed(self, source: str, problem: SapwoodError, request: int) -> list[Effect]:
        effects = self.core.drops.count(Drop.MALFORMED, source)
        if source in self.core.clients:
            effects.append(Send(source, Refused(str(problem), request)))
        return effects

    # Links and clients

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is told what others want."""
        self.core.open(neighbour)
        return self.core.tell_all()

    def link_restarted(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is told all of it again; what it wanted itself stays."""
        self.core.reopen(neighbour)
        return self.core.tell_all()

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """What a neighbour wanted goes with it."""
        self.core.close(neighbour)
        return self.core.tell_all()

    def link_back(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is told what has changed while it was away, and no more."""
        return self.core.tell_all()

    def link_thawed(self, neighbour: str, now: float) -> list[Effect]:
        """The same after a change of the tree."""
        return self.core.tell_all()

    def client_down(self, client: str, now: float) -> list[Effect]:
        """What a client claimed goes with it."""
        core = self.core
        effects: list[Effect] = []
        for kind in (SUBSCRIBED, ADVERTISED):
            for filter in dict.fromkeys(core.clients.claims(client, kind).values()):
                effects += core.recorded(_ENDS[kind], client, filter)
        core.clients.remove(client)
        core.forget(client)
        return [*effects, *core.tell_all()]

    @property
    def next_at(self) -> float | None:
        """When there is time for another part of what was left to do."""
        return self.slice_at if self.core.left else None

    # The routing of edges

    def tick(self, now: float) -> list[Effect]:
        """Let edges be routed as they have to be, and all know it, if a fault has changed that.

        And do a part of what was left to do because a change concerned very many filters.
        """
        core = self.core
        left = core.left
        if left and is_due(self.slice_at, now, SLICE_SECONDS):
            self.slice_at = now + SLICE_SECONDS
            for table in core.tables:
                table.carry_on(SLICE_WORK)
        is_unsaid = left != core.left or any(
            one.in_tree and not one.is_withheld and one.announced != one.sends
            for one in core.neighbours.values()
        )
        return core.tell_all() if core.direct() or is_unsaid else []

    def _routing_changed(self, event: RoutingChanged, now: float) -> list[Effect]:
        """Let a neighbour learn in another way what to send here.

        What the neighbour is told follows at once or, if it is away, when it is back.
        """
        core = self.core
        neighbour = core.neighbours.get(event.neighbour)
        check_algorithm(event.sends)
        if neighbour is None or not neighbour.in_tree:
            return core.drops.count(Drop.LINK_UNKNOWN, event.neighbour)
        if event.sends != FLOODING:
            self._check_no_other_is_flooded(event)
        neighbour.direct(event.sends)
        core.subscriptions.switch(event.neighbour, event.sends)
        return core.tell_all()

    def _check_no_other_is_flooded(self, event: RoutingChanged) -> None:
        """Whoever gets everything does not say what to ask for (see `check_edge_routing`)."""
        for name, other in self.core.neighbours.items():
            if name != event.neighbour and other.in_tree and other.is_flooded:
                raise RoutingError(
                    f"edge {event.neighbour} -> {self.core.id} cannot use {event.sends}: behind it "
                    f"{self.core.id} -> {name} floods, so {self.core.id} does not learn what to "
                    f"ask {event.neighbour} for; change {self.core.id} -> {name} first"
                )

    # What is recorded: in the terms of clients; what neighbours tell is not

    def _note_begin(
        self, source: str, entry_id: str, kind: str, filter: Filter, replaced: Filter | None
    ) -> list[Effect]:
        clients = self.core.clients
        if source not in clients:
            return []
        clients.claim(source, kind, entry_id, filter)
        effects = self.core.recorded(kind, source, filter)
        if replaced is not None and not clients.has_equal(source, kind, replaced):
            effects += self.core.recorded(_ENDS[kind], source, replaced)
        return effects

    def _note_end(self, source: str, entry_id: str, kind: str, filter: Filter) -> list[Effect]:
        """The end of a claim is an end only if the client does not claim the same once more."""
        clients = self.core.clients
        if source not in clients:
            return []
        clients.give_up(source, kind, entry_id)
        if clients.has_equal(source, kind, filter):
            return []
        return self.core.recorded(_ENDS[kind], source, filter)

    # Looking

    def report(self) -> dict[str, Any]:
        """How large the tables are."""
        return {
            "subscriptions": len(self.core.subscriptions),
            "advertisements": len(self.core.advertisements),
        }

    def state(self) -> Any:
        """Entries and what was told, by table."""
        return [
            {
                "entries": sorted((one.destination, one.id, str(one.filter)) for one in table),
                "told": {
                    name: sorted((one, str(filter)) for one, filter in ledger.told.items())
                    for name, ledger in sorted(table.ledgers.items())
                },
            }
            for table in self.core.tables
        ]

    def problems(self) -> Iterator[str]:
        """Whoever can be told has been told, and the ledgers know what they do not know."""
        core = self.core
        withheld = core.neighbours.withheld()
        for kind, table in zip(("subscription", "advertisement"), core.tables, strict=True):
            yield from table.problems()
            for name, difference in table.differences():
                if name not in withheld:
                    yield f"{name} was not told of {kind}s: {difference}"
        for name, neighbour in core.neighbours.items():
            is_told = not neighbour.in_tree or neighbour.announced == neighbour.sends
            if not is_told and name not in withheld:
                yield f"{name} was not told that its edge uses {neighbour.sends}"
        for name, sends in core.misrouted():
            yield f"the edge to {name} uses {core.neighbours[name].sends}, and not {sends}"
