"""The tree of brokers, kept by beacons: it heals whatever happens to it, and changes only then.

Priority and ageing are those of spanning trees in bridges (IEEE 802.1D); a path takes the place of
a distance, so that nothing counts to infinity; and parents are *sticky*: any tree whose links are
there is as good as another, so none is imposed (thesis, 4.5, asks for the same of its colours).

Every linked neighbour offers the way to a root. A broker takes the best root it is offered, or
itself, and keeps its parent as long as that one offers it. A link carries notifications only while
one end is the other's parent; the child decides, and asks the parent:

- A link to a new parent is held before it carries: else healing would close circles, since others
  of the same fragment may have found the same root by other links. A survey of the fragment ends
  that: if everybody in it has that root, and the parent of each leads here, there is no other way
  out of it, and as parents are sticky there will be none. Where a survey does not say so, the link
  is held for longer than news take through the fragments at both ends, and then only links to those
  who say that they hang below go on carrying. Then the child asks, and the parent lets the link
  carry first, unless it knows another root by now. If the child changes its mind before it has let
  the link carry, too, the link is none of the tree for either of them.
- A link that is neither end's way to the root they both know is superfluous, and ends, if both
  ways carry. While the roots differ, one of the fragments is being turned round; and while one of
  the ways does not carry, the link may be the only one that does.
- Of several ways to the same root that do not carry yet, a fragment gives up all but the one with
  the least path.
- A link whose connection is lost is *kept*: its stream waits, and so do entries of the routing
  table. If the child still has the same parent when the connection is back, nothing has happened.
  A restarted broker remembers its parent, so a restart is an outage of all its links.
- A kept neighbour that turns up on this side by another way is let go.

A better root that only candidates tell of is taken when a survey shows that nobody in the fragment
knows it, or after the time that news need over the tree: else a candidate would be faster than the
tree, and turn round what needs no turning.

Times that are stored are used as in ``due``: one that makes no sense does no lasting harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from sapwood.protocol.core import Core
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import Effect, TreeChanged
from sapwood.protocol.events import BeaconReceived, DelayMeasured
from sapwood.protocol.gaps import Gaps
from sapwood.protocol.machine import EventHandler
from sapwood.protocol.ports import TICK_SECONDS
from sapwood.protocol.restoration import Restoration
from sapwood.protocol.stabilize.beacon import WAITED_SECONDS_MAX, Beacon, Offer, Rank
from sapwood.protocol.stabilize.fragment import Purpose, Subject
from sapwood.protocol.stabilize.places import Links, Place
from sapwood.protocol.stabilize.standing import Standing
from sapwood.protocol.stabilize.timing import DELAY_SECONDS_MAX
from sapwood.protocol.waves import OpenRequest, Wave, Waves

DELAY_FADING: Final = 0.99
"""What a delay that was measured counts with the next measurement, and so on."""

WATCHED_SECONDS_MAX: Final = 3600.0
"""Longest time that a link is watched."""


class Tree(Standing):
    """The parent of this broker, and which of its links carry."""

    name = "tree"
    surveys = True
    derived = ("settings",)

    def __init__(
        self, core: Core, links: Links, restoration: Restoration, waves: Waves, gaps: Gaps
    ) -> None:
        super().__init__(core, links, restoration, waves, gaps)
        waves.serve(self)

    def events(self) -> Mapping[type, EventHandler]:
        """Beacons come beside the stream, as events."""
        return {BeaconReceived: self._received}

    def delay_measured(self, event: DelayMeasured) -> None:
        """Keep the longest delay lately seen; a longer one counts twice, for what was not seen."""
        one = self.core.neighbours.get(event.neighbour)
        if one is not None and 0.0 <= event.seconds <= DELAY_SECONDS_MAX:
            before = one.delay if 0.0 <= one.delay <= 2 * DELAY_SECONDS_MAX else 0.0
            one.delay = max(2 * event.seconds, before * DELAY_FADING)

    # Links

    def link_aside(self, neighbour: str, now: float) -> list[Effect]:
        """A candidate is linked."""
        self.offers.pop(neighbour, None)
        return self._greet(neighbour, now)

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is in the tree: by this machine, or since both ends remember it so."""
        self.kept.pop(neighbour, None)
        return [*self._changed(), *self._greet(neighbour, now)]

    def link_placed(self, neighbour: str, place: str, now: float) -> list[Effect]:
        """After a restart a neighbour knows that it is the parent."""
        if place == Place.PARENT and neighbour in self._partners():
            self._adopt(neighbour, now)
            self.adopted_at = float("-inf")
            return self.core.tell_all()
        return []

    def link_restarted(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour has forgotten what it was told."""
        return self.link_up(neighbour, now)

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is not in the tree any more."""
        self.kept.pop(neighbour, None)
        return self._changed()

    def link_away(self, neighbour: str, now: float) -> list[Effect]:
        """A link of the tree carries nothing for the time being."""
        self.kept.setdefault(neighbour, now)
        return self._greet(neighbour, now)

    def link_back(self, neighbour: str, now: float) -> list[Effect]:
        """A link of the tree carries again."""
        self.kept.pop(neighbour, None)
        return self._greet(neighbour, now)

    def line_up(self, neighbour: str, now: float) -> list[Effect]:
        """There is a connection: what was said over the one before may be out of date."""
        self._age_offer(neighbour)
        return self._greet(neighbour, now)

    def line_lost(self, neighbour: str, now: float) -> list[Effect]:
        """There is no connection."""
        self._age_offer(neighbour)
        return []

    def neighbour_gone(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is gone for good, in the tree or not."""
        self.offers.pop(neighbour, None)
        self.kept.pop(neighbour, None)
        return self._wake(now) if self.is_on else []

    def _changed(self) -> list[Effect]:
        return [TreeChanged()] if self.is_on else []

    def _age_offer(self, neighbour: str) -> None:
        offer = self.offers.get(neighbour)
        if offer is not None:
            self.offers[neighbour] = offer._replace(is_live=False)

    def _greet(self, neighbour: str, now: float) -> list[Effect]:
        """Beacons go first over a new connection."""
        if neighbour not in self._partners():
            return []
        return self._tell([neighbour], now)

    # Beacons

    def _received(self, event: BeaconReceived, now: float) -> list[Effect]:
        source = event.neighbour
        if source not in self._partners() or not self._is_linked(source):
            return []
        before = self.offers.get(source)
        self._take(source, event.beacon, now)
        effects: list[Effect] = []
        if before is not None and _is_withdrawn(before.beacon, self.offers[source].beacon):
            effects += self._return(source, now)
        return [*effects, *self._wake(now, is_pulse=source == self.parent)]

    def _return(self, name: str, now: float) -> list[Effect]:
        """A child has asked and changed its mind: hold what was let carry, before all else.

        It may be a way from now on, in the other direction, for which nobody has asked yet.
        """
        if not self.carries(name) or name in self.locked:
            return []
        return self._links.hold_link(name, now)

    def _take(self, source: str, beacon: Beacon, now: float) -> None:
        """Note what a neighbour says; from one in a change that is known here, only the age.

        All else that it says belongs to the old tree.
        """
        if not self._links.knows_change(beacon.change):
            self.offers[source] = Offer(beacon, now)
            self._links.said_since(source)
            return
        offer = self.offers.get(source)
        if offer is not None and offer.beacon.root == beacon.root and beacon.age < offer.age(now):
            fresh = msgspec.structs.replace(offer.beacon, age=beacon.age)
            self.offers[source] = offer._replace(beacon=fresh, at=now, waited=0.0)

    # Choosing

    def _wake(self, now: float, *, is_pulse: bool = False) -> list[Effect]:
        """Everything that follows from what is known."""
        before = self._standing()
        if self.locked:
            self._stand_still()
        else:
            self._choose(now)
        effects = self._judge_links(now)
        self._measure()
        effects += [] if self.locked else self._ask(now)
        if before[:2] != self._standing()[:2]:
            effects += [*self._changed(), *self._tell_of_lost(now), *self.core.tell_all()]
        if is_pulse or before != self._standing():
            effects += self._tell(self._partners(), now)
        return effects

    def _standing(self) -> tuple[str, str, tuple[str, ...], bool, bool, bool]:
        """What others are told at once when it changes."""
        carries = bool(self.parent) and self.is_shared(self.parent)
        asks = self._is_asking()
        return self.parent, self.root, self.path, carries, asks, self._is_whole()

    def _choose(self, now: float) -> None:
        """Take the best root there is, by the parent there is if that one offers it."""
        for name in [name for name in self.offers if name not in self.core.neighbours]:
            del self.offers[name]
        good = self._valid_offers(now)
        if self._awaits_parent() and self.parent not in good:
            return
        best = self._best_root(good, now)
        if best is None:
            self._adopt("", now)
        elif self.parent not in good or good[self.parent].rank != best:
            able = [name for name in good if good[name].rank == best and self._is_linked(name)]
            self._adopt(min(able, key=lambda name: self._dislike(name, good), default=""), now)
        elif not self._is_whole():
            self._give_way(good, best, now)
        if self.parent:
            offer = good[self.parent]
            (self.priority, self.root), self.path = offer.rank, offer.beacon.path
        else:
            (self.priority, self.root), self.path = self._rank(), ()

    def _stand_still(self) -> None:
        """While a change is under way the parent is the parent; its way to the root may change."""
        offer = self.offers.get(self.parent)
        if offer is None or offer.beacon.root != self.root:
            return
        if self.core.id not in offer.beacon.path:
            self.path = offer.beacon.path

    def wake(self, now: float) -> list[Effect]:
        """A change of the tree has ended here: everything that follows, and a beacon to all."""
        return self._wake(now, is_pulse=True) if self.is_on else []

    def _give_way(self, good: dict[str, Offer], best: Rank, now: float) -> None:
        """Take another way to the same root while the one there is does not carry all along.

        One that carries goes first; else paths decide, which have the same order everywhere. So
        of several ways out of a fragment all but one are given up.
        """

        def order(name: str) -> tuple[bool, tuple[str, ...]]:
            beacon = good[name].beacon
            is_whole = beacon.is_whole and self.is_shared(name)
            return not is_whole, (*beacon.path, self.core.id)

        ways = [name for name in good if good[name].rank == best and self.is_shared(name)]
        first = min((self.parent, *ways), key=order)
        if order(first) < order(self.parent):
            self._adopt(first, now)

    def _best_root(self, good: dict[str, Offer], now: float) -> Rank | None:
        """The best root that may be taken now; None if it is this broker itself.

        One that only candidates tell of has to wait, unless there is no tree it could be told
        over: no link carries, or the link to the parent is lost, and what it said has aged.
        """
        ranks = sorted({offer.rank for offer in good.values()})
        has_tree = any(map(self.is_shared, self.core.neighbours)) and not self._is_orphan(good)
        if not has_tree:
            self.better_since = None
            return min(ranks, default=None)
        known = {
            offer.rank
            for name, offer in good.items()
            if name == self.parent or self.is_shared(name)
        }
        if not ranks or ranks[0] in known:
            self.better_since = None
        elif self.fragment.has_shown(Purpose.NEWS, Subject(ranks[0][1], self.root)):
            return ranks[0]
        elif self.better_since is None or not self.better_since <= now:
            self.better_since = now
        elif now - self.better_since >= self.timing.news_seconds(self.delay_tree):
            return ranks[0]
        return min(known, default=None)

    def _is_orphan(self, good: dict[str, Offer]) -> bool:
        return bool(self.parent) and self.parent not in good and not self.is_shared(self.parent)

    def _dislike(self, name: str, good: dict[str, Offer]) -> tuple[bool, bool, bool, int, str]:
        beacon = good[name].beacon
        return not self.is_shared(name), name not in self.kept, beacon.full, len(beacon.path), name

    def _adopt(self, parent: str, now: float) -> None:
        if parent != self.parent:
            self.parent = parent
            self.adopted_at = now
        self.has_had_parent = self.has_had_parent or bool(parent)

    # Which links carry

    def _judge_links(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        if self._awaits_parent():
            return effects
        held = self._long_apart(now)
        for name in self._partners():
            if name in self.locked:
                continue
            if name in held:
                effects += self._links.hold_link(name, now) if self.carries(name) else []
            elif name == self.parent:
                effects += self._judge_parent(name, now)
            else:
                effects += self._judge_other(name, now)
        return effects

    def _long_apart(self, now: float) -> list[str]:
        """Neighbours in the tree that tell of another root for longer than a change stops news.

        A broker that is locked stands still, and may go on telling of a root that is lost. Those
        beside it turn to another one meanwhile, and by links that they find they may be joined with
        whoever is beyond the ring: the locked broker would close a circle. So it holds them until
        it is free to judge again.
        """
        told = {name: one.beacon.root for name, one in self.offers.items() if one.is_live}
        apart = [
            name
            for name in (self._partners() if self.locked else ())
            if name not in self.locked and self._is_in_tree(name) and name in told
            if told[name] != self.root
        ]
        since = {name: self.apart.get(name, now) for name in apart}
        self.apart = {name: at if at <= now else now for name, at in since.items()}
        patience = self.timing.lock_seconds
        return [name for name, at in self.apart.items() if now - at >= patience]

    def _judge_parent(self, name: str, now: float) -> list[Effect]:
        """Ask the parent, after the link was held or if nothing has happened; then it carries."""
        under = (name, self.root)
        is_new_root = self.adopted_under != under and not self._is_in_tree(name)
        if not self.adopted_at <= now or is_new_root:
            self.adopted_at = now
        self.adopted_under = under
        offer = self.offers.get(name)
        if offer is None or not offer.is_live or not self._is_linked(name):
            return []
        if self._is_alone_with(name):
            return self._take_back(name, now)
        if self.carries(name):
            return []  # the parent follows
        hold = self.timing.hold_seconds(max(self.delay_tree, offer.beacon.delay_tree))
        effects: list[Effect] = []
        is_in_place = self.adopted_at < self.kept.get(name, float("-inf"))
        is_only_way = self.fragment.has_shown(Purpose.HOLD, Subject(self.root, name))
        if is_in_place or is_only_way:
            self.asks_under = under
        elif self.asks_under != under and now - self.adopted_at >= hold:
            self.asks_under = under
            self.watched_until = now + self.timing.age_max(self.delay_tree) + hold
            self._links.watch(is_watched=True)
            effects += self._hold_strangers(now)
        if self.asks_under != under or not offer.beacon.is_carried:
            return effects
        self.asks_under = ("", "")
        return [*effects, *self._go_in(name, now)]

    def _hold_strangers(self, now: float) -> list[Effect]:
        """Hold links to all who do not say that they hang below this broker.

        No survey came back that would know: they may have a way to the root by themselves, and
        then the link to the parent would close a circle.
        """
        effects: list[Effect] = []
        for name in self._partners():
            if name != self.parent and self.carries(name) and not self.is_child(name):
                effects += self._links.hold_link(name, now)
        return effects

    def _judge_other(self, name: str, now: float) -> list[Effect]:
        """A child decides about its link; what is nobody's way to the root ends."""
        offer = self.offers.get(name)
        if offer is None or not offer.is_live or not self._is_linked(name):
            return []
        beacon = offer.beacon
        is_child = beacon.parent == self.core.id
        if is_child and (beacon.carries or beacon.asks or beacon.is_carried):
            is_late = beacon.root == self.root and not self.carries(name)
            return self._go_in(name, now) if is_late else []
        if self._is_alone_with(name):
            return self._take_back(name, now)
        is_other_way = not is_child and beacon.root == self.root and self._is_in_tree(name)
        if is_other_way and beacon.is_whole and self._is_whole():
            return self._go_out(name, "it is no part of the tree any more", now)
        if self.carries(name) and not beacon.is_carried:
            return self._links.hold_link(name, now)
        return []

    def _is_alone_with(self, name: str) -> bool:
        """Whether a link is part of the tree here, and none for the other end."""
        beacon = self.offers[name].beacon
        return self._is_in_tree(name) and not beacon.is_carried and not beacon.is_kept

    def _take_back(self, name: str, now: float) -> list[Effect]:
        """Let a link be a candidate again that the other end has asked for and not taken up."""
        return self._links.leave_tree(name, "the other end has not taken it up", now)

    def _go_in(self, name: str, now: float) -> list[Effect]:
        if self._is_in_tree(name):
            return self._links.resume_link(name, now)
        effects: list[Effect] = []
        for other in list(self.kept):  # what waits at the other end of these comes late, or never
            effects += self._gaps.link_replaced(other, now)
        return [*effects, *self._links.enter_tree(name, now)]

    def _tell_of_lost(self, now: float) -> list[Effect]:
        """The tree goes on by another way, perhaps over links that carry already.

        A fragment that is alone misses nothing yet: what goes to it is kept at the other end. Nor
        is a child that is away replaced by a parent: it says itself if it goes on elsewhere.
        """
        if not self.parent:
            return []
        away = [name for name in self.kept if not self._is_linked(name)]
        lost = [name for name in away if not self.is_child(name)]
        return [one for name in lost for one in self._gaps.link_replaced(name, now)]

    def _go_out(self, name: str, reason: str, now: float) -> list[Effect]:
        missed = self._gaps.link_replaced(name, now)
        return [*missed, *self._links.leave_tree(name, reason, now)]

    # Surveys

    def _ask(self, now: float) -> list[Effect]:
        """Ask the fragment what could end the waiting, if there is any."""
        effects: list[Effect] = []
        if self.better_since is not None:
            ranks = [offer.rank for offer in self._valid_offers(now).values()]
            if ranks:
                effects += self._survey(Purpose.NEWS, Subject(min(ranks)[1], self.root), now)
        if self.parent and self._is_linked(self.parent) and not self.carries(self.parent):
            effects += self._survey(Purpose.HOLD, Subject(self.root, self.parent), now)
        return effects

    def _survey(self, purpose: Purpose, subject: Subject, now: float) -> list[Effect]:
        if not self.fragment.ask(purpose, subject, now, self.core.config.settle_patience):
            return []
        return self._waves.request(self, self.core.id, purpose, now)

    def answer(self, request: OpenRequest, wave: Wave, now: float) -> list[Effect]:
        """A survey is back."""
        if request.number == Purpose.KEPT:
            return self._release_kept({report.id for report in wave.reports}, now)
        if not self.fragment.answered(request.number, wave.reports):
            return []
        effects = self._wake(now)
        self.fragment.forget(request.number)
        return effects

    def give_up(self, request: OpenRequest) -> list[Effect]:
        """A survey is not back in time: another one follows."""
        self.fragment.forget(request.number)
        return []

    # Time

    @property
    def next_at(self) -> float | None:
        """When the root sends its next beacon, if this broker is the root of others."""
        if self.parent or not self._partners():
            return None
        return self.pulse_at

    def tick(self, now: float) -> list[Effect]:
        """Send a beacon if it is time; see whose information has aged, and who is held."""
        self._watch(now)
        if not self.is_on:
            return []
        is_pulse = is_due(self.pulse_at, now, self.settings.beacon_seconds)
        if is_pulse:
            self.pulse_at = now + self.settings.beacon_seconds
        for name in list(self.kept):
            if not self._is_in_tree(name) or self.carries(name):
                del self.kept[name]
        for name in self._partners():
            if self._is_in_tree(name) and not self.carries(name):
                since = self.kept.get(name, now)
                self.kept[name] = since if since <= now else now
        self._excuse_busy(now)
        effects = self._wake(now, is_pulse=is_pulse and not self.parent)
        return [*effects, *self._give_up_kept(now), *self._look_for_kept(now)]

    def _watch(self, now: float) -> None:
        """Leave out what comes again for as long as there are signs of a circle, and longer."""
        if self._links.has_signs_of_circle():
            hold = self.timing.hold_seconds(self.delay_tree)
            self.watched_until = now + self.timing.age_max(self.delay_tree) + hold
        is_over = is_due(self.watched_until, now, WATCHED_SECONDS_MAX)
        self._links.watch(is_watched=not is_over)

    def _excuse_busy(self, now: float) -> None:
        """Do not let the offers of neighbours age whose beacons wait behind other frames.

        A slow link brings them late. What it brings is in order: whoever sends at all would have
        sent a beacon before if there were news.
        """
        elapsed = min(now - self.ticked_at, TICK_SECONDS) if self.ticked_at <= now else 0.0
        self.ticked_at = now
        for name, offer in self.offers.items():
            one = self.core.neighbours.get(name)
            if one is not None and one.is_busy and offer.is_live:
                waited = min(offer.waited + elapsed, now - offer.at, WAITED_SECONDS_MAX)
                self.offers[name] = offer._replace(waited=max(0.0, waited))

    def _give_up_kept(self, now: float) -> list[Effect]:
        """Let those go who have been away for longer than anybody is kept."""
        patience = self.core.config.away_seconds
        effects: list[Effect] = []
        for name, since in list(self.kept.items()):
            if name not in self.locked and not self._is_linked(name) and now - since > patience:
                effects += self._go_out(name, f"it was away for {patience:,.0f} s", now)
        return effects

    def _look_for_kept(self, now: float) -> list[Effect]:
        """Find out whether those who have been away for long are here by another way."""
        age_max = self.timing.age_max(self.delay_tree)
        if not self.has_lost_somebody(now) or not is_due(self.survey_at, now, age_max):
            return []
        self.survey_at = now + age_max
        return self._waves.request(self, self.core.id, Purpose.KEPT, now)

    def _release_kept(self, here: set[str], now: float) -> list[Effect]:
        """Let those go who are kept in vain: they are here by another way."""
        effects: list[Effect] = []
        kept = [name for name in self.kept if name in here and name not in self.locked]
        for name in [name for name in kept if not self._is_linked(name)]:
            effects += self._go_out(name, "it is part of the tree by another way", now)
        return effects


def _is_withdrawn(before: Beacon, beacon: Beacon) -> bool:
    """Whether a neighbour that had asked does so no longer, and has not let the link carry."""
    return before.asks and not beacon.asks and not beacon.is_carried and beacon.is_kept
