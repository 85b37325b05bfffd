"""The broker: events in, effects out, nothing else.

This module only dispatches. What comes in notifications is in ``inbound``, where they go in
``forwarding``; tables and what is owed to whom are in ``core``, who is linked and connected in
``members``; all else is done by machines (``machine``), which the broker knows by their contract
only. Whatever comes from someone unknown, or makes no sense, is counted and dropped (``drops``): it
never changes a table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from sapwood.errors import RoutingError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.matching.shared import SharedIndex
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.control import Control
from sapwood.protocol.core import IMPOSSIBLE, REBIRTH_CHANGED, ParseFilter
from sapwood.protocol.drops import Drop
from sapwood.protocol.durable.door import MailboxDoor
from sapwood.protocol.effects import Effect, Reborn, Send
from sapwood.protocol.events import (
    ClientAway,
    ClientBack,
    ClientDown,
    ClientHandedOver,
    ClientUp,
    ControlReceived,
    DelayMeasured,
    Event,
    Examine,
    FramesReceived,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    Roster,
    RoutingChanged,
    Tick,
)
from sapwood.protocol.faults import RequestLostError
from sapwood.protocol.fences import Fence
from sapwood.protocol.forwarding import Forwarding, SharedHeads
from sapwood.protocol.gaps import Gaps
from sapwood.protocol.inbound import Admission, DecodeHead, FrameReader
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.messages import (
    Advertise,
    ClientMoved,
    ClientsAt,
    Message,
    Refused,
    Subscribe,
)
from sapwood.protocol.moves import Moves
from sapwood.protocol.neighbours import Neighbour
from sapwood.protocol.optimize.edges.choosing import Choosing
from sapwood.protocol.optimize.edges.switching import Switching
from sapwood.protocol.optimize.edges.wishes import Wishes
from sapwood.protocol.optimize.surroundings import Surroundings
from sapwood.protocol.optimize.swapping import Swapping
from sapwood.protocol.reconfigure.conducting import Conducting
from sapwood.protocol.reconfigure.leaving import Leaves
from sapwood.protocol.reconfigure.requests import Changing
from sapwood.protocol.reconfigure.turning import Turning
from sapwood.protocol.restoration import Restoration
from sapwood.protocol.settling import Settling
from sapwood.protocol.stabilize.audit import Audit, Shadow
from sapwood.protocol.stabilize.rebirth import (
    check_roster,
    primary_of,
    restore,
    sound_drops,
    sound_faults,
    without,
)
from sapwood.protocol.stabilize.refresh import Refreshing
from sapwood.protocol.stabilize.roster import agree, missed_events, strangers
from sapwood.protocol.stabilize.seeking import Seeking
from sapwood.protocol.stabilize.tree import Tree
from sapwood.protocol.stabilize.watching import Watching
from sapwood.protocol.subscribing import Subscribing
from sapwood.protocol.survey import Surveying
from sapwood.protocol.turns import Turns
from sapwood.protocol.waves import Waves
from sapwood.wire.frames import decode_head

__all__ = ["Broker", "BrokerConfig", "Neighbour"]

LOST: Final = "the broker found its state wrong; ask again"
"""What a client is told whose request went with the state."""


class Broker(Control):
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
        self.turns = Turns(self)
        self.restoration = Restoration(self)
        self.waves = Waves(self, self.restoration)
        self.settling = Settling(self, self.waves)
        self.gaps = Gaps(self, self.restoration)
        self.moves = Moves(self)
        self.leaving = Leaves(self, self, self.restoration, self.waves, self.gaps)
        subscribing = self._make_subscribing()
        self.tree = Tree(self, self, self.restoration, self.waves, self.gaps)
        self.turning = Turning(self, self, self.waves, self.restoration, self.gaps, self.tree)
        self.changing = Changing(self, self.turning, self.waves)
        self.conducting = Conducting(self, self.changing, self.waves)
        self._make_optimizers()
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
            is_restricted=self.is_restricted,
            aside=self._received_aside,
            crossed=self._crossed,
        )
        self._reader = FrameReader(self.forwarding, admission, self.drops, self.decode, self.tally)
        self._reader.skew = self.skew
        self.watching: Watching | None = None
        """Leaves out what comes again, while a circle is possible."""
        self._has_crossed = False
        """Whether a publisher's notifications came from two sources since the tree last asked."""
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
            Examine: self._examine,
            ClientHandedOver: self._client_handed_over,
            Roster: self._roster,
            Tick: self._tick,
            DelayMeasured: self._delay_measured,
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
            self.edges,
            self.moves,
            self.restoration,
            self.waves,
            self.settling,
            Surveying(self, self.waves),
            MailboxDoor(self),
            self.gaps,
            self.leaving,
            self.turning,
            self.changing,
            self.conducting,
            self.tree,
            Seeking(self, self.tree, self.waves),
            self.surroundings,
            self.swapping,
            self.edge_choice,
            self.turns,
            self.audit,
        )
        if self.config.stabilization.refresh == "off":
            return machines
        return (*machines, Refreshing(self, subscribing, self.restoration, self.edges))

    @property
    def refresh_seconds(self) -> float:
        """How often is looked again: more often than set, if delays and a stated time want it."""
        return self.tree.refresh_seconds

    def _make_optimizers(self) -> None:
        """The machines that find out what the tree and its edges cost, and make them cheaper."""
        self.edges = Switching(self)
        self.edge_choice = Choosing(self, self.edges)
        self.surroundings = Surroundings(self)
        self.swapping = Swapping(
            self, self.surroundings, self.changing, self.turning, self.restoration
        )

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
        machines = (getattr(self, name, None) for name in ("waves", "conducting"))
        primary = primary_of(self, *machines)
        period = self.config.stabilization.refresh_seconds
        is_again = primary.reborn_at is not None and 0 <= now - primary.reborn_at <= period
        self.faults = primary.faults
        self.faults[IMPOSSIBLE] += 1
        self.reborn_at = now
        self.begin()
        self.restoration.renounce()
        self.tree.renounce()
        if isinstance(problem, RequestLostError) and isinstance(
            problem.message, Subscribe | Advertise
        ):
            primary = without(primary, problem.client, problem.message.id)
        restore(self, primary)
        self.turning.freeze()
        return [
            Reborn(_described(problem), is_again),
            *self.waves.refuse(primary.waiting),
            *(Send(client, Refused(LOST, request)) for client, request in primary.changes),
            *self._answer_lost(problem, now),
            *self._missed_anything(),
        ]

    def _answer_lost(self, problem: Exception, now: float) -> list[Effect]:
        """See to what a client asked when a fault was found, if that was when.

        What it wants to get or to publish it goes on wanting, and it may have been told long ago
        that this is in force: that is done now. If not even that can be done, or it asked for
        something else, it is told that it is lost.
        """
        if not isinstance(problem, RequestLostError):
            return []
        effects: list[Effect] = []
        if isinstance(problem.message, Subscribe | Advertise):
            try:
                return self._control_received(ControlReceived(problem.client, problem.message), now)
            except Exception as again:  # noqa: BLE001 - whatever it is, the state is still wrong
                effects.append(Reborn(_described(again), is_again=True))
        refusal = Refused(LOST, problem.request)
        return [*effects, Send(problem.client, refusal)]

    def _missed_anything(self) -> list[Effect]:
        """Tell everybody that notifications may have gone astray here."""
        return self.gaps.pass_on(self.id, 0, f"{self.id}-{self.id}", None)

    def _renew(self, shadow: Shadow) -> list[Effect]:
        """Put what an audit has built in the place of what was there, and go on with it."""
        retired: list[object] = [one for table in self.tables for one in table.take_shadow()]
        before = self.forwarding
        self.forwarding = Forwarding(self.config.remembered_max, self.heads, shadow.index)
        for name, one in self.neighbours.items():
            if one.in_tree or name == self.joining:
                self.forwarding.open(name, everything=self.gets_everything(name))
        self.keep_only_for(self.restoration.late)
        self.forwarding.shares_publishers = not self.fences
        if self.wishes is not None:
            self.wishes = Wishes()
            self.wishes.build(self.subscriptions)
        self.subscriptions.scope = self.scope
        self.drops.recording = self.config.recording
        self.drops.counts, self.faults = sound_drops(self), sound_faults(self)
        is_changed = shadow.is_changed or not before.is_like(self.forwarding)
        if isinstance(before.index, SharedIndex):
            before.index.clear()
        machines = {machine.name: machine for machine in self.machines}
        watched = self.watching
        self._wire()
        if type(watched) is Watching and type(watched.seen) is dict:
            self.watch(is_watched=True, seen=watched.seen)
        for machine in self.machines:
            machine.inherit(machines[machine.name])
        self.turning.go_on()
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
        return self.gaps.are_waiting or neighbour in self.restoration.late

    # What is refused

    def _refused(
        self, source: str, publisher: str, attributes: dict[str, Value], sequence: int
    ) -> list[Effect]:
        """A notification is not taken from a source: what follows from that."""
        if self.is_stale(source, publisher):
            self.gaps.drop(source, attributes)
            return self.drops.count(Drop.STALE, source, publisher=publisher, sequence=sequence)
        if self.is_held(source):
            self.gaps.drop(source, attributes)  # the other end does not know yet that it is held
            return self.drops.count(Drop.HELD, source, publisher=publisher, sequence=sequence)
        effects = self.drops.count(Drop.REFUSED, source)
        if source in self.clients:
            reason = self.refusal(source, publisher, attributes)
            effects.append(Send(source, Refused(reason, sequence=sequence)))
        return effects

    # What the tree decides

    @property
    def tree_parent(self) -> str | None:
        """The parent of this broker in the tree, empty at the root; None where no tree is kept."""
        return self.tree.parent if self.tree.is_on else None

    @property
    def joining(self) -> str:
        """Who gets notifications over a link that is about to be part of the tree, if anybody."""
        return self.turning.joining

    def gets_everything(self, name: str) -> bool:
        """Whether a neighbour gets every notification, as its edge or a change of the tree asks."""
        return super().gets_everything(name) or self.turning.gets_everything(name)

    def standing(self) -> dict[str, Any]:
        """The place of this broker in the tree, the plan that it carries out, and its edges."""
        plan = {"plan": self.conducting.plan, "edges": self.edge_choice.edge_reports()}
        if not self.tree.is_on:
            return plan
        return {"root": self.tree.root, "parent": self.tree.parent, **plan}

    def watch(self, *, is_watched: bool, seen: dict[bytes, None] | None = None) -> None:
        """Leave out what neighbours bring a second time from now on, or no longer."""
        if is_watched is (self.watching is not None):
            return
        self.watching = None
        if is_watched:
            self.watching = Watching(self._reader.read, self.clients.__contains__, self.drops)
            self.watching.seen = {} if seen is None else seen
        else:
            self.forwarding.forget_publishers()  # if there is a circle, it shows itself again
        self.choose_reader()

    def _crossed(self) -> None:
        """Watch at once: what goes round a circle may come thousands of times before a tick.

        A change of the tree lets publishers come from the other side, and is no circle.
        """
        if self.turning.ring is not None:
            return
        self._has_crossed = True
        self.watch(is_watched=True)

    def has_signs_of_circle(self) -> bool:
        """Whether something came from two sides, or again, since this was last asked."""
        found, self._has_crossed = self._has_crossed, False
        return found or (self.watching is not None and self.watching.takes_repeated())

    # What a change of the tree asks for

    def choose_reader(self) -> None:
        """Let frames be read in the way that is needed, and no other."""
        turning = self.turning
        if turning.ring is not None or turning.deaf:
            self.receive = turning.read
        elif self.watching is not None:
            self.receive = self.watching.read
        else:
            self.receive = self._reader.read

    def ask_to_tell(self, path: tuple[str, ...], now: float) -> list[Effect]:
        """Have all edges tell that a change on a path needs to."""
        return self.edges.ask_to_tell(path, now)

    def is_stale(self, source: str, client: str) -> bool:
        """Whether what a source brings of a client is what the client's old broker had left."""
        if self.turning.ring is None:
            return self.fences.is_stale(source, client)
        return self.turning.is_stale(source, client)

    def reach(self, source: str) -> list[str]:
        """The neighbours to whom goes on what comes from a source and is for everybody."""
        names = super().reach(source)
        return names if self.turning.ring is None else self.turning.reach(source, names)

    def spread(self, source: str, message: Message, names: Iterable[str]) -> list[Effect]:
        """Send a message that comes from a source to some of those whom it can reach."""
        if self.turning.ring is None:
            return super().spread(source, message, names)
        return self.turning.spread(source, message, names)

    def note_move(self, source: str, message: ClientMoved | ClientsAt) -> None:
        """A neighbour says where clients are that have moved: note what that means for a change."""
        self.turning.note_move(source, message)

    def turn_ways(self, turned: Mapping[str, Fence]) -> None:
        """The publications of clients that moved come by another way from now on."""
        self.fences.homes.update(turned)
        if turned:
            self.moves.fences_changed()

    def tell_moves(self, name: str, clients: Collection[str]) -> list[Effect]:
        """Tell a neighbour where clients are of whose moves it could not hear."""
        return self.moves.tell_across(name, clients)

    def read_plainly(self, source: str, data: bytes, now: float) -> list[Effect]:
        """Take frames without regard to colours."""
        reader = self._reader if self.watching is None else self.watching
        return reader.read(source, data, now)

    def knows_change(self, change: str) -> bool:
        """Whether a change is one that this broker takes or took part in."""
        return change != "" and self.turning.knows(change)

    def said_since(self, name: str) -> None:
        """A neighbour has said something that does not belong to the change under way."""
        self.turning.said_since(name)

    def _roster(self, event: Roster, now: float) -> list[Effect]:
        """Agree with the driver about who is linked and connected."""
        effects: list[Effect] = []
        for missed in missed_events(self, event):
            effects += self._handlers[type(missed)](missed, now)
        for link in event.links:
            agree(self.neighbours[link.neighbour], link, self.config.routing)
        self.turning.freeze()
        if self.fences.mend(self.clients, self.neighbours.tree()):
            self.moves.fences_changed()
        effects += self.moves.repeat()
        gone = strangers(self)
        for name in gone:
            self.forget(name)
        return [*effects, *self.tell_all()] if gone else effects

    def _examine(self, event: Examine, now: float) -> list[Effect]:
        """Ask everything that a node asks: raises where a fault made that impossible."""
        check_roster(self)
        self._soonest()
        self.tree.places()
        for name in self.neighbours:
            self.tree.is_joined(name)
            self.owes_report(name)
        if not isinstance(self.tree.parent, str):
            raise TypeError(f"the parent is {self.tree.parent!r}")
        return []

    def _delay_measured(self, event: DelayMeasured, now: float) -> list[Effect]:
        """A delay matters to the times of the tree, and to the costs of links."""
        self.tree.delay_measured(event)
        return self.surroundings.delay_measured(event, now)

    def _tick(self, event: Tick, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for name, neighbour in list(self.neighbours.items()):
            neighbour.is_busy = name in event.busy
            neighbour.is_congested = name in event.congested
            if not neighbour.is_connected and not neighbour.is_away:  # a fault: neither follows
                effects += self._neighbour_away(NeighbourAway(name), now)
            elif neighbour.is_connected and not neighbour.in_tree:
                neighbour.is_away = False
        if event.skew is not None:
            self.skew = self._reader.skew = event.skew
        if event.load is not None:
            self.load = event.load
        self.surroundings.took(event.handling)
        effects += self._take_turns(now)
        effects += self._all(lambda machine: machine.tick(now))
        self._soonest()  # raises where a fault made that impossible
        shadow = self.audit.take_complete()
        return effects if shadow is None else effects + self._renew(shadow)

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


def _described(problem: Exception) -> str:
    """What was found, in one line."""
    cause = problem.__cause__ if isinstance(problem, RequestLostError) else problem
    return f"{type(cause).__name__}: {cause}"
