"""Swaps: the broker in the middle counts, decides, asks both others, and lets the exchange begin.

Each broker is the middle of its own neighbours. Every period it weighs all swaps of one neighbour
onto another (``considering``) and proposes the best one that pays; both others agree, or say why
not. The exchange itself is one with three brokers (``reconfigure``), begun by the one that gets the
new link. After it the counts go on: in the middle and at the mover they are exact when names are
replaced; at the third one they begin anew. That one says later what the swap has gained.

A broker takes part in one swap at a time: swaps whose brokers differ add up exactly, so that is
enough. Whatever is agreed ends at a time, so that nobody waits for ever for one that is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Final
from zlib import crc32

import msgspec

from sapwood.protocol.core import Core
from sapwood.protocol.due import is_due, past
from sapwood.protocol.effects import Effect, Record, Send
from sapwood.protocol.machine import MessageHandler
from sapwood.protocol.optimize.aftermath import LEFT_OUT_SECONDS, Aftermath
from sapwood.protocol.optimize.considering import Part, Seen, View, consider, judge
from sapwood.protocol.optimize.costs import is_cost
from sapwood.protocol.optimize.decision import DECISIONS_MAX, Decision, DecisionOutcome, is_sound
from sapwood.protocol.optimize.messages import (
    Neighbourhood,
    Refusal,
    SwapAnswer,
    SwapCancelled,
    SwapDone,
    SwapPropose,
)
from sapwood.protocol.optimize.records import Backoff, Promise, Proposal
from sapwood.protocol.optimize.surroundings import Surroundings
from sapwood.protocol.optimize.traffic import LOST_SHARE_MAX
from sapwood.protocol.optimize.weighing import tabulate
from sapwood.protocol.reconfigure.messages import COMPLETED, BeginChange, ChangeEnded
from sapwood.protocol.reconfigure.requests import Changing
from sapwood.protocol.reconfigure.turning import Turning
from sapwood.protocol.restoration import Restoration

ANSWER_SECONDS: Final = 5.0
"""How long both others may take to agree."""

SWAP_SECONDS: Final = 60.0
"""How long a swap that was agreed to may take, attempts to begin it included."""

REQUESTS: Final = 1_000_000
"""Numbers of requests for exchanges begin below this one: those of clients' plans are above."""

BACKOFF_FIRST: Final = 2
BACKOFF_LAST: Final = 64
"""Periods for which a swap that was refused is not proposed again: the first time, and at most."""

BUSY_PERIODS: Final = 0.5
"""The same where a broker takes part in another change, or has made room: that is soon over."""

BUSY: Final = ("locked", "rate")
"""Refusals that say nothing of the swap itself."""

BACKOFFS_MAX: Final = 256


class Swapping(Aftermath):
    """The swaps of one broker."""

    name = "swapping"

    def __init__(
        self,
        core: Core,
        surroundings: Surroundings,
        changing: Changing,
        turning: Turning,
        restoration: Restoration,
    ) -> None:
        super().__init__(core, surroundings)
        self.considered: Decision | None = None
        """The best swap that was thought of last."""
        self.decide_at = float("-inf")
        self.left = 0
        """Swaps that may still follow in this round."""
        self.count = 0
        """Proposals so far."""
        self.rounds = 0
        self.tokens = float(core.config.optimization.changes_burst)
        """Changes that this broker may take part in now."""
        self.tokens_at = float("-inf")
        self._changing = changing
        self._turning = turning
        self._restoration = restoration
        changing.askers.append(self)

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """Asking and agreeing."""
        return {
            SwapPropose: self._proposed,
            SwapAnswer: self._answered,
            SwapCancelled: self._cancelled,
            SwapDone: self._done,
            Neighbourhood: self._told_of_room,
        }

    # Time

    @property
    def next_at(self) -> float | None:
        """When the next decision is due, or somebody has waited for too long."""
        if not self.settings.is_on:
            return None
        times = [self.decide_at]
        if self.proposal is not None:
            times.append(self.proposal.until)
        if self.promise is not None:
            times.append(self.promise.until)
        return min(times)

    def tick(self, now: float) -> list[Effect]:
        """Count, wait for nobody for ever, and decide every period."""
        if not self.settings.is_on:
            return []
        effects = self._expire(now)
        period = self.settings.period_seconds
        if is_due(self.decide_at, now, 2 * period):
            is_first = self.decide_at == float("-inf")
            self.decide_at = now + period * self._jitter()
            self._collect(now)
            self.traffic.turn(now, self.settings.window_max_seconds)
            self._mend(now)
            self.decisions = [one for one in self.decisions if is_sound(one)][-DECISIONS_MAX:]
            self.left = self.settings.per_round
            effects += self._report_gains(now)
            if not is_first:
                effects += self._decide(now)
        return effects

    def _jitter(self) -> float:
        """About one, and not the same everywhere: brokers are not to decide at the same time."""
        self.rounds += 1
        drawn = crc32(f"{self.core.id}.{self.core.config.session}/{self.rounds}".encode())
        return 0.8 + 0.4 * drawn / 2**32

    def _expire(self, now: float) -> list[Effect]:
        """End what has taken too long: somebody is gone, or a message is."""
        effects: list[Effect] = []
        promise, proposal = self.promise, self.proposal
        if promise is not None and (promise.is_done or is_due(promise.until, now, SWAP_SECONDS)):
            self.promise = None
        if proposal is not None and is_due(proposal.until, now, SWAP_SECONDS):
            is_made = not self.core.neighbours.is_in_tree(proposal.decision.mover)
            outcome: DecisionOutcome = "completed" if is_made else "undone"
            effects += self._close(outcome, "nobody said in time how it ended", now)
        return effects

    @property
    def is_locked(self) -> bool:
        """Whether this broker takes part in a change already."""
        return self.proposal is not None or self._is_taken

    @property
    def _is_taken(self) -> bool:
        """Whether it takes part in a change that is not its own."""
        if self.promise is not None and self.promise.is_done:
            self.promise = None
        return (
            self.promise is not None
            or self._turning.ring is not None
            or self._restoration.is_active
        )

    def _take_token(self, now: float) -> bool:
        """Whether this broker may take part in another change now."""
        settings = self.settings
        burst = float(settings.changes_burst)
        since = past(self.tokens_at, now)
        gained = (now - since) * settings.changes_per_minute / 60
        tokens = self.tokens if 0 <= self.tokens <= burst else burst
        self.tokens, self.tokens_at = min(burst, tokens + gained), now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def _give_token(self) -> None:
        """Nothing came of a change: it does not count among those that this broker may make."""
        self.tokens += 1

    # Deciding

    def _decide(self, now: float) -> list[Effect]:
        """Weigh all swaps, ask for costs that are missing, propose the best."""
        if self.is_locked or self.left <= 0:
            return []
        view = self._view(now)
        if view is None:
            return []
        found = consider(view)
        self.considered = found.closest
        self._surroundings.rooms = found.rooms
        effects: list[Effect] = []
        for one, other in found.probes:
            if len(effects) >= self.settings.probes_max:
                break
            if self._surroundings.may_ask(one, other, now):
                effects += self._surroundings.ask(one, other, now)
        best = found.best
        if best is None:
            return effects
        asked = self._surroundings.confirm(best.mover, best.onto, now)
        return [*effects, *(self._propose(best, now) if asked is None else asked)]

    def _view(self, now: float) -> View | None:
        """What is known now; None if too much of the traffic was not counted."""
        settings = self.settings
        self.traffic.turn(now, settings.window_max_seconds)
        window = self.traffic.window(float("-inf"), now, settings.window_max_seconds)
        neighbours = self._neighbours(now)
        if window is None or len(neighbours) < 2 or window.lost_share > LOST_SHARE_MAX:
            return None
        return View(
            self.core.id,
            now,
            self._surroundings.processing,
            neighbours,
            [Part(one.begin, tabulate(seconds, one.sets)) for seconds, one in window.parts()],
            settings,
            lambda one, other: self._surroundings.pair_cost(one, other, now),
            lambda mover, onto: self._is_allowed(mover, onto, now),
            len(self.core.neighbours.tree()) >= settings.degree_max,
            self._surroundings.pair_error,
        )

    def _neighbours(self, now: float) -> dict[str, Seen]:
        """Those between which links may be moved."""
        core, found = self.core, {}
        if core.id in self.settings.pinned:
            return {}
        for name in core.neighbours.tree():
            one, told = core.neighbours[name], self._surroundings.known(name, now)
            if told is None or told.pinned or name in self.settings.pinned or one.is_withheld:
                continue
            cost = self._surroundings.link_cost(name, told.zone)
            if cost is not None and name in self.since:
                entries = len(core.subscriptions.filters(name))
                error = self._surroundings.costs.error(name)
                found[name] = Seen(told, cost, past(self.since[name], now), entries, error)
        return found

    def _is_allowed(self, mover: str, onto: str, now: float) -> bool:
        """Whether a swap may be thought of."""
        settings = self.settings
        first, second = (
            self._surroundings.told[mover].message,
            self._surroundings.told[onto].message,
        )
        backoff = self.backoffs.get((mover, onto))
        longest = BACKOFF_LAST * settings.period_seconds
        if backoff is not None and not is_due(backoff.until, now, longest):
            return False
        if onto in self.left_out and not is_due(self.left_out[onto], now, LEFT_OUT_SECONDS):
            return False
        if not first.addresses and not second.addresses:
            return False
        return not settings.forbids(mover, first.zone, onto, second.zone)

    def _propose(self, decision: Decision, now: float, reason: str = "") -> list[Effect]:
        """Ask both others; or only note what would be asked."""
        settings = self.settings
        decision.reason = reason
        if settings.mode == "observe":
            return self._observe(decision)
        if not self._take_token(now):
            return []
        self.count += 1
        self.left -= 1
        decision.change = f"{self.core.id}.{self.core.config.session}/s{self.count}"
        decision.outcome = "proposed"
        self._keep(decision)
        request = -(REQUESTS + self.count)
        until = now + ANSWER_SECONDS
        self.proposal = Proposal(decision, request, until, weight=decision.gain)
        pay = max(0.0, decision.score + decision.price - decision.threshold)
        effects: list[Effect] = []
        for name, other in ((decision.mover, decision.onto), (decision.onto, decision.mover)):
            told = self._surroundings.told[other].message
            effects.append(
                Send(
                    name,
                    SwapPropose(
                        decision.change,
                        decision.mover,
                        decision.onto,
                        decision.moved,
                        decision.joint,
                        decision.gain,
                        decision.sigma,
                        pay,
                        told.addresses,
                        told.zone,
                        decision.cost_old,
                    ),
                )
            )
        return [*effects, *self._recorded(decision)]

    def _observe(self, decision: Decision) -> list[Effect]:
        """Note a swap that is not made; the same one again takes the place of the last note."""
        decision.outcome = "observed"
        last = self.decisions[-1] if self.decisions else None
        if last is not None and (last.mover, last.onto) == (decision.mover, decision.onto):
            self.decisions[-1] = decision
            return []
        self._keep(decision)
        self.counts["observed"] += 1
        return self._recorded(decision)

    def _keep(self, decision: Decision) -> None:
        self.decisions = [*self.decisions, decision][-DECISIONS_MAX:]

    # Agreeing

    def _proposed(self, source: str, message: SwapPropose, now: float) -> list[Effect]:
        """The middle asks whether this broker takes part in a swap."""
        gives_way = self._is_outweighed(message)
        refusal, price = self._refusal(source, message, now, gives_way=gives_way)
        effects: list[Effect] = []
        if gives_way and not refusal:
            effects += self._end_proposal("refused", "a better one came", now, is_soon=True)
        effects.append(Send(source, SwapAnswer(message.change, refusal, price)))
        if not refusal:
            self.promise = Promise(message, source, now + SWAP_SECONDS)
            return effects
        self.counts[f"refused {refusal}"] += 1
        if refusal == "full" and price is not None and price <= message.pay:
            effects += self._make_room(source, message.gain, now)
        return effects

    def _is_outweighed(self, message: SwapPropose) -> bool:
        """Whether a swap of one's own is only proposed, and gains less.

        Where all propose at the same time everybody would find everybody locked, again and again.
        So the best swap of all that are in each other's way is made.
        """
        proposal = self.proposal
        if proposal is None or proposal.is_begun or not isfinite(message.gain):
            return False
        own = (proposal.weight, proposal.decision.change)
        return (message.gain, message.change) > own and not self._is_taken

    def _refusal(
        self, middle: str, message: SwapPropose, now: float, *, gives_way: bool
    ) -> tuple[Refusal, float | None]:
        """Why this broker does not take part, if so; and what room would cost, if there is none."""
        core, settings = self.core, self.settings
        other = message.onto if message.mover == core.id else message.mover
        if core.id not in (message.mover, message.onto) or other in (core.id, middle):
            return "forbidden", None
        if settings.mode != "on":
            return "observe", None
        if self.is_locked and not gives_way:
            return "locked", None
        if core.id in settings.pinned or other in settings.pinned or middle in settings.pinned:
            return "pinned", None
        if settings.forbids(core.id, settings.zone, other, message.zone):
            return "forbidden", None
        if not core.config.addresses and not message.addresses:
            return "undialable", None
        return self._limit(middle, message, now)

    def _limit(self, middle: str, message: SwapPropose, now: float) -> tuple[Refusal, float | None]:
        """Whether the limits of this broker allow a swap that is possible."""
        if message.onto == self.core.id:
            if not self._surroundings.slots(middle, now):
                room = self._surroundings.room(middle)
                return "full", None if room is None else room.loss
            if self._is_too_much(message):
                return "utilisation", None
        return ("", None) if self._take_token(now) else ("rate", None)

    def _is_too_much(self, message: SwapPropose) -> bool:
        """Whether this broker would be too busy with what it handles in addition."""
        each = self._surroundings.processing / 1000
        if self._surroundings.is_processing_given:
            return False
        values = (message.moved, message.joint)
        if not all(is_cost(one, self.settings.cost_max) for one in values):
            return True
        more = max(0.0, message.moved - message.joint) * each
        return self._surroundings.utilisation + more > self.settings.utilisation_max

    def _make_room(self, middle: str, weight: float, now: float) -> list[Effect]:
        """Somebody pays for room: make a swap that is not worth it by itself."""
        room = self._surroundings.room(middle)
        self._collect(now)
        view = self._view(now)
        if room is None or view is None or self.is_locked:
            return []
        if not {room.mover, room.onto} <= view.neighbours.keys():
            return []
        judged = judge(view, room.mover, room.onto)
        if judged is None or not judged.is_known or not view.allowed(room.mover, room.onto):
            return []
        self.left = max(1, self.left)
        self._surroundings.reserve(middle, now)
        effects = self._propose(judged.decision, now, f"to make room for {middle}")
        if self.proposal is not None:
            self.proposal.weight = weight
        return effects

    def _answered(self, source: str, message: SwapAnswer, now: float) -> list[Effect]:
        """One of both others agrees, or does not."""
        proposal = self.proposal
        if proposal is None or proposal.decision.change != message.change or proposal.is_begun:
            return []
        decision = proposal.decision
        if source not in (decision.mover, decision.onto):
            return []
        if message.reason:
            self.counts[f"answered {message.reason}"] += 1
            is_paid = message.reason == "full" and message.price is not None
            if message.reason == "full":
                self._surroundings.no_room(source, message.price)
            is_soon = is_paid or message.reason in BUSY
            return self._close("refused", f"{source}: {message.reason}", now, is_soon=is_soon)
        if source not in proposal.agreed:
            proposal.agreed.append(source)
        return self._begin(proposal, now) if len(proposal.agreed) == 2 else []

    def _told_of_room(self, source: str, message: Neighbourhood, now: float) -> list[Effect]:
        """There is room where there was none: whoever waited for it, and paid, need not wait."""
        waiting = [pair for pair in self.backoffs if pair[1] == source]
        if message.slots <= 0 or not waiting or not self.settings.is_on:
            return []
        for pair in waiting:
            del self.backoffs[pair]
        self.left = max(1, self.left)
        self._collect(now)
        return self._decide(now)

    def _begin(self, proposal: Proposal, now: float) -> list[Effect]:
        """Both agree: let the exchange begin. The one with the new link and this one begin it."""
        proposal.is_begun, proposal.until = True, now + SWAP_SECONDS
        core, decision = self.core, proposal.decision
        if not all(core.neighbours.is_in_tree(one) for one in (decision.mover, decision.onto)):
            return self._close("refused", "a link is gone", now)
        told = self._surroundings.told.get(decision.mover)
        wanted = BeginChange(
            core.id,
            proposal.request,
            (decision.onto, core.id, decision.mover),
            2,
            (core.id, decision.onto),
            (decision.onto, core.id),
            () if told is None else told.message.addresses,
        )
        return self._changing.begin(wanted, now)

    def _cancelled(self, source: str, message: SwapCancelled, now: float) -> list[Effect]:
        """Nothing comes of a swap that this broker agreed to."""
        promise = self.promise
        is_meant = promise is not None and promise.middle == source
        if promise is None or not is_meant or promise.proposed.change != message.change:
            return []
        self.promise = None
        self._give_token()
        return []

    # The end

    def ended(self, ended: ChangeEnded, now: float) -> list[Effect]:
        """The exchange that was asked for has ended."""
        proposal = self.proposal
        if proposal is None or proposal.request != ended.request:
            return []
        proposal.decision.exchange = ended.change
        if ended.outcome == COMPLETED:
            return self._close("completed", proposal.decision.reason, now)
        return self._close("undone", ended.reason, now)

    def _close(
        self, outcome: DecisionOutcome, reason: str, now: float, *, is_soon: bool = False
    ) -> list[Effect]:
        """A proposal has come to its end: go on with the next best, without measuring anew."""
        effects = self._end_proposal(outcome, reason, now, is_soon=is_soon)
        self._collect(now)
        return [*effects, *self._decide(now)]

    def _end_proposal(
        self, outcome: DecisionOutcome, reason: str, now: float, *, is_soon: bool = False
    ) -> list[Effect]:
        proposal, self.proposal = self.proposal, None
        if proposal is None:
            return []
        decision = proposal.decision
        decision.outcome, decision.reason = outcome, reason
        self.counts[outcome] += 1
        effects: list[Effect] = self._recorded(decision)
        if outcome == "completed":
            self.gain_predicted += decision.gain
            return effects
        for name in (decision.mover, decision.onto):
            if self.core.neighbours.is_in_tree(name):
                effects.append(Send(name, SwapCancelled(decision.change)))
        if outcome == "refused":
            self._give_token()
        self._back_off((decision.mover, decision.onto), now, is_soon=is_soon)
        return effects

    def _back_off(self, pair: tuple[str, str], now: float, *, is_soon: bool) -> None:
        """Do not propose a swap again for a while: longer each time, unless that is soon over."""
        before = self.backoffs.pop(pair, None)
        periods = BACKOFF_FIRST if before is None else min(BACKOFF_LAST, 2 * before.periods)
        wait = BUSY_PERIODS if is_soon else periods
        if is_soon:
            periods = BACKOFF_FIRST // 2 if before is None else before.periods
        self.backoffs[pair] = Backoff(now + wait * self.settings.period_seconds, periods)
        while len(self.backoffs) > BACKOFFS_MAX:
            del self.backoffs[next(iter(self.backoffs))]

    # Looking

    def _recorded(self, decision: Decision) -> list[Effect]:
        """A row about a decision, if rows are wanted."""
        if not self.core.config.recording:
            return []
        fields = {
            "source": decision.mover,
            "target": decision.onto,
            "message": msgspec.json.encode(decision).decode(),
        }
        return [Record("optimized", fields)]

    def problems(self) -> Iterator[str]:
        """What is remembered is bounded, and the middle of a swap has both others."""
        if len(self.decisions) > DECISIONS_MAX:
            yield f"{len(self.decisions)} decisions are remembered"
        if len(self.backoffs) > BACKOFFS_MAX:
            yield f"{len(self.backoffs)} swaps are not proposed again"
        strangers = [name for name in self.since if not self.core.neighbours.is_in_tree(name)]
        if strangers:
            yield f"traffic is counted for {', '.join(strangers)}, who are no neighbours"

    def report(self) -> dict[str, Any]:
        """What was decided, in numbers."""
        return {
            "mode": self.settings.mode,
            "cost": self.cost,
            "swaps": {
                name: self.counts[name] for name in ("completed", "undone", "refused", "observed")
            },
            "gain_predicted": self.gain_predicted,
            "gain_seen": self.gain_seen,
            "left_out": sorted(self.left_out),
            "refusals": {
                reason.removeprefix("answered "): count
                for reason, count in sorted(self.counts.items())
                if reason.startswith("answered ")
            },
            "decisions": [msgspec.to_builtins(one) for one in self.decisions],
            "considered": msgspec.to_builtins(self.considered),
        }

    def state(self) -> Any:
        """All of it."""
        return {
            "traffic": [
                [one.begin, [[list(key), *cell] for key, cell in one.sets.items()], one.lost]
                for one in self.traffic.buckets
            ],
            "since": dict(self.since),
            "proposal": msgspec.to_builtins(self.proposal),
            "promise": msgspec.to_builtins(self.promise),
            "backoffs": [[*pair, msgspec.to_builtins(one)] for pair, one in self.backoffs.items()],
            "decisions": [msgspec.to_builtins(one) for one in self.decisions],
            "count": self.count,
        }
