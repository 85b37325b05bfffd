"""Turning waves: one link of the tree is exchanged for another while everything goes on.

A wave of locks goes from the initiator ``b1`` along the path, and brings back, from the old link
up to the new one, what everybody owes in the new tree. When the two ends of the new link know each
other's tables, ``b1`` turns to the new tree and a wave of turns goes down both sides. At the old
link each end sends a flush behind the last that crosses it; the decider ``bk`` completes the change
when it has turned and the other end's flush is there. Flushes go up, behind all black that will
ever come from below, and complete the change wherever they come. What comes over the new link
waits until then. So at every broker all that crossed the old link is before all that crosses the
new one: nothing is lost or repeated, and the order is causal.

``b1`` begins (``requests``), ``bk`` decides, and there is no message that unlocks: each broker
knows by itself when it is done. What happens when something goes wrong is in ``faults``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec

from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import CloseLink, Effect, Send, Withhold
from sapwood.protocol.machine import MessageHandler
from sapwood.protocol.messages import Advertise, Message, Subscribe, Unadvertise, Unsubscribe
from sapwood.protocol.reconfigure import directions, ways
from sapwood.protocol.reconfigure.faults import Undoing
from sapwood.protocol.reconfigure.fitness import MIXED, misfit
from sapwood.protocol.reconfigure.messages import (
    COMPLETED,
    Accept,
    Ask,
    Collect,
    Done,
    EdgeTables,
    Flush,
    Lock,
    Offer,
    Paint,
    TablePart,
    Turn,
    Undo,
)
from sapwood.protocol.reconfigure.parts import PARTS_MAX, divided, joined
from sapwood.protocol.reconfigure.state import Ring
from sapwood.protocol.reconfigure.tables import install, retell, settle, tables_for

OVER_CANDIDATES: Final = (TablePart, Offer, Accept, Undo, Ask, Done)
"""Messages that are taken over a link outside the tree."""

TableMessage: TypeAlias = Lock | Collect | Offer | Accept | Turn
"""Messages that bring tables."""


class Turning(Undoing):
    """The part of one broker in a change; nothing while there is none."""

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """The waves."""
        return {
            TablePart: self._parted,
            Lock: self._locked,
            Collect: partial(self._in_ring, self._collected),
            Offer: partial(self._in_ring, self._offered),
            Accept: partial(self._in_ring, self._accepted),
            Turn: partial(self._in_ring, self._turned),
            Paint: partial(self._in_ring, self._painted),
            Flush: self._flushed,
            Undo: self._undone,
            Ask: self._asked,
            Done: self._done,
            Subscribe: self._told,
            Unsubscribe: self._told,
            Advertise: self._told,
            Unadvertise: self._told,
        }

    def _told(self, source: str, message: Message, now: float) -> list[Effect]:
        """Nobody on the ring tells differences between its table and the end of the change."""
        ring = self.ring
        if ring is not None and source in ring.tabled:
            ring.intruders[source] = None
        return []

    def _in_ring(
        self,
        handle: Callable[[Ring, str, Any, float], list[Effect]],
        source: str,
        message: Any,
        now: float,
    ) -> list[Effect]:
        """Take a message of the change under way only, from a neighbour on its ring."""
        ring = self.ring
        if ring is None or ring.change != message.change or source not in ring.sides:
            return self.core.drops.count(Drop.OTHER_CHANGE, source)
        ring.heard[source] = None
        return handle(ring, source, message, now)

    # Locking

    def refusal(self, change: str, path: tuple[str, ...], k: int) -> str:
        """Why a change cannot begin here now; empty if it can."""
        return self._refusal(change, path, k, "", None)

    def make_way(self, path: tuple[str, ...], refusal: str, now: float) -> list[Effect]:
        """Have edges switched that are in the way of a change, so that it can be tried again."""
        return self._hub.ask_to_tell(path, now) if refusal == MIXED else []

    def start(self, change: str, path: tuple[str, ...], k: int, now: float) -> list[Effect]:
        """Begin a change, as the first of its path."""
        return self._lock(Ring(change, path, k, 0, now), now)

    def _refusal(
        self, change: str, path: tuple[str, ...], k: int, source: str, lock: Lock | None
    ) -> str:
        if self.ring is not None:
            return "busy with another change"
        if change in self.finished:
            return "the change has ended"
        if self._restoration.is_active:
            return "restoring its tables"
        return misfit(self.core, path, k, source) or self._rooting.misfit(path, k, source, lock)

    def _locked(self, source: str, message: Lock, now: float) -> list[Effect]:
        """The wave of locks is here: take part, or refuse."""
        core = self.core
        refusal = self._refusal(message.change, message.path, message.k, source, message)
        if refusal:
            self.parts.pop(source, None)
            undo = Send(source, Undo(message.change, f"{core.id}: {refusal}"))
            return [undo, *self.make_way(message.path, refusal, now)]
        place = message.path.index(core.id)
        ring = Ring(message.change, message.path, message.k, place, now, message.is_root_left)
        ring.heard[source] = None
        return self._lock(ring, now, message)

    def _lock(self, ring: Ring, now: float, lock: Lock | None = None) -> list[Effect]:
        self.ring = ring
        for name in ring.sides:
            self.core.neighbours[name].is_frozen = True
        if ring.is_bottom:
            ring.crossed = dict.fromkeys(self.core.fences.places_from(ring.old))
        elif lock is not None:
            ring.crossed = dict.fromkeys(lock.moved)
        self._rooting.lock(ring)
        self._hub.choose_reader()
        if not ring.is_left:
            effects: list[Effect] = []
            if lock is not None and lock.tables is not None:
                effects += self._install(ring, ring.down, lock.tables)
            return [*effects, *self._collect(ring, now)]
        effects = self._bring(ring.down, self._next_lock(ring))
        return [*effects, *self._collect(ring, now)] if ring.is_bottom else effects

    def _next_lock(self, ring: Ring) -> Lock:
        tables = None if ring.is_left else tables_for(self.core, ring, ring.up)
        return Lock(
            ring.change,
            ring.path,
            ring.k,
            self._rooting.root,
            self._rooting.way,
            ring.is_root_left,
            tables,
            () if ring.is_left else tuple(ring.crossed),
        )

    # Collecting

    def _collected(self, ring: Ring, source: str, message: Collect, now: float) -> list[Effect]:
        ring.is_root_left = message.is_root_left
        ring.crossed |= dict.fromkeys(message.moved)
        effects = self._install(ring, source, message.tables)
        return [*effects, *self._collect(ring, now)]

    def _bring(self, neighbour: str, message: TableMessage) -> list[Effect]:
        """Send a message with tables, behind parts of them if they are too large for a frame."""
        if message.tables is None:
            return [self._say(neighbour, message)]
        *parts, last = divided(message.tables)
        sent = [self._say(neighbour, TablePart(message.change, one)) for one in parts]
        return [*sent, self._say(neighbour, msgspec.structs.replace(message, tables=last))]

    def _parted(self, source: str, message: TablePart, now: float) -> list[Effect]:
        """Keep a part of tables until the message is here that they belong to."""
        kept = self.parts.get(source, [])
        if kept and kept[0].change != message.change:
            kept = []
        if len(kept) >= PARTS_MAX:
            return self.core.drops.count(Drop.MALFORMED, source)
        self.parts[source] = [*kept, message]
        return []

    def _install(self, ring: Ring, neighbour: str, tables: EdgeTables) -> list[Effect]:
        ring.tabled[neighbour] = None
        kept = self.parts.pop(neighbour, [])
        if kept and kept[0].change == ring.change:
            tables = joined([*(one.tables for one in kept), tables])
        return install(self.core, ring, neighbour, tables)

    def _collect(self, ring: Ring, now: float) -> list[Effect]:
        """The gray table from below is known: pass on what follows for above."""
        ring.is_collected = True
        if ring.up not in self.core.neighbours:
            return []  # who is gone is waited for in vain: the deadline ends it
        if ring.is_initiator:
            return self._go(ring, now)
        if ring.is_top:
            offer = Offer(
                ring.change, tables_for(self.core, ring, ring.up), self._rooting.told(ring, now)
            )
            return self._bring(ring.up, offer)
        if ring.is_left:
            tables = tables_for(self.core, ring, ring.up)
            moved = tuple(ring.crossed)
            return self._bring(ring.up, Collect(ring.change, tables, ring.is_root_left, moved))
        return self._bring(ring.up, self._next_lock(ring))

    # Turning

    def _offered(self, ring: Ring, source: str, message: Offer, now: float) -> list[Effect]:
        if not ring.is_initiator or ring.is_gray:
            return self.core.drops.count(Drop.OTHER_CHANGE, source)
        ring.offer = message
        return [*self._close(ring), *self._go(ring, now)]

    def _close(self, ring: Ring) -> list[Effect]:
        """Let what comes over the new link wait from now on."""
        ring.is_closed = True
        return [Withhold(ring.new, is_withheld=True)]

    def _go(self, ring: Ring, now: float) -> list[Effect]:
        """Turn, if everything below is collected and the other side has offered its table."""
        if ring.offer is None or not ring.is_collected:
            return []
        tables = tables_for(self.core, ring, ring.up)
        self._rooting.take(ring, ring.offer.way, now)
        accept = Accept(ring.change, tables, self._rooting.told(ring, now))
        effects = self._open(ring, ring.offer)
        told = [*self._bring(ring.up, accept), *ways.marks(self.core, ring)]
        return [*effects, *told, *self._turn(ring, now)]

    def _accepted(self, ring: Ring, source: str, message: Accept, now: float) -> list[Effect]:
        if ring.is_gray or source != ring.new:
            return self.core.drops.count(Drop.OTHER_CHANGE, source)
        self._rooting.take(ring, message.way, now)
        effects = [*self._close(ring), *self._open(ring, message)]
        return [*effects, *ways.marks(self.core, ring), *self._turn(ring, now)]

    def _open(self, ring: Ring, message: Offer | Accept) -> list[Effect]:
        """What wants the other end of the new link gets gray notifications from now on."""
        everything = directions.gets_everything(self.core, ring, ring.new)
        self.core.forwarding.open(ring.new, everything=everything)
        return self._install(ring, ring.new, message.tables)

    def _turned(self, ring: Ring, source: str, message: Turn, now: float) -> list[Effect]:
        if ring.is_gray or source != ring.up:
            return self.core.drops.count(Drop.OTHER_CHANGE, source)
        self._rooting.take(ring, message.way, now)
        effects = self._install(ring, source, message.tables)
        return [*effects, *self._turn(ring, now)]

    def _turn(self, ring: Ring, now: float) -> list[Effect]:
        ring.is_gray = True
        directions.begin(self.core, ring)
        self._forget_publishers()
        if ring.is_flushed and not ring.is_decider:
            return self._pass_flush(ring, now)
        if not ring.is_bottom:
            tables = tables_for(self.core, ring, ring.down)
            return self._bring(ring.down, Turn(ring.change, tables, self._rooting.told(ring, now)))
        if not ring.is_decider:
            return [self._say(ring.down, Flush(ring.change))]
        return self._commit(ring, now) if ring.is_flushed else []

    # Completing

    def _painted(self, ring: Ring, source: str, message: Paint, now: float) -> list[Effect]:
        if source == ring.down and ring.is_stream_gray is not message.is_gray:
            ring.is_stream_gray = message.is_gray
            self._forget_publishers()
        return []

    def _forget_publishers(self) -> None:
        """Which clients a neighbour may bring depends on the colour, for those that moved."""
        if self.core.fences:
            self.core.forwarding.forget_publishers()

    def _flushed(self, source: str, message: Flush, now: float) -> list[Effect]:
        self._hear_of(source, message.change)
        ring = self.ring
        if ring is None or ring.change != message.change or source != ring.down:
            return self._late(source, message.change, now)
        ring.heard[source] = None
        ring.is_flushed = True
        if ring.is_decider:
            return self._commit(ring, now) if ring.is_gray else []
        return self._pass_flush(ring, now)

    def _commit(self, ring: Ring, now: float) -> list[Effect]:
        """Both ends of the old link have turned: the new tree holds."""
        return [*self._flush(ring, ring.down), *self._pass_flush(ring, now)]

    def _pass_flush(self, ring: Ring, now: float) -> list[Effect]:
        flush = [] if ring.is_top else self._flush(ring, ring.up)
        return [*flush, *self._complete(ring, now)]

    def _flush(self, ring: Ring, neighbour: str) -> list[Effect]:
        """Say behind everything else that nothing black follows; whoever is gone need not know."""
        if neighbour not in self.core.neighbours:
            return []
        return [self._say(neighbour, Flush(ring.change))]

    def _complete(self, ring: Ring, now: float) -> list[Effect]:
        """Everything in one event: the tables, the links, and who is the parent."""
        core = self.core
        settle(core, ring)
        self._hub.turn_ways(ways.turned(core, ring))
        effects = [*ways.assurances(core, ring), *self._leave(ring, COMPLETED, "", now)]
        self._rooting.complete(ring, now)
        directions.settle(core, ring)
        if ring.is_bottom and core.neighbours.is_in_tree(ring.old):
            effects += self._hub.stand_aside(ring.old, now)
        if ring.is_top and ring.new in core.neighbours:
            self.joined[ring.change] = ring.new
            effects += self._hub.exchange_link(ring.new, now)
            if not core.neighbours[ring.new].is_connected:
                effects += self._hub.keep_link(ring.new, now)
        retell(core, ring)
        effects += self._thaw(ring, now)
        effects += self._rooting.wake(now)
        if ring.is_bottom and not ring.is_decider and ring.old in core.neighbours:
            effects.append(CloseLink(ring.old, f"{ring.change} has exchanged it"))
        for data in ring.held:
            effects += self._hub.read_plainly(ring.new, data, now)
        return [*effects, *self._tell_initiator(ring, COMPLETED, "", now)]
