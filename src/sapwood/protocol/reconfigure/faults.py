"""What happens to a change of the tree when something goes wrong, or takes too long.

Only the decider may undo a change that others may have completed; everybody else waits for it, asks
round the ring after twice the time, and leaves the change alone after three times. Then the tree is
the old one or the new one, without those that are gone. A broker that hears that the change was
completed completes it as well; but the flush that proves the order has not come, so it is *deaf* to
the notifications of the neighbour below until it does.
"""

from __future__ import annotations

from abc import abstractmethod

from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import CloseLink, Effect, Send
from sapwood.protocol.reconfigure import directions
from sapwood.protocol.reconfigure.colouring import count_notifications, held_reports
from sapwood.protocol.reconfigure.holding import Holding
from sapwood.protocol.reconfigure.messages import COMPLETED, UNDONE, Ask, Done, Undo
from sapwood.protocol.reconfigure.state import Ring
from sapwood.protocol.reconfigure.tables import restore


class Undoing(Holding):
    """Undoes, asks, and leaves alone."""

    @abstractmethod
    def _complete(self, ring: Ring, now: float) -> list[Effect]:
        """The new tree holds."""

    @abstractmethod
    def _pass_flush(self, ring: Ring, now: float) -> list[Effect]:
        """Nothing black comes from below any more: complete the change, and say so above."""

    @abstractmethod
    def _commit(self, ring: Ring, now: float) -> list[Effect]:
        """Both ends of the old link have turned: the new tree holds."""

    def undo(self, reason: str, now: float, source: str = "") -> list[Effect]:
        """Go back to the old tree, and pass it on round the ring, away from where it came."""
        ring = self.ring
        if ring is None:
            return []
        core = self.core
        effects: list[Effect] = [
            self._say(name, Undo(ring.change, reason))
            for name in ring.sides
            if name != source and name in core.neighbours
        ]
        restore(core, ring)
        lost = sum(map(count_notifications, ring.held))
        reports = held_reports(ring.held)
        effects += self._leave(ring, UNDONE, reason, now)
        if ring.new:
            core.forwarding.close(ring.new)
        directions.restore(core, ring)
        if ring.is_bottom and not ring.is_decider:
            self.stayed[ring.change] = ring.old
        effects += core.tell_all()
        effects += self._thaw(ring, now)
        if ring.old and core.neighbours.is_in_tree(ring.old):
            effects += self._hub.tell_moves(ring.old, ring.arrived)
        if lost:
            effects += self._give_up(ring.new, lost)
        for report in reports:
            effects += self._gaps.missed(ring.new, report, now)
        effects += self._rooting.wake(now)
        return [*effects, *self._tell_initiator(ring, UNDONE, reason, now)]

    def _undone(self, source: str, message: Undo, now: float) -> list[Effect]:
        self._hear_of(source, message.change)
        ring = self.ring
        if ring is not None and ring.change == message.change:
            return self.undo(message.reason, now, source)
        if message.change not in self.finished:
            self._finish(message.change, UNDONE)
            return []
        return self._late(source, message.change, now, is_undone_there=True)

    def _late(
        self, source: str, change: str, now: float, *, is_undone_there: bool = False
    ) -> list[Effect]:
        """A change has ended in one way here, and in the other way for a neighbour."""
        outcome = self.finished.get(change)
        if outcome == COMPLETED and is_undone_there:
            link = self.joined.get(change)
        elif outcome == UNDONE and not is_undone_there:
            link = self.stayed.get(change)
        else:
            return self.core.drops.count(Drop.OTHER_CHANGE, source)
        if not self.core.neighbours.is_in_tree(source):
            return []
        if link == source:  # a link left by one end is left by both
            return [CloseLink(source, f"{change} has not ended in the same way there")]
        return self._hub.compare(source, now)

    def ask(self, now: float) -> list[Effect]:
        """A change takes too long: somebody on the ring knows how it ended."""
        ring = self.ring
        if ring is None or ring.has_asked:
            return []
        ring.has_asked = True
        return [
            self._say(name, Ask(ring.change)) for name in ring.sides if name in self.core.neighbours
        ]

    def _asked(self, source: str, message: Ask, now: float) -> list[Effect]:
        ring = self.ring
        if ring is not None and ring.change == message.change:
            other = ring.down if source == ring.up else ring.up
            if ring.has_asked or other not in self.core.neighbours:
                return []
            return [self._say(other, message)]
        if self.finished.get(message.change) == COMPLETED:
            return [Send(source, Done(message.change))]
        self._finish(message.change, UNDONE)
        return [Send(source, Undo(message.change, "it was not completed"))]

    def _done(self, source: str, message: Done, now: float) -> list[Effect]:
        ring = self.ring
        if ring is None or ring.change != message.change:
            return self._late(source, message.change, now)
        if not ring.is_gray or ring.is_decider:
            return self.core.drops.count(Drop.OTHER_CHANGE, source)
        other = ring.down if source == ring.up else ring.up
        effects: list[Effect] = []
        if other in self.core.neighbours:
            effects.append(self._say(other, message))
        if ring.down in self.core.neighbours:
            self.deaf[ring.down] = (ring.change, now)
        return [*effects, *self._complete(ring, now)]

    # Links

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour on the ring is gone for good: nothing black comes from there any more.

        Only the decider may take that for the end of the old tree, and those above it if it is
        itself gone: as long as it is there it may undo the change.
        """
        ring = self.ring
        if ring is None or neighbour not in ring.sides:
            return []
        ring.drafts.pop(neighbour, None)
        may_decide = ring.is_decider or neighbour == ring.decider
        if neighbour == ring.down and may_decide and not ring.is_flushed:
            ring.is_flushed = True
            if ring.is_gray:
                return self._commit(ring, now) if ring.is_decider else self._pass_flush(ring, now)
        return []

    def link_restarted(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour on the ring has forgotten the change: it is gone, as far as that goes."""
        effects = self.link_down(neighbour, now)
        self.freeze()
        return effects

    def neighbour_gone(self, neighbour: str, now: float) -> list[Effect]:
        """Without the new link nobody can turn."""
        self.deaf.pop(neighbour, None)
        self.parts.pop(neighbour, None)
        ring = self.ring
        if ring is None or neighbour != ring.new:
            return []
        ring.drafts.pop(neighbour, None)
        self.core.forwarding.close(neighbour)
        self.core.forget(neighbour)
        if ring.is_initiator and not ring.is_gray:
            return self.undo(f"the link to {neighbour} was lost", now, neighbour)
        return self.core.tell_all()

    # Time

    @property
    def next_at(self) -> float | None:
        """When a change has taken too long, for this broker."""
        ring = self.ring
        if ring is None:
            return None
        if ring.is_decider:
            return ring.since + self.seconds
        return ring.since + (3 if ring.has_asked else 2) * self.seconds

    def tick(self, now: float) -> list[Effect]:
        """Undo, ask, or leave alone a change that takes too long."""
        ring = self.ring
        self.freeze()
        self._hear_in_time(now)
        self._hub.choose_reader()
        if ring is None:
            self._rooting.unlock()
            return []
        self._rooting.lock_again(ring)
        if not ring.since <= now:
            ring.since = now
        age = now - ring.since
        if not self._is_possible(ring):
            return self.undo("it makes no sense", now)
        if (ring.is_decider and age >= self.seconds) or age >= 3 * self.seconds:
            return self.undo(f"it took longer than {age:.1f} s", now)
        return self.ask(now) if age >= 2 * self.seconds and not ring.is_decider else []
