"""What swaps have gained, as measured afterwards, and whom that speaks against.

The broker that a neighbour was moved onto can tell exactly: what it would lose by undoing the swap
is what the swap has gained, by the same formula, with costs that are measured on the link in use.
A broker onto which swaps keep gaining less than half of what was predicted errs or lies about its
costs, and is left out for a while.
"""

from __future__ import annotations

from collections import Counter
from math import isfinite
from typing import Final

from sapwood.protocol.core import Core
from sapwood.protocol.due import past
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.optimize.considering import COUNT_MIN
from sapwood.protocol.optimize.costs import is_cost
from sapwood.protocol.optimize.counting import Counting
from sapwood.protocol.optimize.decision import Decision
from sapwood.protocol.optimize.gain import SwapCosts
from sapwood.protocol.optimize.messages import SwapDone
from sapwood.protocol.optimize.records import Watched
from sapwood.protocol.optimize.surroundings import Surroundings
from sapwood.protocol.optimize.weighing import tabulate, weigh

STRIKES: Final = 3
"""How often in a row a swap onto a broker may gain less than half of what was predicted."""

LEFT_OUT_SECONDS: Final = 3600.0
"""How long nothing is moved onto a broker after that."""

LEFT_OUT_MAX: Final = 256


class Aftermath(Counting):
    """The gains of swaps that were made."""

    def __init__(self, core: Core, surroundings: Surroundings) -> None:
        super().__init__(core, surroundings)
        self.decisions: list[Decision] = []
        """The last ones, the oldest first."""
        self.strikes: dict[str, int] = {}
        """By broker: swaps onto it, in a row, that gained too little."""
        self.left_out: dict[str, float] = {}
        """Until when nothing is moved onto a broker."""
        self.gain_predicted = 0.0
        self.gain_seen = 0.0
        """Of all swaps together."""
        self.counts: Counter[str] = Counter()
        """Swaps by outcome, and refusals by reason."""

    def _report_gains(self, now: float) -> list[Effect]:
        """Tell the middle of swaps onto this broker what they have gained."""
        settings = self.settings
        effects: list[Effect] = []
        kept: list[Watched] = []
        for watched in self.watched:
            if not self._is_watchable(watched):
                continue
            names = (watched.middle, watched.proposed.mover)
            since = max(watched.since, *(self.since[name] for name in names))
            is_early = now - since < settings.window_min_seconds + settings.period_seconds
            done = None if is_early else self._measured_gain(watched, since, now)
            if done is not None:
                effects.append(Send(watched.middle, done))
            elif now - past(watched.since, now) < settings.window_max_seconds:
                kept.append(watched)
        self.watched = kept
        return effects

    def _is_watchable(self, watched: Watched) -> bool:
        names = (watched.middle, watched.proposed.mover)
        return all(name in self.since and self._surroundings.takes_part(name) for name in names)

    def _measured_gain(self, watched: Watched, since: float, now: float) -> SwapDone | None:
        """What it would lose to undo the swap: that is what it has gained, by formula (1)."""
        proposed, settings = watched.proposed, self.settings
        window = self.traffic.window(since, now, settings.window_max_seconds)
        told = self._surroundings.known(watched.middle, now)
        mover = self._surroundings.known(proposed.mover, now)
        if window is None or told is None or mover is None:
            return None
        new = self._surroundings.link_cost(proposed.mover, mover.zone)
        kept = self._surroundings.link_cost(watched.middle, told.zone)
        if new is None or kept is None or not is_cost(proposed.cost_old, settings.cost_max):
            return None
        costs = SwapCosts(
            new, proposed.cost_old, kept, self._surroundings.processing, told.processing_cost
        )
        tables = [tabulate(seconds, bucket.sets) for seconds, bucket in window.parts()]
        weighed = weigh(tables, proposed.mover, watched.middle, costs)
        if weighed.counted < COUNT_MIN:
            return None
        return SwapDone(proposed.change, -weighed.gain, new)

    def _done(self, source: str, message: SwapDone, now: float) -> list[Effect]:
        """What a swap has gained; one that keeps promising too much is left alone for a while."""
        if not isfinite(message.gain) or abs(message.gain) > self.settings.cost_max:
            self._surroundings.counts["ignored"] += 1
            return []
        for decision in self.decisions:
            is_meant = decision.onto == source and decision.change == message.change
            if is_meant and decision.gain_seen is None and decision.outcome == "completed":
                decision.gain_seen = message.gain
                self._surroundings.in_use(decision.mover, source, message.link_cost, now)
                self.gain_seen += message.gain
                if message.gain >= decision.gain / 2 or decision.gain <= 0:
                    self.strikes.pop(source, None)
                else:
                    self._strike(source, now)
        return []

    def _strike(self, name: str, now: float) -> None:
        self.strikes[name] = self.strikes.get(name, 0) + 1
        if self.strikes[name] >= STRIKES:
            del self.strikes[name]
            self.left_out[name] = now + LEFT_OUT_SECONDS
            self.counts["left out"] += 1
        while len(self.strikes) > LEFT_OUT_MAX:
            del self.strikes[next(iter(self.strikes))]
        while len(self.left_out) > LEFT_OUT_MAX:
            del self.left_out[next(iter(self.left_out))]
