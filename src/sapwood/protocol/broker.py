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

from sapwood.errors import RoutingError, SapwoodError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.matching.shared import SharedIndex
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.core import IMPOSSIBLE, REBIRTH_CHANGED, Core, ParseFilter
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import CloseLink, Effect, Hold, Reborn, Send
from sapwood.protocol.events import (
    ClientAway,
    ClientBack,
    ClientDown,
    ClientUp,
    ControlReceived,
    Event,
    FramesReceived,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    Roster,
    RoutingChanged,
    Tick,
)
from sapwood.protocol.forwarding import Forwarding, SharedHeads
from sapwood.protocol.gaps import Gaps
from sapwood.protocol.inbound import Admission, DecodeHead, FrameReader
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.messages import CODEC, Refused
from sapwood.protocol.moves import Moves
from sapwood.protocol.neighbours import RESTART, Neighbour
from sapwood.protocol.restoration import Restoration
from sapwood.protocol.settling import Settling
from sapwood.protocol.stabilize.audit import Audit, Shadow
from sapwood.protocol.stabilize.rebirth import primary_of, restore, sound_drops, sound_faults
from sapwood.protocol.stabilize.refresh import Refreshing
from sapwood.protocol.stabilize.roster import agree, missed_events, strangers
from sapwood.protocol.stabilize.seeking import Seeking
from sapwood.protocol.stabilize.tree import Tree
from sapwood.protocol.stabilize.watching import Watching
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
        self.decode = decode
        super().__init__(config, heads, parse)

    def begin(self) -> None:
        """Begin with nothing: tables, machines, and how they are wired."""
        super().begin()
        self._wire()

    def _wire(self) -> None:
        """Make the machines, and tables of what each of them handles."""
        self.restoration = Restoration(self)
        self.waves = Waves(self, self.restoration)
        self.settling = Settling(self, self.waves)
        self.gaps = Gaps(self, self.restoration)
        self.moves = Moves(self, self.gaps)
        subscribing = self._make_subscribing()
        self.tree = Tree(self, self, self.restoration, self.waves, self.gaps)
        self.audit = Audit(self)
        self.machines = self._in_order(subscribing)
        """In the order in which they are told of what happens."""
        self._timed = [one for one in self.machines if type(one).next_at is not Machine.next_at]
        admission = Admission(
            rejection=self.rejection,
            is_client=self.clients.__contains__,
            refusal=self.refusal,
            refused=self._refused,
            control=self._decoded,
            restricts_clients=self.config.advertisements_required,
        )
        self._reader = FrameReader(self.forwarding, admission, self.drops, self.decode)
        self.watching: Watching | None = None
        """Leaves out what comes again, while a circle is possible."""
        self.receive = self._reader.read
        """Takes frames from a source: `handle` with `FramesReceived`, without an object for it."""
        self._handlers: dict[type, EventHandler] = {
            ControlReceived: self._control_received,
            LinkUp: self._link_up,
            LinkDown: self._link_down,
            NeighbourAway: self._neighbour_away,
            NeighbourBack: self._neighbour_back,
            ClientUp: self._client_up,
            ClientAway: self._client_away,
            ClientBack: self._client_back,
            ClientDown: self._client_down,
            Roster: self._roster,
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

    def _in_order(self, subscribing: Subscribing) -> tuple[Machine, ...]:
        """All machines. Refreshing is last: it compares what the others have told."""
        machines: tuple[Machine, ...] = (
            subscribing,
            self.moves,
            self.restoration,
            self.waves,
            self.settling,
            Surveying(self, self.waves),
            self.gaps,
            self.tree,
            Seeking(self, self.tree, self.waves),
            self.audit,
        )
        if self.config.stabilization.refresh == "off":
            return machines
        return (*machines, Refreshing(self, subscribing, self.restoration))

    def _make_subscribing(self) -> Subscribing:
        """The machine that keeps the tables; brokers of published schemes have others."""
        return Subscribing(self, self.settling)

    def handle(self, event: Event, now: float) -> list[Effect]:
        """Take an event; what the driver has to do because of it, in order."""
        try:
            if type(event) is FramesReceived:  # by far the most frequent
                return self.receive(event.source, event.data, now)
            return self._handlers[type(event)](event, now)
        except Exception as problem:
            if type(event) is RoutingChanged and isinstance(problem, RoutingError):
                raise  # whoever asked for it has asked for something impossible
            return self.fault(problem, now)

    # Faults

    def fault(self, problem: Exception, now: float) -> list[Effect]:
        """An exception where there must be none: raise it, or build all anew (``rebirth``).

        Whoever calls `receive` catches what it raises and comes here, so that the usual way costs
        nothing.
        """
        if self.config.raises_faults:
            raise problem
        primary = primary_of(self, getattr(self, "waves", None))
        period = self.config.stabilization.refresh_seconds
        is_again = primary.reborn_at is not None and 0 <= now - primary.reborn_at <= period
        self.faults = primary.faults
        self.faults[IMPOSSIBLE] += 1
        self.reborn_at = now
        self.begin()
        self.restoration.renounce()
        self.tree.renounce()
        restore(self, primary)
        return [
            Reborn(f"{type(problem).__name__}: {problem}", is_again),
            *self.waves.refuse(primary.waiting),
            *self._missed_anything(),
        ]

    def _missed_anything(self) -> list[Effect]:
        """Tell everybody that notifications may have gone astray here."""
        return self.gaps.pass_on(self.id, 0, f"{self.id}-{self.id}", None)

    def _renew(self, shadow: Shadow) -> list[Effect]:
        """Put what an audit has built in the place of what was there, and go on with it."""
        retired: list[object] = [one for table in self.tables for one in table.take_shadow()]
        before = self.forwarding
        self.forwarding = Forwarding(self.config.remembered_max, self.heads, shadow.index)
        for name in self.neighbours.tree():
            self.forwarding.open(name, everything=self.neighbours[name].is_flooded)
        self.forwarding.shares_publishers = not self.fences
        self.subscriptions.scope = self.scope
        self.drops.recording = self.config.recording
        self.drops.counts, self.faults = sound_drops(self), sound_faults(self)
        is_changed = shadow.is_changed or not before.is_like(self.forwarding)
        if isinstance(before.index, SharedIndex):
            before.index.clear()
        machines = {machine.name: machine for machine in self.machines}
        self._wire()
        for machine in self.machines:
            machine.inherit(machines[machine.name])
        self.audit.retired = [*retired, before.index, shadow.subscriptions, shadow.advertisements]
        if not is_changed:
            return self.tell_all()
        self.faults[REBIRTH_CHANGED] += 1
        return [*self.tell_all(), *self._missed_anything()]

    @property
    def next_at(self) -> float | None:
        """When the driver has to bring the next `Tick` at the latest; None if nothing is due."""
        try:
            return self._soonest()
        except Exception:
            if self.config.raises_faults:
                raise
            return float("-inf")  # the tick will find the fault

    def _soonest(self) -> float | None:
        first: float | None = None
        for machine in self._timed:
            at = machine.next_at
            if at is not None and (first is None or at < first):
                first = at
        return first

    @property
    def is_restoring(self) -> bool:
        """Whether the broker was restarted and its tables are not complete yet."""
        try:
            return self.restoration.is_active
        except AttributeError:
            if self.config.raises_faults:
                raise
            return False  # the next tick will find the fault

    def owes_report(self, neighbour: str) -> bool:
        """Whether a neighbour may still have to be told that something is missing."""
        return bool(self.gaps.held) or neighbour in self.restoration.late

    # What is refused

    def _refused(
        self, source: str, publisher: str, attributes: dict[str, Value], sequence: int
    ) -> list[Effect]:
        """A notification is not taken from a source: what follows from that."""
        if self.fences.is_stale(source, publisher):
            self.moves.dropped(source, attributes)
            return self.drops.count(Drop.STALE, source, publisher=publisher, sequence=sequence)
        if self.is_held(source):
            return self.drops.count(Drop.HELD, source, publisher=publisher, sequence=sequence)
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
            event.refresh_seconds,
            announced=sends,
        )
        for machine in self.machines:
            if keeps:
                effects += machine.link_restarted(name, now)
            elif event.in_tree:
                effects += machine.link_up(name, now)
            else:
                effects += machine.link_aside(name, now)
        if event.is_held:
            effects += self.hold_link(name, now)
        elif event.in_tree and event.place:
            effects += self._all(lambda machine: machine.link_placed(name, event.place, now))
        return effects

    def _link_down(self, event: LinkDown, now: float) -> list[Effect]:
        name = event.neighbour
        neighbour = self.neighbours.pop(name, None)
        if neighbour is None:
            return self.drops.count(Drop.LINK_UNKNOWN, name)
        effects: list[Effect] = []
        if neighbour.in_tree:
            effects += self._all(lambda machine: machine.link_down(name, now))
        return [*effects, *self._all(lambda machine: machine.neighbour_gone(name, now))]

    def _neighbour_away(self, event: NeighbourAway, now: float) -> list[Effect]:
        name = event.neighbour
        neighbour = self.neighbours.get(name)
        if neighbour is None:
            return []
        was_away, neighbour.is_away = neighbour.is_away, True
        neighbour.is_connected = False
        effects: list[Effect] = []
        if neighbour.in_tree and not was_away:
            effects += self._all(lambda machine: machine.link_away(name, now))
        return [*effects, *self._all(lambda machine: machine.line_lost(name, now))]

    def _neighbour_back(self, event: NeighbourBack, now: float) -> list[Effect]:
        name = event.neighbour
        neighbour = self.neighbours.get(name)
        if neighbour is None:
            return []
        neighbour.is_connected = True
        effects: list[Effect] = []
        if not neighbour.in_tree:
            neighbour.is_away = False
        elif event.in_place:
            neighbour.is_away = False
            effects += self._all(lambda machine: machine.link_back(name, now))
        else:
            effects += self.hold_link(name, now)
        return [*effects, *self._all(lambda machine: machine.line_up(name, now))]

    # What the tree decides

    def standing(self) -> dict[str, str]:
        """The place of this broker in the tree."""
        if not self.tree.is_on:
            return {}
        return {"root": self.tree.root, "parent": self.tree.parent}

    def enter_tree(self, name: str, now: float) -> list[Effect]:
        """A candidate is part of the tree from now on."""
        neighbour = self.neighbours[name]
        neighbour.in_tree, neighbour.is_away = True, False
        return self._all(lambda machine: machine.link_up(name, now))

    def resume_link(self, name: str, now: float) -> list[Effect]:
        """A link that was kept carries again."""
        self.neighbours[name].is_away = False
        self.forwarding.invalidate()
        return [Hold(name, is_held=False), *self._all(lambda machine: machine.link_back(name, now))]

    def hold_link(self, name: str, now: float) -> list[Effect]:
        """A link stays part of the tree, and carries nothing."""
        self.neighbours[name].is_away = True
        self.forwarding.invalidate()
        return [Hold(name, is_held=True), *self._all(lambda machine: machine.link_away(name, now))]

    def watch(self, *, is_watched: bool) -> None:
        """Leave out what neighbours bring a second time from now on, or no longer."""
        if not is_watched:
            self.watching, self.receive = None, self._reader.read
        elif self.watching is None:
            self.watching = Watching(self._reader.read, self.clients.__contains__, self.drops)
            self.receive = self.watching.read

    def leave_tree(self, name: str, reason: str, now: float) -> list[Effect]:
        """A link is part of the tree no longer: its stream ends, and what it brought."""
        return [CloseLink(name, reason)]

    def _client_up(self, event: ClientUp, now: float) -> list[Effect]:
        name = event.client
        is_broker = name == self.id or name in self.neighbours
        if is_broker or not self.clients.add(name, event.features):
            return self.drops.count(Drop.CLIENT_TWICE, name)
        return self._all(lambda machine: machine.client_up(name, now))

    def _client_away(self, event: ClientAway, now: float) -> list[Effect]:
        if event.client in self.clients:
            self.clients.away[event.client] = None
        return []

    def _client_back(self, event: ClientBack, now: float) -> list[Effect]:
        if self.clients.away.pop(event.client, self) is self:
            return []
        return self._all(lambda machine: machine.client_back(event.client, now))

    def _client_down(self, event: ClientDown, now: float) -> list[Effect]:
        name = event.client
        if name not in self.clients:
            return self.drops.count(Drop.CLIENT_UNKNOWN, name)
        return self._all(lambda machine: machine.client_down(name, now))

    def _roster(self, event: Roster, now: float) -> list[Effect]:
        """Agree with the driver about who is linked and connected."""
        effects: list[Effect] = []
        for missed in missed_events(self, event):
            effects += self._handlers[type(missed)](missed, now)
        for link in event.links:
            agree(self.neighbours[link.neighbour], link, self.config.routing)
        if self.fences.mend(self.clients, self.neighbours.tree()):
            self.moves.fences_changed()
        gone = strangers(self)
        for name in gone:
            self.forget(name)
        return [*effects, *self.tell_all()] if gone else effects

    def _tick(self, event: Tick, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for name, neighbour in list(self.neighbours.items()):
            neighbour.is_busy = name in event.busy
            if not neighbour.is_connected and not neighbour.is_away:  # a fault: neither follows
                effects += self._neighbour_away(NeighbourAway(name), now)
            elif neighbour.is_connected and not neighbour.in_tree:
                neighbour.is_away = False
        effects += self._all(lambda machine: machine.tick(now))
        self._soonest()  # raises where a fault made that impossible
        shadow = self.audit.take_complete()
        return effects if shadow is None else effects + self._renew(shadow)

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
