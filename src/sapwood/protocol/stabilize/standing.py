"""Where a broker stands in the tree: what it knows of root, parent and links, and tells of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from sapwood.analysis.stabilization import refresh_within
from sapwood.protocol.core import Core
from sapwood.protocol.effects import Effect, Say
from sapwood.protocol.gaps import Gaps
from sapwood.protocol.machine import Machine
from sapwood.protocol.restoration import Restoration
from sapwood.protocol.stabilize.beacon import BEACONS, SIZE_MAX, Beacon, Offer, Rank
from sapwood.protocol.stabilize.fragment import Fragment
from sapwood.protocol.stabilize.periods import network_known, periods_of
from sapwood.protocol.stabilize.places import Links, Place
from sapwood.protocol.stabilize.timing import DELAY_SECONDS_MAX, DELAY_SECONDS_MIN, Timing
from sapwood.protocol.waves import Waves

TOLD_PER_SECOND: Final = 100
"""In which part of a second delays of links are told."""


class Standing(Machine):
    """The state of a broker's part of the tree; what follows from it is decided in ``tree``."""

    def __init__(
        self, core: Core, links: Links, restoration: Restoration, waves: Waves, gaps: Gaps
    ) -> None:
        super().__init__(core)
        self.settings = core.config.tree
        self.parent = core.config.expected_parent
        """Empty: this broker is the root."""
        self.root, self.priority = core.id, self.settings.priority
        self.path: tuple[str, ...] = ()
        """From the root to the parent."""
        self.offers: dict[str, Offer] = {}
        self.adopted_at = float("-inf")
        """Since when the parent is the parent."""
        self.adopted_under: tuple[str, str] = (self.parent, "")
        """The parent and the root for which the link to the parent is held."""
        self.asks_under: tuple[str, str] = ("", "")
        """The parent and the root for which the parent is asked to let the link carry."""
        self.kept: dict[str, float] = {}
        """Neighbours in the tree whose links carry nothing, and since when."""
        self.better_since: float | None = None
        """Since when a better root is known by candidates only."""
        self.has_had_parent = bool(self.parent)
        """Whether it ever had a parent in this session, or waits for the one it had."""
        self.fragment = Fragment(core.id)
        """What surveys have shown about those with whom links carry."""
        self.watched_until = float("-inf")
        """Until when circles are possible here: a link carries, and no survey said that it may."""
        self.pulse_at = float("-inf")
        """When this broker sends the next beacon, as the root."""
        self.ticked_at = float("-inf")
        """When time was last seen to pass."""
        self.survey_at = float("-inf")
        """When those that have been kept for long are looked for again."""
        self.delay_tree = 0.0
        """The longest way between two brokers of the tree, in seconds, as the root says."""
        self.slowest = 0.0
        """The longest time over one link of the tree, in seconds, as the root says; 0: as quick as
        any."""
        self.locked: tuple[str, ...] = ()
        """Neighbours whose links are left alone: a change of the tree is under way with them."""
        self.change = ""
        """That change."""
        self.apart: dict[str, float] = {}
        """Neighbours off the ring of that change that tell of another root, and since when."""
        self._links = links
        self._restoration = restoration
        self._waves = waves
        self._gaps = gaps

    @property
    def is_on(self) -> bool:
        """Whether this broker keeps the tree by beacons."""
        return self.settings.protocol == BEACONS

    @property
    def delay(self) -> float:
        """The longest time that a message takes over one link, in seconds: as set, or measured.

        What nothing that was measured can have become counts for nothing.
        """
        possible = (_possible(one.delay) for one in self.core.neighbours.values())
        return self.core.config.stabilization.delay_max or max((DELAY_SECONDS_MIN, *possible))

    @property
    def delay_any(self) -> float:
        """The longest time over any link of the tree, in seconds: as set, or as far as is known."""
        set_ = self.core.config.stabilization.delay_max
        return set_ or max(self.delay, _possible(self.slowest))

    @property
    def refresh_seconds(self) -> float:
        """How often is looked again: as set, or as a stated time wants it with these delays.

        Periods are never longer than those that are set and were told to others. Nothing is kept
        of this: it follows from settings and delays whenever it is asked.
        """
        config = self.core.config
        stated = config.stabilization
        if not stated.seconds or stated.delay_max:
            return stated.refresh_seconds
        size = self.size if self.is_on and not self.parent else None  # the root knows
        across = self.delay_tree if self.is_on else math.inf
        network = network_known(self.settings, self.delay_any, across, size)
        periods = periods_of(
            stated,
            self.settings,
            config.client_refresh_seconds,
            has_advertisements=config.advertisements_required,
        )
        return refresh_within(stated.seconds, network, periods)

    @property
    def timing(self) -> Timing:
        """The times that follow from the settings and delays."""
        return Timing(self.settings, self.delay, self.delay_any)

    def renounce(self) -> None:
        """Begin anew with what links say: nothing is known of the parent there was."""
        self.parent = ""
        self.has_had_parent = True

    # Who is who

    def _partners(self) -> list[str]:
        """Neighbours that send beacons."""
        if not self.is_on:
            return []
        return [name for name, one in self.core.neighbours.items() if BEACONS in one.features]

    def is_partner(self, name: str) -> bool:
        """Whether a neighbour sends beacons."""
        one = self.core.neighbours.get(name)
        return self.is_on and one is not None and BEACONS in one.features

    def _is_linked(self, name: str) -> bool:
        one = self.core.neighbours.get(name)
        return one is not None and one.is_connected

    def _is_in_tree(self, name: str) -> bool:
        return self.core.neighbours.is_in_tree(name)

    def carries(self, name: str) -> bool:
        """Whether the link to a neighbour carries notifications."""
        one = self.core.neighbours.get(name)
        return one is not None and one.in_tree and not one.is_away

    def is_shared(self, name: str) -> bool:
        """Whether both ends let the link to a neighbour carry, as far as is known here.

        The parent lets it first, when the child asks. Until the child has said that it does, too,
        it may have changed its mind: such a link is no way to anybody yet.
        """
        offer = self.offers.get(name)
        return self.carries(name) and (
            offer is None or not offer.is_live or offer.beacon.is_carried
        )

    def _rank(self) -> Rank:
        return self.settings.priority, self.core.id

    def is_child(self, name: str) -> bool:
        """Whether a neighbour said last that this broker is its parent."""
        offer = self.offers.get(name)
        return offer is not None and offer.beacon.parent == self.core.id

    def _is_whole(self) -> bool:
        """Whether all links from the root to this broker carry."""
        if not self.parent:
            return True
        offer = self.offers.get(self.parent)
        return self.is_shared(self.parent) and offer is not None and offer.beacon.is_whole

    def is_settled(self) -> bool:
        """Whether this broker is the root, or its way there is known and carries."""
        if self._awaits_parent() or self._is_asking():
            return False
        return not self.parent or (
            self.carries(self.parent) and self._is_linked(self.parent) and self._is_whole()
        )

    def follow(self, parent: str) -> None:
        """A change of the tree has made a neighbour the parent: no need to ask it."""
        self.parent = parent
        offer = self.offers.get(parent)
        if offer is not None:
            (self.priority, self.root), self.path = offer.rank, offer.beacon.path
        self.adopted_at = float("-inf")
        self.adopted_under = (parent, self.root)
        self.asks_under = ("", "")
        self.has_had_parent = True

    def _is_asking(self) -> bool:
        """Whether the parent is to let the link carry."""
        return self.asks_under == (self.parent, self.root) and not self.is_shared(self.parent)

    def _awaits_parent(self) -> bool:
        """Whether a restarted broker still waits for the parent it had.

        Until then it says nothing of the tree: those below it keep what they know.
        """
        return (
            self._restoration.is_active
            and self.parent != ""
            and self.parent == self.core.config.expected_parent
            and not self.path
        )

    def _valid_offers(self, now: float) -> dict[str, Offer]:
        age_max = self.timing.age_max(self.delay_tree)
        own = self._rank()
        return {
            name: offer
            for name, offer in self.offers.items()
            if name in self.core.neighbours
            and offer.is_valid(name, self.core.id, now, age_max, self.settings.depth_max)
            and offer.rank < own
        }

    def is_joined(self, name: str) -> bool:
        """Whether the link to a neighbour carries, or stands by in a tree that carries."""
        return self.is_shared(name) or (self.is_same_tree(name) and self._is_whole())

    def is_same_tree(self, name: str) -> bool:
        """Whether a neighbour knows the same root."""
        offer = self.offers.get(name)
        return offer is not None and offer.is_live and offer.beacon.root == self.root

    @property
    def patience(self) -> float:
        """After how many seconds a neighbour that is away has been so for long (A)."""
        return self.timing.age_max(self.delay_tree)

    def has_lost_somebody(self, now: float) -> bool:
        """Whether a neighbour in the tree has been away for long."""
        age_max = self.timing.age_max(self.delay_tree)
        return any(self._is_long_gone(name, age_max, now) for name in self.kept)

    def _is_long_gone(self, name: str, age_max: float, now: float) -> bool:
        since = self.kept.get(name, now)
        return not self._is_linked(name) and now - since > age_max

    # Places

    def place_of(self, name: str) -> Place:
        """Where a neighbour is, if the link to it can go on as if it had never been lost."""
        if not self._is_in_tree(name):
            if name not in self._restoration.missing:
                return Place.NONE
            if name == self.core.config.expected_parent:
                return Place.PARENT if self._awaits_parent() else Place.NONE
            return Place.CHILD
        if name == self.parent:
            is_same = self.carries(name) or self.adopted_at < self.kept.get(name, float("-inf"))
            return Place.PARENT if is_same else Place.NONE
        offer = self.offers.get(name)
        is_child = offer is not None and self.is_child(name) and offer.beacon.carries
        return Place.CHILD if is_child else Place.NONE

    @property
    def is_open(self) -> bool:
        """Whether whoever takes this broker for its child is believed: it has no other parent."""
        return not self.has_had_parent

    def places(self) -> dict[str, str]:
        """All neighbours in the tree, or expected in it after a restart, with their places."""
        names = dict.fromkeys([*self.core.neighbours.tree(), *self._restoration.expected()])
        return {name: self.place_of(name).value for name in names}

    # What is told

    def _tell(self, names: list[str], now: float) -> list[Effect]:
        if self._awaits_parent():
            return []
        beacon = self.beacon(now)
        return [
            Say(
                name,
                msgspec.structs.replace(
                    beacon,
                    asks=name == self.parent and self._is_asking(),
                    is_carried=self.carries(name),
                    is_kept=self._is_in_tree(name) and not self.carries(name),
                ),
            )
            for name in names
            if self._is_linked(name)
        ]

    def beacon(self, now: float) -> Beacon:
        """What this broker knows about the root, and how it is linked."""
        offer = self.offers.get(self.parent)
        children = self._children()
        ways = self._ways(children)
        return Beacon(
            root=self.root,
            priority=self.priority,
            age=0.0 if not self.parent or offer is None else max(0.0, offer.age(now)),
            path=(*self.path, self.core.id),
            parent=self.parent,
            carries=bool(self.parent) and self.is_shared(self.parent),
            is_whole=self._is_whole(),
            full=0 < self.settings.children_max <= len(children),
            size=_size(children),
            delay_up=ways[0] if ways else 0.0,
            delay_tree=self.delay_tree,
            slowest_up=_told(self._slowest_up(children)),
            slowest=_told(self.slowest),
            change=self.change,
        )

    @property
    def size(self) -> int:
        """Brokers below this one, with itself."""
        return _size(self._children())

    def _children(self) -> list[Beacon]:
        return [
            offer.beacon
            for name, offer in self.offers.items()
            if offer.beacon.parent == self.core.id and self._is_in_tree(name)
        ]

    def _ways(self, children: list[Beacon]) -> list[float]:
        """From below each child to this broker, in seconds, longest first."""
        across = self.timing.across
        return sorted((across(one.delay_up) + self.delay for one in children), reverse=True)

    def _slowest_up(self, children: list[Beacon]) -> float:
        """The longest time over a link at this broker or below it."""
        return max((self.delay, *(_possible(one.slowest_up / TOLD_PER_SECOND) for one in children)))

    def _measure(self) -> None:
        """How long the longest way and link of the tree take: the root knows, and tells."""
        offer = self.offers.get(self.parent)
        if offer is not None:
            self.slowest = _possible(offer.beacon.slowest / TOLD_PER_SECOND)
            self.delay_tree = self.timing.across(offer.beacon.delay_tree)
        else:
            children = self._children()
            self.slowest = self._slowest_up(children)
            self.delay_tree = self.timing.across(sum(self._ways(children)[:2]))

    # Looking

    def report(self) -> dict[str, Any]:
        """The place of this broker in the tree."""
        return {
            "root": self.root,
            "parent": self.parent,
            "depth": len(self.path),
            "kept": sorted(self.kept),
            "size": self.size,
            "delay_seconds": self.delay,
            "delay_tree_seconds": self.delay_tree,
            "slowest_seconds": self.delay_any,
        }

    def state(self) -> Any:
        """All of it but what is offered and when."""
        return {
            "root": self.root,
            "priority": self.priority,
            "parent": self.parent,
            "path": list(self.path),
            "kept": sorted(self.kept),
            "offers": {
                name: msgspec.to_builtins(offer.beacon) for name, offer in self.offers.items()
            },
        }

    def problems(self) -> Iterator[str]:
        """The parent is a neighbour; what is kept is a link of the tree that does not carry."""
        if not self.is_on:
            return
        if self.parent and self.parent not in self.core.neighbours and not self._awaits_parent():
            yield f"the parent {self.parent} is no neighbour"
        for name in self.kept:
            if not self._is_in_tree(name) or self.carries(name):
                yield f"{name} is kept, and is no link of the tree or carries"


def _size(children: list[Beacon]) -> int:
    return min(SIZE_MAX, 1 + sum(max(1, one.size) for one in children))


def _possible(delay: float) -> float:
    """A delay that was measured or told; zero if it cannot have been measured."""
    return delay if 0.0 <= delay <= 2 * DELAY_SECONDS_MAX else 0.0


def _told(delay: float) -> int:
    """How a delay is told, rounded up; nothing is said of what is taken for any link."""
    possible = _possible(delay)
    return math.ceil(round(possible * TOLD_PER_SECOND, 6)) if possible > DELAY_SECONDS_MIN else 0
