"""The evaluation of hybrid routing (Schröter et al., section 6; set-up S004), counted.

The same set-up and the same answer as in `sapwood.sim.edge_routing.evaluation`, where brokers do it
message by message. Clients are counted in compiled code; at the end of every period each broker
decides about the edges that are its own, by the functions that real brokers decide with
(`protocol.optimize.edges.weighing`), from what it would have measured: what its edges carried since
the last switch that changed the meaning of it, as far back as the window reaches.

Brokers decide at the same instant, each by what it knows of its own edges then; what others decide
at that instant it learns a moment later. What a switch takes, messages and the table that has to be
told, is counted in the second after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np

from sapwood.analysis.traffic.arrays import number_of, rates_of
from sapwood.analysis.traffic.tree import RootedTree, complete_tree
from sapwood.errors import ParameterError
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.protocol.optimize.edges.weighing import (
    Counted,
    Hold,
    Rates,
    best_way,
    is_worth,
    measured,
)
from sapwood.routing.algorithms import FLOODING
from sapwood.sim.edge_routing.evaluation import Second, Setup
from sapwood.sim.flow.tables import DOWN, UP
from sapwood.sim.flow.traffic import shape_of
from sapwood.sim.flow.varying import (
    BY_FLOODING,
    BY_SIMPLE,
    CARRIED,
    FLOOD,
    IDENTITY,
    SIMPLE,
    begin,
    close,
    follow,
    run_seconds,
    sum_below,
)

MODES: Final = {FLOODING: FLOOD, "simple": SIMPLE, "identity": IDENTITY, "covering": IDENTITY}
"""Covering is identity where classes exclude each other."""

SWITCH_TO_TELLING: Final = 3
"""Messages beside the table: that it comes, that it was all, and that it is used."""

SWITCH_TO_FLOODING: Final = 2
"""That everything comes, and that nothing more is told."""


_begin: Any = begin
_run_seconds: Any = run_seconds
"""They take as many arrays as there are: types say nothing about these."""


class EdgesRun(msgspec.Struct):
    """What came of one run."""

    seconds: list[Second]
    """As the exact simulator has it."""
    floods: Any
    """By direction and link: whether the edge floods in the end."""
    hops: int
    """Messages over links that this stands for."""


def edges(setup: Setup, arrival_rates: Sequence[float] | None = None) -> EdgesRun:
    """One run; `arrival_rates` are subscriptions per second, by second, if not those of the setup.

    >>> edges(Setup(depth=2, types=20, seconds=20, scale=10.0)).seconds[0].flooded_edges
    0
    """
    return _Run(setup, arrival_rates).run()


class _Clients:
    """Who wants what, and what that takes on every edge, whatever it does."""

    def __init__(self, setup: Setup, births: Any, tree: RootedTree, modes: Any) -> None:
        brokers, kinds = len(tree.brokers), max(1, round(setup.types / setup.scale))
        self.setup, self.births, self.tree, self.modes = setup, births, tree, modes
        self.random = np.random.default_rng(setup.seed)
        shape = shape_of(tree)
        self.shape = shape.parents, shape.first_child, shape.last_child
        present = round(float(births[0]) * setup.lifetime)
        room = present + float(births.sum())
        self.alive = np.empty(int(room + 10 * math.sqrt(room)) + 1000, np.int64)
        self.local, self.sources, self.single = (
            np.zeros((kinds, brokers), np.int32) for _ in range(3)
        )
        self.asked = np.zeros((kinds, 2, brokers), np.bool_)
        self.filters = np.zeros((2, brokers), np.int64)
        self.below, self.filtering, self.published = (np.zeros(kinds, np.int64) for _ in range(3))
        self.published_at, self.moved = (np.zeros(brokers, np.int64) for _ in range(2))
        self.toggles, self.wanted = (np.zeros((2, brokers), np.int64) for _ in range(2))
        self.stack = np.empty((brokers, 2), np.int64)
        self.count = present
        _begin(
            present, self.alive, self.random, *self.shape, modes, self.local, *self._tables(),
            self.published, self.toggles, self.wanted, self.stack, np.zeros(4, np.int64),
        )  # fmt: skip
        self._clear()

    def _tables(self) -> tuple[Any, ...]:
        return self.sources, self.single, self.asked, self.filters, self.below, self.filtering

    def _clear(self) -> None:
        for one in (self.published, self.published_at, self.moved, self.toggles, self.wanted):
            one[:] = 0

    def run(self, first: int, last: int) -> Any:
        """Some seconds: messages by second, now and under each algorithm."""
        self._clear()
        out = np.zeros((last - first, 4), np.int64)
        setup = self.setup
        self.count = _run_seconds(
            self.births[first:last], 1 / setup.lifetime, setup.publication_rate / setup.scale,
            self.count, self.alive, self.random, *self.shape, self.modes, self.local,
            *self._tables(), self.published, self.published_at, self.moved, self.toggles,
            self.wanted, self.stack, out,
        )  # fmt: skip
        close(self.asked, self.published, self.wanted)
        return out

    def counted(self) -> Any:
        """Of these seconds, by direction and link: what each way to route an edge would take."""
        published, moved = self._behind(self.published_at), self._behind(self.moved)
        wanted, toggles = self.wanted[:, 1:], self.toggles[:, 1:]
        return np.stack([published[::-1], wanted, moved, toggles])

    def _behind(self, own: Any) -> Any:
        """Sums over the side that each edge leads to, of whole numbers by broker."""
        below = np.zeros(len(own), np.int64)
        sum_below(self.shape[0], own, below)
        return np.stack([below[1:], below[0] - below[1:]])

    def told_first(self, way: int, link: int, how: str) -> int:
        """Entries that are told when an edge begins to filter."""
        if how != "simple":
            return int(self.filters[way, link + 1])
        return int(self._behind(self.local.sum(axis=0, dtype=np.int64))[way, link])


_FLOODED, _WANTED, _SIMPLE, _IDENTITY = range(4)
_COUNTED = 4
"""What is counted of an edge: all there is for it, what is wanted of that, and what would be said
about wishes under simple and under identity-based routing."""


class _Edge(msgspec.Struct):
    """An edge: its ends, how it is routed, and what each end remembers of it."""

    way: int
    link: int
    source: int
    target: int
    mode: str
    holds: tuple[Hold, Hold]
    """At its source and at its target."""


class _Run:
    """One run."""

    def __init__(self, setup: Setup, arrival_rates: Sequence[float] | None) -> None:
        _check(setup)
        self.setup, self.settings = setup, setup.settings
        if arrival_rates is None:
            births = np.array([setup.arrival_rate(at + 0.5) for at in range(setup.seconds)])
        else:
            births = np.array(rates_of("arrival_rates", arrival_rates, (setup.seconds,)))
        self.tree = complete_tree(2, setup.depth + 1)
        brokers = len(self.tree.brokers)
        self.modes = np.full((2, brokers), MODES[setup.start], np.int64)
        self.clients = _Clients(setup, births, self.tree, self.modes)
        self.edges = [
            self._edge(way, link) for link in range(self.tree.links) for way in (DOWN, UP)
        ]
        self.out_of: list[list[_Edge]] = [[] for _ in range(brokers)]
        self.into: list[list[_Edge]] = [[] for _ in range(brokers)]
        for edge in self.edges:
            self.out_of[edge.source].append(edge)
            self.into[edge.target].append(edge)
        step = max(1, round(self.settings.period_seconds))
        self.step = step
        links = self.tree.links
        self.sums = np.zeros((setup.seconds // step + 1, _COUNTED, 2, links), np.int64)
        """What was counted by the end of each period, since the beginning."""
        self.periods = 0
        self.begins = np.zeros((2, 2, links), np.int64)
        """By end (source, target), direction and link: the first period that is still believed."""
        self.ways, self.places = np.indices((2, links))
        self.sources = np.array(
            [[self.edges[2 * at + way].source for at in range(links)] for way in (0, 1)]
        )
        self.targets = self.sources[::-1]
        self.extra = 0
        """Messages of switches that were not yet counted."""

    def _edge(self, way: int, link: int) -> _Edge:
        child, parent = link + 1, self.tree.parents[link + 1]
        ends = (parent, child) if way == DOWN else (child, parent)
        return _Edge(way, link, *ends, self.setup.start, (Hold(), Hold()))

    def run(self) -> EdgesRun:
        """Period by period."""
        setup, settings, step = self.setup, self.settings, self.step
        seconds: list[Second] = []
        switched: list[_Edge] = []
        for first in range(0, setup.seconds, step):
            last = min(first + step, setup.seconds)
            flooded = int((self.modes[:, 1:] == FLOOD).sum())
            counted = self.clients.run(first, last)
            counted[0, CARRIED] += self.extra
            self.extra = 0
            seconds += [
                Second(int(one[CARRIED]), int(one[BY_SIMPLE]), int(one[BY_FLOODING]), flooded, 0)
                for one in counted
            ]
            if settings.is_looking and last - first == step:
                self._note(switched, float(last))
                self.sums[self.periods + 1] = self.sums[self.periods] + self.clients.counted()
                self.periods += 1
                switched = self._decide(float(last))
                self._carry_out(switched)
                flooded = int((self.modes[:, 1:] == FLOOD).sum())
                seconds[-1] = seconds[-1]._replace(flooded_edges=flooded, switches=len(switched))
        hops = sum(one.carried for one in seconds)
        return EdgesRun(seconds, self.modes[:, 1:] == FLOOD, hops)

    def _note(self, switched: list[_Edge], now: float) -> None:
        """A period after a switch: what was counted before it means something else now."""
        begins, begin_at = self.begins, self.periods
        for edge in switched:
            begins[:, edge.way, edge.link] = begin_at
            for hold in edge.holds:
                hold.switched(now, self.settings)
            for other in self.out_of[edge.target]:
                if other.target != edge.source:
                    begins[0, other.way, other.link] = begin_at
            for other in self.into[edge.source]:
                if other.source != edge.target:
                    begins[1, other.way, other.link] = begin_at

    def _windows(self, end: int) -> Any:
        """The first period of the window that one end of every edge looks at."""
        settings = self.settings
        window = max(1, round(settings.window_seconds / settings.period_seconds))
        return np.maximum(self.begins[end], self.periods - window)

    def _seen(self, edge: _Edge, end: int) -> Rates | None:
        """What one end of an edge has measured and still believes."""
        first = int(self._windows(end)[edge.way, edge.link])
        if first >= self.periods:
            return None
        at = edge.way, edge.link
        counted = self.sums[self.periods, :, *at] - self.sums[first, :, *at]
        flooded, wanted, simple, identity = (int(one) for one in counted)
        said = {"simple": simple, "identity": identity, "covering": identity}
        seconds = float(self.step * (self.periods - first))
        return measured([Counted(seconds, flooded, 0, wanted, 0, said)], self.settings.unit, 1.0)

    def _promising(self) -> list[int]:
        """Brokers that have an edge to decide about that would save anything if it were switched.

        All others would find that no switch is worth it: nothing is if it saves nothing.
        """
        brokers, modes = len(self.tree.brokers), self.modes[:, 1:]
        floods = modes == FLOOD
        tell_in = np.bincount(self.targets[~floods], minlength=brokers)
        flood_out = np.bincount(self.sources[floods], minlength=brokers)
        may_flood = ~floods & (tell_in[self.sources] == ~floods[::-1])
        may_tell = floods & (flood_out[self.targets] == floods[::-1])
        by_source, by_target = (self._window_sums(end) for end in (0, 1))
        ways = [MODES[how] for how in self.settings.telling]
        least = by_target[[_SIMPLE if way == SIMPLE else _IDENTITY for way in ways]].min(axis=0)
        said = np.where(modes == SIMPLE, by_source[_SIMPLE], by_source[_IDENTITY])
        saves = may_flood & (by_source[_WANTED] + said > by_source[_FLOODED])
        found = set(self.sources[saves].tolist())
        saves = may_tell & (by_target[_WANTED] + least < by_target[_FLOODED])
        if len(ways) > 1:
            said = np.where(modes == SIMPLE, by_target[_SIMPLE], by_target[_IDENTITY])
            saves |= ~floods & (least < said)
        return sorted(found | set(self.targets[saves].tolist()))

    def _window_sums(self, end: int) -> Any:
        first = self._windows(end)
        return self.sums[self.periods] - np.moveaxis(
            self.sums[first, :, self.ways, self.places], -1, 0
        )

    def _decide(self, now: float) -> list[_Edge]:
        """What all brokers decide, each by its own edges; their modes are the new ones then."""
        decided: list[tuple[_Edge, str]] = []
        for broker in self._promising():
            mine = self._decide_at(broker, now)
            decided += [(edge, edge.mode) for edge, _ in mine]
            for edge, before in mine:  # the others do not know yet
                edge.mode = before
        for edge, mode in decided:
            edge.mode = mode
        return [edge for edge, _ in decided]

    def _decide_at(self, broker: int, now: float) -> list[tuple[_Edge, str]]:
        """One broker looks at its neighbours, one after the other: what it switches, from what."""
        found: list[tuple[_Edge, str]] = []
        inward, outward = self.into[broker], self.out_of[broker]
        for came in inward:
            (went,) = (edge for edge in outward if edge.target == came.source)
            other_out = [edge for edge in outward if edge is not went]
            if came.mode == FLOODING:
                if all(edge.mode != FLOODING for edge in other_out):
                    found += self._consider_telling(came, now)
            else:
                found += self._consider_way(came, now)
            other_in = [edge for edge in inward if edge is not came]
            if went.mode != FLOODING and all(edge.mode == FLOODING for edge in other_in):
                found += self._consider_flooding(went, outward, now)
        return found

    def _consider_telling(self, edge: _Edge, now: float) -> list[tuple[_Edge, str]]:
        settings = self.settings
        if not edge.holds[1].is_over(now, settings):
            return []
        seen = self._seen(edge, 1)
        if seen is None:
            return []
        best = best_way(seen, settings.telling)
        entries = int(self.clients.filters[edge.way, edge.link + 1])
        if best is None or not is_worth(seen, FLOODING, best, entries, settings):
            return []
        return [_switch(edge, best)]

    def _consider_way(self, edge: _Edge, now: float) -> list[tuple[_Edge, str]]:
        settings = self.settings
        if settings.telling == (edge.mode,) or not edge.holds[1].is_over(now, settings):
            return []
        seen = self._seen(edge, 1)
        best = None if seen is None else best_way(seen, settings.telling)
        if seen is None or best is None or best == edge.mode:
            return []
        entries = int(self.clients.filters[edge.way, edge.link + 1])
        if not is_worth(seen, edge.mode, best, entries, settings):
            return []
        return [_switch(edge, best)]

    def _consider_flooding(
        self, edge: _Edge, outward: list[_Edge], now: float
    ) -> list[tuple[_Edge, str]]:
        settings = self.settings
        if not settings.flooding or not edge.holds[0].is_over(now, settings):
            return []
        flooded = sum(one.mode == FLOODING for one in outward)
        if flooded + 1 > settings.flood_max_share * len(outward):
            return []
        seen = self._seen(edge, 0)
        if seen is None or not is_worth(seen, edge.mode, FLOODING, 1, settings):
            return []
        return [_switch(edge, FLOODING)] if self._is_lasting(edge) else []

    def _is_lasting(self, edge: _Edge) -> bool:
        """Whether flooding has been cheaper in every period of a whole window."""
        settings, first = self.settings, int(self._windows(0)[edge.way, edge.link])
        window = max(1, round(settings.window_seconds / settings.period_seconds))
        said = _SIMPLE if edge.mode == "simple" else _IDENTITY
        counted = np.diff(self.sums[first : self.periods + 1, :, edge.way, edge.link], axis=0)
        saved = counted[:, _WANTED] + counted[:, said] - counted[:, _FLOODED]
        return len(counted) >= window and bool((saved > 0).all())

    def _carry_out(self, switched: list[_Edge]) -> None:
        """Route as decided, and count what it takes to get there."""
        if not self.settings.is_auto:
            return
        for edge in switched:
            self.modes[edge.way, edge.link + 1] = MODES[edge.mode]
            if edge.mode == FLOODING:
                self.extra += SWITCH_TO_FLOODING
            else:
                told = self.clients.told_first(edge.way, edge.link, edge.mode)
                self.extra += SWITCH_TO_TELLING + told
        if switched:
            follow(self.clients.asked, self.modes, self.clients.filtering)


def _switch(edge: _Edge, mode: str) -> tuple[_Edge, str]:
    """Route an edge in another way; how it was routed before."""
    before, edge.mode = edge.mode, mode
    return edge, before


def _check(setup: Setup) -> None:
    """Refuse what cannot be counted."""
    if setup.groups:
        raise ParameterError(
            "filters of several types are for the exact simulator only: wanted 0", "groups"
        )
    if setup.depth < 1 or setup.seconds < 1:
        raise ParameterError("wanted a tree of two levels and a second at least", "setup")
    settings: EdgeRoutingSettings = setup.settings
    unknown = [how for how in (setup.start, *settings.telling) if how not in MODES]
    if unknown:
        raise ParameterError(f"is {unknown[0]!r}; there are {', '.join(MODES)}", "routing")
    if settings.unit != "messages":
        raise ParameterError(
            f"is {settings.unit!r}; only messages are counted here, not what they measure", "unit"
        )
    for name in ("publication_rate", "lifetime", "scale"):
        number_of(name, getattr(setup, name), positive=True)
    rates_of("ramp", [rate for _, rate in setup.ramp], (len(setup.ramp),))
