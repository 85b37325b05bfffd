"""The generic wrapper: tables that are built anew every so often (Jaeger 2007, 3.4).

Whatever the routing algorithm, it starts again from an empty table. Every broker has two tables.
One is being built, by the renewals of the clients; the other is as it was. Notifications go by
both, so nothing is lost meanwhile. Every period the root says *switch*: every broker that hears it
empties the other table, builds that one from now on, and passes the switch on. If the period is
longer than a refresh period and two ways through the network, a table is complete before the other
is emptied, and what a fault has left is gone after two switches (Theorem 1, Eq. 3.10). The proof
says >=, the theorem >: here it is >.

With advertisements both layers are wrapped, each with tables of its own, and subscriptions follow
both tables of advertisements: first one layer is right again, then the other (Eq. 3.11). The root
is any broker, so it works peer to peer as well (3.4.3).

The end of a subscription is applied to both tables. Printed is that what the algorithm then says
about either is tagged with the table that is being built; here it is tagged with the table it
follows from, or with both, so that a message never says something about the wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sapwood.errors import SapwoodError
from sapwood.filters.filter import Filter
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.machine import MessageHandler
from sapwood.protocol.messages import Advertise, Refused, Subscribe, Unadvertise, Unsubscribe
from sapwood.protocol.settling import Settling
from sapwood.protocol.stabilize.published.idempotence import Idempotence
from sapwood.protocol.stabilize.published.leases import Key
from sapwood.protocol.stabilize.published.leasing import BEGIN, END
from sapwood.protocol.stabilize.published.memory import Memory, Remembered
from sapwood.protocol.stabilize.published.messages import BOTH, Switch, Tagged, as_message
from sapwood.protocol.stabilize.published.settings import SchemeSettings
from sapwood.protocol.subscribing import Subscribing
from sapwood.routing.strategy import Entry
from sapwood.routing.table import RoutingTable

TABLES = (0, 1)


class Layer:
    """The two tables of one kind, and which of them is being built."""

    def __init__(self, union: RoutingTable, scope: RoutingTable | None) -> None:
        self.union = union
        """Both tables in one, under ids that begin with the number: notifications go by it."""
        self.active = 0
        self.tables = [RoutingTable(scope) for _ in TABLES]
        self.heard = [Idempotence() for _ in TABLES]


class Rebuild(Subscribing):
    """Keeps two tables of each kind in turns."""

    name = "rebuild"

    def __init__(self, core: Core, settling: Settling, settings: SchemeSettings) -> None:
        super().__init__(core, settling)
        self.settings = settings
        scope = core.advertisements if core.config.spreads_advertisements else None
        self.layers = {
            ADVERTISED: Layer(core.advertisements, None),
            SUBSCRIBED: Layer(core.subscriptions, scope),
        }
        self.switch_at = settings.phase * settings.lease_period
        self.switches = 0

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """Everything neighbours say is tagged."""
        return {Tagged: self._tagged, Switch: self._switched}

    # Clients speak of the table that is being built

    def _begin(
        self, source: str, message: Subscribe | Advertise, now: float, kind: str
    ) -> list[Effect]:
        """A client subscribes, or renews."""
        try:
            filter = self.core.parse(message.filter)
        except SapwoodError as problem:
            return self._malformed(source, problem, message.request)
        entry_id = self.entry_id(source, message.id)
        effects = self._claimed(source, entry_id, kind, filter)
        self._enter(kind, self.layers[kind].active, Entry(source, entry_id, filter))
        effects += self._told()
        return effects + self._when_settled(source, message.request, now, kind, entry_id)

    def _claimed(self, source: str, entry_id: str, kind: str, filter: Filter) -> list[Effect]:
        """A row about what a client asks for, the first time it does."""
        claim = self.core.clients.standing(source, kind, entry_id)
        if claim is not None and claim.filter == filter:
            return []
        replaced = None if claim is None else claim.filter
        return self._note_begin(source, entry_id, kind, filter, replaced)

    def _end(
        self, source: str, message: Unsubscribe | Unadvertise, now: float, kind: str
    ) -> list[Effect]:
        """A client unsubscribes: from both tables."""
        entry_id = self.entry_id(source, message.id)
        claim = self.core.clients.standing(source, kind, entry_id)
        for table in TABLES:
            self._leave(kind, table, source, entry_id)
        if claim is None:
            why = Drop.UNSUBSCRIBED if kind == SUBSCRIBED else Drop.UNADVERTISED
            effects = self.core.drops.count(why, source)
            if message.request:
                effects.append(Send(source, Refused(f"{why}: {message.id}", message.request)))
            return effects + self._told()
        return [
            *self._note_end(source, entry_id, kind, claim.filter),
            *self._told(),
            *self._when_settled(source, message.request, now, kind, entry_id),
        ]

    # Neighbours say which table they mean

    def _tagged(self, source: str, tagged: Tagged, now: float) -> list[Effect]:
        message = tagged.message
        if tagged.table not in (*TABLES, BOTH):
            return self.core.drops.count(Drop.MALFORMED, source)
        tables = TABLES if tagged.table == BOTH else (tagged.table,)
        kind = SUBSCRIBED if isinstance(message, Subscribe | Unsubscribe) else ADVERTISED
        if isinstance(message, Unsubscribe | Unadvertise):
            for table in tables:
                self._leave(kind, table, source, message.id)
            return self._told()
        try:
            filter = self.core.parse(message.filter)
        except SapwoodError as problem:
            return self._malformed(source, problem, 0)
        for table in tables:
            self._enter(kind, table, Entry(source, message.id, filter))
        return self._told()

    # Entries

    def _enter(self, kind: str, number: int, entry: Entry) -> None:
        """Let the routing algorithm have a subscription, unless it has heard of it."""
        layer = self.layers[kind]
        if layer.heard[number].begins(entry.destination, entry.id, str(entry.filter)):
            layer.tables[number].add(entry)
            marked = Entry(entry.destination, _marked(number, entry.id), entry.filter)
            self.core.add(layer.union, marked)
            self._rescope(kind, entry.destination)

    def _leave(self, kind: str, number: int, source: str, entry_id: str) -> None:
        layer = self.layers[kind]
        layer.heard[number].ends(source, entry_id)
        if layer.tables[number].remove(source, entry_id) is not None:
            self.core.remove(layer.union, source, _marked(number, entry_id))
            self._rescope(kind, source)

    def _rescope(self, kind: str, source: str) -> None:
        """Subscriptions follow advertisements, by both tables of those."""
        if kind == ADVERTISED:
            for table in self.layers[SUBSCRIBED].tables:
                table.rescope(source)

    # What neighbours are told

    def _told(self) -> list[Effect]:
        """Say what the routing algorithm says about either table, and about both only once."""
        return [*self._differences(ADVERTISED), *self._differences(SUBSCRIBED)]

    def _differences(self, kind: str) -> Iterator[Effect]:
        ended: dict[tuple[str, str], int] = {}
        for number, table in enumerate(self.layers[kind].tables):
            for neighbour, difference in table.take_differences(self.core.neighbours.withheld()):
                for told_id, filter in difference.subscribe:
                    message = BEGIN[kind](told_id, str(filter))
                    yield Send(neighbour, as_message(Tagged(number, message)))
                for told_id in difference.unsubscribe:
                    ended[neighbour, told_id] = BOTH if (neighbour, told_id) in ended else number
        for (neighbour, told_id), number in ended.items():
            yield Send(neighbour, as_message(Tagged(number, END[kind](told_id))))

    # Switching

    @property
    def next_at(self) -> float | None:
        """When the root has to switch."""
        return self.switch_at if self._is_root else None

    @property
    def _is_root(self) -> bool:
        return self.core.id == self.settings.root

    def tick(self, now: float) -> list[Effect]:
        """The root switches to the other table of each layer."""
        period = self.settings.lease_period
        if not self._is_root or not is_due(self.switch_at, now, period):
            return []
        self.switch_at = now + period
        effects: list[Effect] = []
        for kind, layer in self.layers.items():
            effects += self._switch(kind, 1 - layer.active, "")
        return effects

    def _switched(self, source: str, message: Switch, now: float) -> list[Effect]:
        if message.kind not in self.layers or message.table not in TABLES:
            return self.core.drops.count(Drop.MALFORMED, source)
        return self._switch(message.kind, message.table, source)

    def _switch(self, kind: str, number: int, source: str) -> list[Effect]:
        """Empty a table, build it from now on, and let all others know."""
        self.switches += 1
        self.layers[kind].active = number
        self.empty(kind, number)
        passed_on = as_message(Switch(kind, number))
        others = [name for name in self.core.neighbours.tree() if name != source]
        return [*self._told(), *(Send(name, passed_on) for name in others)]

    def empty(self, kind: str, number: int) -> None:
        """Begin a table anew; the neighbours, who do the same, are told nothing about it."""
        layer = self.layers[kind]
        before = layer.tables[number]
        fresh = layer.tables[number] = RoutingTable(before.scope)
        for neighbour, ledger in before.ledgers.items():
            fresh.open(neighbour, ledger.algorithm)
        layer.heard[number] = Idempotence()
        mark = _marked(number, "")
        destinations: dict[str, None] = {}
        for entry in list(layer.union):
            if entry.id.startswith(mark):
                self.core.remove(layer.union, entry.destination, entry.id)
                destinations[entry.destination] = None
        for destination in destinations:
            self._rescope(kind, destination)

    # Links and clients

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is told what others want."""
        core = self.core
        known = core.neighbours[neighbour]
        core.forwarding.open(neighbour, everything=known.is_flooded)
        for kind, layer in self.layers.items():
            if kind == SUBSCRIBED or core.config.spreads_advertisements:
                algorithm = known.sends
                if kind == ADVERTISED:
                    algorithm = core.config.advertisement_routing
                for table in layer.tables:
                    table.open(neighbour, algorithm)
        return self._told()

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """What a neighbour wanted goes with it."""
        for layer in self.layers.values():
            for table in layer.tables:
                table.close(neighbour)
        self._forget(neighbour)
        self.core.close(neighbour)
        return self._told()

    def link_back(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is told what has changed while it was away."""
        return self._told()

    def client_down(self, client: str, now: float) -> list[Effect]:
        """What a client claimed goes with it."""
        self._forget(client)
        return [*super().client_down(client, now), *self._told()]

    def _forget(self, destination: str) -> None:
        for kind, layer in self.layers.items():
            for number, table in enumerate(layer.tables):
                for entry in table.of(destination):
                    self._leave(kind, number, destination, entry.id)

    # What faults can spoil

    def remember(self) -> Memory:
        """The state of the tables now."""
        return Memory(
            entries=tuple(
                Remembered(Key(kind, entry.destination, entry.id), str(entry.filter), None, number)
                for kind, layer in self.layers.items()
                for number, table in enumerate(layer.tables)
                for entry in table
            ),
            clock=self.switch_at,
            active={kind: layer.active for kind, layer in self.layers.items()},
            heard=tuple(
                Remembered(Key(kind, source, entry_id), text, None, number)
                for kind, layer in self.layers.items()
                for number, heard in enumerate(layer.heard)
                for (source, entry_id), text in heard.heard.items()
            ),
        )

    def recall(self, memory: Memory) -> None:
        """Let the tables be in another state; nobody is told."""
        self.switch_at = memory.clock
        for kind, layer in self.layers.items():
            layer.active = memory.active[kind]
            for number in TABLES:
                self.empty(kind, number)
        for one in sorted(memory.entries, key=lambda one: one.key.kind != ADVERTISED):
            kind, destination, entry_id = one.key
            self._enter(kind, one.table, Entry(destination, entry_id, self.core.parse(one.text)))
        for layer in self.layers.values():
            layer.heard = [Idempotence() for _ in TABLES]
            for table in layer.tables:
                for ledger in table.ledgers.values():
                    ledger.presume()
        for one in memory.heard:
            heard = self.layers[one.key.kind].heard[one.table]
            heard.begins(one.key.destination, one.key.id, one.text)

    # Looking

    def report(self) -> dict[str, Any]:
        """How large the tables are, and how often they were built."""
        return {**super().report(), "switches": self.switches}


def _marked(number: int, entry_id: str) -> str:
    """The id of an entry of one of the two tables, where both are in one."""
    return f"{number}:{entry_id}"
