"""Counting what passes through a broker, for each of its neighbours from when on it holds.

What was counted where notifications are read is taken from there every so often, and whenever links
change: names mean something else then. After a swap the counts go on (A1 of the specification): in
the middle the mover is behind the broker that it hangs on now, at the mover that broker takes the
place of the middle, and at that broker the traffic of both others begins anew. After any other
change it does for all that took part in it.
"""

from __future__ import annotations

from typing import Final

from sapwood.protocol.core import Core
from sapwood.protocol.due import past
from sapwood.protocol.effects import Effect
from sapwood.protocol.machine import Machine
from sapwood.protocol.optimize.gain import LOCAL, Concerned
from sapwood.protocol.optimize.records import Backoff, Promise, Proposal, Watched
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.protocol.optimize.surroundings import Surroundings
from sapwood.protocol.optimize.traffic import Traffic
from sapwood.protocol.tally import UNTOLD, Tally

READER: Final = "swaps"
"""Under which name counts are taken."""

WATCHED_MAX: Final = 64
"""Swaps onto a broker whose gain it finds out at a time."""


class Counting(Machine):
    """The traffic of one broker, and the changes that it has to follow."""

    def __init__(self, core: Core, surroundings: Surroundings) -> None:
        super().__init__(core)
        self.traffic = Traffic()
        self.since: dict[str, float] = {}
        """By neighbour in the tree: from when on its counts hold."""
        self.collected_at = float("-inf")
        self.proposal: Proposal | None = None
        """The swap of which this broker is the middle, if there is one."""
        self.promise: Promise | None = None
        """The swap that it has agreed to, if there is one."""
        self.watched: list[Watched] = []
        """Swaps onto this broker whose gain is to be found out."""
        self.backoffs: dict[tuple[str, str], Backoff] = {}
        """By mover and the one it would hang on: swaps that were refused."""
        self._surroundings = surroundings

    @property
    def settings(self) -> OptimizationSettings:
        """What the operator said."""
        return self.core.config.optimization

    def _collect(self, now: float) -> None:
        """Take what was counted where notifications are read, in terms of neighbours."""
        tally = self.core.tally
        if not isinstance(tally, Tally) or READER not in tally.left:
            tally = self.core.tally = self.core.new_tally()  # counted when an audit has wired it
        if tally is None:
            return
        self.collected_at = now
        counts: dict[Concerned, tuple[int, int]] = {}
        lost = total = 0
        for source, cells in tally.take(READER).items():
            own = self._named(source)
            for destinations, (number, size) in cells.items():
                total += number
                if destinations == UNTOLD:
                    lost += number
                    continue
                concerned = self._concerned(own, destinations)
                before = counts.get(concerned, (0, 0))
                counts[concerned] = (before[0] + number, before[1] + size)
        self.traffic.fold(counts, now)
        self.traffic.buckets[-1].lost += lost
        self._surroundings.handled(total, now)

    def _named(self, name: str) -> str:
        return name if name in self.since or name in self.core.neighbours else LOCAL

    def _concerned(self, own: str, destinations: tuple[str, ...]) -> Concerned:
        """Whom a notification concerns.

        One that goes nowhere was sent here all the same: it concerns this broker, as everything
        does where a neighbour is sent everything.
        """
        members = {own, *map(self._named, destinations)}
        if len(members) == 1:
            members.add(LOCAL)
        return tuple(sorted(members))

    def _mend(self, now: float) -> None:
        """Count for the neighbours there are, and no others: a fault may have forgotten some."""
        self.since = {
            name: past(self.since.get(name, now), now) for name in self.core.neighbours.tree()
        }

    def _begin_anew(self, names: list[str], now: float) -> None:
        """The traffic of these neighbours is another one from now on."""
        self._collect(now)
        self.traffic.turn(now, self.settings.window_max_seconds, at_once=True)
        for name in names:
            self.since[name] = now

    # Links

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is in the tree, perhaps because of a swap."""
        if not self.settings.is_on:
            return []
        promise = self.promise
        self._forget_backoffs(neighbour)
        if promise is not None and not promise.is_done:
            proposed = promise.proposed
            if proposed.mover == self.core.id and proposed.onto == neighbour:
                self._collect(now)
                self.since[neighbour] = past(promise.since, now)
                promise.is_done = True
                return []
            if proposed.onto == self.core.id and proposed.mover == neighbour:
                self._begin_anew([neighbour, promise.middle], now)
                watched = Watched(proposed, promise.middle, now)
                self.watched = [*self.watched, watched][-WATCHED_MAX:]
                promise.is_done = True
                return []
        self._begin_anew([neighbour], now)
        return []

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is not in the tree any more, perhaps because of a swap."""
        if not self.settings.is_on:
            return []
        self._collect(now)
        since = self.since.pop(neighbour, now)
        self._forget_backoffs(neighbour)
        proposal, promise = self.proposal, self.promise
        if proposal is not None and proposal.is_begun and proposal.decision.mover == neighbour:
            onto = proposal.decision.onto
            self.traffic.swapped(neighbour, onto)
            self.since[onto] = max(since, self.since.get(onto, now))
        elif promise is not None and not promise.is_done and promise.middle == neighbour:
            if promise.proposed.mover == self.core.id:
                self.traffic.renamed(neighbour, promise.proposed.onto)
                promise.since = since
        else:
            self._begin_anew(list(self.since), now)
        return []

    def link_thawed(self, neighbour: str, now: float) -> list[Effect]:
        """A change of the tree has ended here: unless it was a swap of ours, count anew."""
        is_ours = self.proposal is not None or self.promise is not None
        if self.settings.is_on and not is_ours and neighbour in self.since:
            self._begin_anew([neighbour], now)
        return []

    def _forget_backoffs(self, name: str) -> None:
        self.backoffs = {pair: one for pair, one in self.backoffs.items() if name not in pair}

    # Looking

    @property
    def cost(self) -> float:
        """What this broker's share of the traffic costs per second: half of each of its links.

        Summed over all brokers that is the cost of the network (Eq. 5.3).
        """
        now = self.collected_at
        window = self.traffic.window(float("-inf"), now, self.settings.window_max_seconds)
        if window is None or window.seconds <= 0:
            return 0.0
        total = 0.0
        for concerned, number in window.sets.items():
            links = (self._surroundings.costs.link(name) for name in concerned if name != LOCAL)
            total += number * self._surroundings.processing
            total += number * sum(cost for cost in links if cost is not None) / 2
        return total / window.seconds
