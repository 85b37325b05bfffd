"""The broker: events in, effects out, nothing else.

This module only dispatches. What comes in notifications is in ``inbound``, where they go in
``forwarding``; tables and what is owed to whom are in ``core``; all else is done by machines
(``machine``), which the broker knows by their contract only. Whatever comes from someone unknown,
or makes no sense, is counted and dropped (``drops``): it never changes a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from sapwood.errors import SapwoodError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.core import Core, ParseFilter
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect, Send
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
    Tick,
)
from sapwood.protocol.forwarding import SharedHeads
from sapwood.protocol.gaps import Gaps
from sapwood.protocol.inbound import Admission, DecodeHead, FrameReader
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.messages import CODEC, Refused
from sapwood.protocol.moves import Moves
from sapwood.protocol.neighbours import RESTART, Neighbour
from sapwood.protocol.restoration import Restoration
from sapwood.protocol.settling import Settling
from sapwood.protocol.subscribing import Subscribing
from sapwood.protocol.survey import Surveying
from sapwood.protocol.waves import Waves
from sapwood.routing.algorithms import check_algorithm
from sapwood.wire.frames import decode_head

__all__ = ["Broker", "BrokerConfig", "Neighbour"]


class Broker(Core):
    """One broker, without input, output or clock.

    Many brokers in one process may share `heads`, and what `decode` and `parse` remember.
    """

    def __init__(
        self,
        config: BrokerConfig,
        *,
        decode: DecodeHead = decode_head,
        heads: SharedHeads | None = None,
        parse: ParseFilter = Filter,
    ) -> None:
        super().__init__(config, heads, parse)
        self.restoration = Restoration(self)
        self.waves = Waves(self, self.restoration)
        self.settling = Settling(self, self.waves)
        gaps = Gaps(self, self.restoration)
        self.moves = Moves(self, gaps)
        self.machines: tuple[Machine, ...] = (
            self._make_subscribing(),
            self.moves,
            self.restoration,
            self.waves,
            self.settling,
            Surveying(self, self.waves),
            gaps,
        )
        """In the order in which they are told of what happens."""
        self._timed = [one for one in self.machines if type(one).next_at is not Machine.next_at]
        admission = Admission(
            rejection=self.rejection,
            is_client=self.clients.__contains__,
            refusal=self.refusal,
            refused=self._refused,
            control=self._decoded,
            restricts_clients=config.advertisements_required,
        )
        self.receive = FrameReader(self.forwarding, admission, self.drops, decode).read
        """Takes frames from a source: `handle` with `FramesReceived`, without an object for it."""
        self._handlers: dict[type, EventHandler] = {
            ControlReceived: self._control_received,
            LinkUp: self._link_up,
            LinkDown: self._link_down,
            NeighbourAway: self._neighbour_away,
            NeighbourBack: self._neighbour_back,
            ClientUp: self._client_up,
            ClientDown: self._client_down,
            Tick: self._tick,
        }
        self._from_neighbours: dict[type, list[MessageHandler]] = {}
        self._from_clients: dict[type, list[MessageHandler]] = {}
        for machine in self.machines:
            self._handlers.update(machine.events())
            for kind, handler in machine.from_neighbours().items():
                self._from_neighbours.setdefault(kind, []).append(handler)
            for kind, handler in machine.from_clients().items():
                self._from_clients.setdefault(kind, []).append(handler)

    def _make_subscribing(self) -> Subscribing:
        """The machine that keeps the tables; brokers of published schemes have others."""
        return Subscribing(self, self.settling)

    def handle(self, event: Event, now: float) -> list[Effect]:
        """Take an event; what the driver has to do because of it, in order."""
        if type(event) is FramesReceived:  # by far the most frequent
            return self.receive(event.source, event.data, now)
        return self._handlers[type(event)](event, now)

    @property
    def next_at(self) -> float | None:
        """When the driver has to bring the next `Tick` at the latest; None if nothing is due."""
        first: float | None = None
        for machine in self._timed:
            at = machine.next_at
            if at is not None and (first is None or at < first):
                first = at
        return first

    @property
    def is_restoring(self) -> bool:
        """Whether the broker was restarted and its tables are not complete yet."""
        return self.restoration.is_active

    # What is refused

    def _refused(
        self, source: str, publisher: str, attributes: dict[str, Value], sequence: int
    ) -> list[Effect]:
        """A notification is not taken from a source: what follows from that."""
        if self.fences.is_stale(source, publisher):
            self.moves.dropped(source, attributes)
            return self.drops.count(Drop.STALE, source, publisher=publisher, sequence=sequence)
        effects = self.drops.count(Drop.REFUSED, source)
        if source in self.clients:
            reason = self.refusal(source, publisher, attributes)
            effects.append(Send(source, Refused(reason, sequence=sequence)))
        return effects

    # Control messages

    def _decoded(self, source: str, body: bytes, now: float) -> list[Effect]:
        try:
            message = CODEC.decode(body)
        except SapwoodError as problem:
            effects = self.drops.count(Drop.MALFORMED, source)
            if source in self.clients:
                effects.append(Send(source, Refused(str(problem))))
            return effects
        return self._control_received(ControlReceived(source, message), now)

    def _control_received(self, event: ControlReceived, now: float) -> list[Effect]:
        source, message = event.source, event.message
        rejection = self.rejection(source)
        if rejection is not None:
            return self.drops.count(rejection, source)
        table = self._from_clients if source in self.clients else self._from_neighbours
        handlers = table.get(type(message))
        if handlers is None:
            return self.drops.count(Drop.NOT_FOR_BROKERS, source)
        effects: list[Effect] = []
        for handler in handlers:
            effects += handler(source, message, now)
        return effects

    # Links and clients

    def _link_up(self, event: LinkUp, now: float) -> list[Effect]:
        """A link comes, or comes again: then what was there before is forgotten first.

        Unless the neighbour was restarted and says when it has told its table again: then what it
        wanted stays until that.
        """
        name = event.neighbour
        sends = check_algorithm(event.sends or self.config.routing)
        receives = check_algorithm(event.receives or self.config.routing)
        if name == self.id or name in self.clients:
            return self.drops.count(Drop.LINK_IMPOSSIBLE, name)
        keeps = (
            event.restarted
            and event.in_tree
            and RESTART in event.features
            and self.neighbours.is_in_tree(name)
        )
        effects: list[Effect] = []
        if not keeps and name in self.neighbours:
            effects += self._link_down(LinkDown(name), now)
        self.neighbours[name] = Neighbour(
            event.in_tree,
            sends,
            receives,
            event.session,
            event.addresses,
            event.features,
            announced=sends,
        )
        for machine in self.machines:
            if keeps:
                effects += machine.link_restarted(name, now)
            elif event.in_tree:
                effects += machine.link_up(name, now)
            else:
                effects += machine.link_aside(name, now)
        return effects

    def _link_down(self, event: LinkDown, now: float) -> list[Effect]:
        name = event.neighbour
        neighbour = self.neighbours.pop(name, None)
        if neighbour is None:
            return self.drops.count(Drop.LINK_UNKNOWN, name)
        if not neighbour.in_tree:
            return []
        return self._all(lambda machine: machine.link_down(name, now))

    def _neighbour_away(self, event: NeighbourAway, now: float) -> list[Effect]:
        neighbour = self.neighbours.get(event.neighbour)
        if neighbour is None:
            return []
        neighbour.is_away = True
        if not neighbour.in_tree:
            return []
        return self._all(lambda machine: machine.link_away(event.neighbour, now))

    def _neighbour_back(self, event: NeighbourBack, now: float) -> list[Effect]:
        neighbour = self.neighbours.get(event.neighbour)
        if neighbour is None:
            return []
        neighbour.is_away = False
        if not neighbour.in_tree:
            return []
        return self._all(lambda machine: machine.link_back(event.neighbour, now))

    def _client_up(self, event: ClientUp, now: float) -> list[Effect]:
        name = event.client
        if name == self.id or name in self.neighbours or not self.clients.add(name):
            return self.drops.count(Drop.CLIENT_TWICE, name)
        return []

    def _client_down(self, event: ClientDown, now: float) -> list[Effect]:
        name = event.client
        if name not in self.clients:
            return self.drops.count(Drop.CLIENT_UNKNOWN, name)
        return self._all(lambda machine: machine.client_down(name, now))

    def _tick(self, event: Tick, now: float) -> list[Effect]:
        return self._all(lambda machine: machine.tick(now))

    def _all(self, notify: Callable[[Machine], list[Effect]]) -> list[Effect]:
        """Let all machines know of something, in order."""
        effects: list[Effect] = []
        for machine in self.machines:
            effects += notify(machine)
        return effects

    # Looking

    def reports(self) -> dict[str, dict[str, Any]]:
        """What is worth knowing about each machine, as plain data."""
        return {machine.name: machine.report() for machine in self.machines}

    def snapshot(self) -> dict[str, Any]:
        """The primary state as plain data: equal for brokers that behave equally."""
        return {
            "id": self.id,
            "session": self.config.session,
            "neighbours": {
                name: msgspec.to_builtins(one) for name, one in sorted(self.neighbours.items())
            },
            "clients": dict(sorted(self.clients.state().items())),
            **{machine.name: machine.state() for machine in self.machines},
        }
