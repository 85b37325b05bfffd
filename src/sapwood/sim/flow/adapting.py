"""Sapwood's own way, `adaptive`, by counting: brokers weigh swaps exactly as they do live.

What each broker has counted is kept in the ring of buckets of a real broker (`optimize.traffic`),
and all pairs of its neighbours are looked at by the function that real brokers decide with
(`optimize.considering.consider`). Only how counts come about is different: what a job publishes
concerns, at each broker of its delivery tree, the same neighbours until the tree or the job moves;
so it is added in one go.

A swap locks its three brokers while a change goes round them twice; a broker that is locked
refuses, and is not asked again for two periods, then four, and so on. Costs of links are given, so
nobody has to probe; neighbours know each other's room and its price as it is.
"""

from __future__ import annotations

import heapq
from typing import Any, Final
from zlib import crc32

import msgspec
import numpy as np

from sapwood.protocol.optimize.considering import Considered, Part, Seen, View, consider
from sapwood.protocol.optimize.gain import LOCAL, Concerned
from sapwood.protocol.optimize.messages import Neighbourhood
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.protocol.optimize.surroundings import Room
from sapwood.protocol.optimize.traffic import LOST_SHARE_MAX, Traffic
from sapwood.protocol.optimize.weighing import tabulate
from sapwood.sim.flow.exploring import CHANGES, COST, DEGREE, HOPS, MEASURES
from sapwood.sim.flow.topology import TopologyRun, outcome_of, tree_arrays
from sapwood.sim.optimizing.adapting import adaptive_settings
from sapwood.sim.optimizing.setup import TICK_SECONDS, Course, Stay
from sapwood.sim.optimizing.ways import START_TICK
from sapwood.sim.optimizing.world import MEASURE_TICKS

BACKOFF_LAST: Final = 64
"""Periods that a refused pair is left alone at the most."""


class _Broker(msgspec.Struct):
    """What one broker knows; neighbours by name, with since when its counts hold for them."""

    name: str
    since: dict[str, float]
    traffic: Traffic
    counted_at: float = 0.0
    locked_until: float = 0.0
    left: int = 0
    rounds: int = 0
    rooms: list[Room] = []
    backoffs: dict[tuple[str, str], tuple[float, int]] = {}
    """By pair: until when it is left alone, and how often it was refused."""


class _Path(msgspec.Struct):
    """How the notifications of a stay go now: cost and links of one, and whom it concerns where."""

    cost: float
    links: int
    concerned: dict[str, Concerned]


def adapt(course: Course, traffic: float = 1.0, **changes: Any) -> TopologyRun:
    """One course; `changes` are settings (in seconds) that are to be others."""
    given = adaptive_settings(traffic, **changes)
    del given["costs"]  # they are handed over with each decision, and exact
    exact: dict[str, Any] = {"cost_tolerance": 0.0, "cost_resolution": 0.0}
    return _Run(course, OptimizationSettings(mode="on", **exact, **given)).run()


class _Run:
    """One run; times are in seconds, as settings are."""

    def __init__(self, course: Course, settings: OptimizationSettings) -> None:
        self.course, self.settings = course, settings
        self.now = 0.0
        self.prices = course.prices_at(0)
        self.place = {name: at for at, name in enumerate(course.brokers)}
        self.brokers = {name: _Broker(name, {}, Traffic()) for name in course.brokers}
        for left, right in course.tree.links:
            self.brokers[left].since[right] = 0.0
            self.brokers[right].since[left] = 0.0
        for one in self.brokers.values():
            one.traffic.turn(0.0, settings.window_max_seconds)
        self.current: dict[int, Stay] = {}
        self.paths: dict[int, _Path] = {}
        """By job; missing where the tree, the job or prices have changed."""
        self.uncounted: dict[str, dict[Concerned, int]] = {name: {} for name in course.brokers}
        self.measured = np.zeros((max(1, course.parameters.ticks // MEASURE_TICKS), MEASURES))
        self.events: list[tuple[float, int, int, str]] = []

    def run(self) -> TopologyRun:
        """All of the course."""
        course, ticks = self.course, self.course.parameters.ticks
        for number, stay in enumerate(course.stays):
            self.events.append((stay.begin, 0, number, ""))
        self.events += [(float(at), 1, 0, "") for at in course.price_times()]
        for job in range(course.parameters.jobs):
            self.events.append((course.batch_at(job, 0), 2, job, "0"))
        for name in course.brokers:
            self.events.append((START_TICK + self._period_ticks(self.brokers[name]), 3, 0, name))
        heapq.heapify(self.events)
        while self.events and self.events[0][0] < ticks:
            tick, kind, number, text = heapq.heappop(self.events)
            self.now = tick * TICK_SECONDS
            if kind == 0:
                stay = course.stays[number]
                self.current[stay.job] = stay
                self.paths.pop(stay.job, None)
            elif kind == 1:
                self.prices = course.prices_at(tick)
                self.paths.clear()
            elif kind == 2:
                self._publish(tick, number, int(text))
            else:
                self._tick(tick, self.brokers[text], is_due=number == 0)
        neighbours, degrees = tree_arrays(course)
        for at, name in enumerate(course.brokers):
            others = [self.place[other] for other in self.brokers[name].since]
            degrees[at] = len(others)
            neighbours[at, : len(others)] = others
        return outcome_of(course, self.measured, neighbours, degrees)

    def _row(self, tick: float) -> Any:
        return self.measured[min(int(tick / MEASURE_TICKS), len(self.measured) - 1)]

    # Traffic

    def _publish(self, tick: float, job: int, batch: int) -> None:
        course = self.course
        if batch + 1 < course.published.shape[1]:
            following = (course.batch_at(job, batch + 1), 2, job, str(batch + 1))
            heapq.heappush(self.events, following)
        number = int(course.published[job, batch])
        if not number:
            return
        path = self.paths.get(job)
        if path is None:
            path = self.paths[job] = self._path(self.current[job].places)
        row = self._row(tick)
        row[COST] += number * path.cost
        row[HOPS] += number * path.links
        row[DEGREE] = max(len(one.since) for one in self.brokers.values())
        for name, concerned in path.concerned.items():
            counts = self.uncounted[name]
            counts[concerned] = counts.get(concerned, 0) + number

    def _path(self, places: tuple[str, ...]) -> _Path:
        """The delivery tree of a notification (Eq. 5.2)."""
        brokers, prices, place = self.brokers, self.prices, self.place
        members = set(places)
        order = [(places[0], "")]
        for name, above in order:
            order += [(other, name) for other in brokers[name].since if other != above]
        wanted: dict[str, list[str]] = {}
        cost, links = 0.0, 0
        for name, above in reversed(order):
            if name in members or name in wanted:
                if above:
                    wanted.setdefault(above, []).append(name)
                    wanted.setdefault(name, []).append(above)
                    links += 1
                    cost += float(prices.links[place[name], place[above]])
                cost += float(prices.processing[place[name]])
                if name in members:
                    wanted.setdefault(name, []).append(LOCAL)
        concerned = {name: tuple(sorted(others)) for name, others in wanted.items()}
        return _Path(cost, links, concerned)

    def _collect(self, one: _Broker) -> None:
        """Take what was counted so far."""
        counts = {concerned: (n, 0) for concerned, n in self.uncounted[one.name].items()}
        self.uncounted[one.name] = {}
        one.traffic.fold(counts, self.now)

    # Deciding

    def _period_ticks(self, one: _Broker) -> float:
        """About a period, as a broker draws it."""
        one.rounds += 1
        drawn = crc32(f"{one.name}.1/{one.rounds}".encode())
        return self.settings.period_seconds / TICK_SECONDS * (0.8 + 0.4 * drawn / 2**32)

    def _tick(self, tick: float, one: _Broker, *, is_due: bool) -> None:
        """A period is over, or a swap of this broker is, and it looks for the next."""
        if is_due:
            heapq.heappush(self.events, (tick + self._period_ticks(one), 3, 0, one.name))
            one.left = self.settings.per_round
        self._collect(one)
        if one.locked_until > self.now or one.left <= 0:
            return
        found = self._consider(one)
        if found is None:
            return
        one.rooms = found.rooms
        if found.best is None:
            return
        one.left -= 1
        mover, onto = self.brokers[found.best.mover], self.brokers[found.best.onto]
        if not self._may_swap(one, mover, onto):
            self._refused(one, (mover.name, onto.name))
            return
        if len(onto.since) >= self.settings.degree_max and not self._make_room(tick, onto, one):
            self._refused(one, (mover.name, onto.name))
            return
        seconds = self._swap(tick, one, mover, onto)
        heapq.heappush(self.events, (tick + seconds / TICK_SECONDS, 3, 1, one.name))

    def _consider(self, one: _Broker) -> Considered | None:
        """What a broker finds when it looks at all pairs of its neighbours."""
        settings, now = self.settings, self.now
        one.traffic.turn(now, settings.window_max_seconds)
        window = one.traffic.window(float("-inf"), now, settings.window_max_seconds)
        if window is None or len(one.since) < 2 or window.lost_share > LOST_SHARE_MAX:
            return None
        here = self.place[one.name]
        neighbours = {
            name: Seen(self._told(self.brokers[name]), self._link(one.name, name), since, 0)
            for name, since in one.since.items()
        }
        parts = [Part(each.begin, tabulate(seconds, each.sets)) for seconds, each in window.parts()]
        view = View(
            one.name,
            now,
            float(self.prices.processing[here]),
            neighbours,
            parts,
            settings,
            self._link,
            lambda mover, onto: one.backoffs.get((mover, onto), (0.0, 0))[0] <= now,
            len(one.since) >= settings.degree_max,
        )
        return consider(view)

    def _told(self, one: _Broker) -> Neighbourhood:
        """What a neighbour has told."""
        slots = max(0, self.settings.degree_max - len(one.since))
        price = None if slots or not one.rooms else one.rooms[0].loss
        processing = float(self.prices.processing[self.place[one.name]])
        return Neighbourhood(processing, 0.0, len(one.since), slots, price)

    def _link(self, left: str, right: str) -> float:
        return float(self.prices.links[self.place[left], self.place[right]])

    def _may_swap(self, *three: _Broker) -> bool:
        return all(one.locked_until <= self.now for one in three)

    def _refused(self, one: _Broker, pair: tuple[str, str]) -> None:
        times = one.backoffs.get(pair, (0.0, 0))[1] + 1
        periods = min(2**times, BACKOFF_LAST)
        one.backoffs[pair] = (self.now + periods * self.settings.period_seconds, times)

    def _make_room(self, tick: float, full: _Broker, asking: _Broker) -> bool:
        """A broker without room moves one of its neighbours onto another one; whether it could."""
        for room in full.rooms:
            names = {room.mover, room.onto}
            if asking.name in names or not names <= full.since.keys():
                continue
            mover, onto = self.brokers[room.mover], self.brokers[room.onto]
            has_room = len(onto.since) < self.settings.degree_max
            if has_room and self._may_swap(mover, onto):
                self._swap(tick, full, mover, onto)
                return True
        return False

    # Changing the tree

    def _swap(self, tick: float, middle: _Broker, mover: _Broker, onto: _Broker) -> float:
        """Let the mover hang on another one; counts go on as `counting` has it. How long it takes.

        Brokers are locked for that long.
        """
        for one in (middle, mover, onto):
            self._collect(one)
            for pair in [pair for pair in one.backoffs if {*pair} & {mover.name, onto.name}]:
                del one.backoffs[pair]
        since = middle.since.pop(mover.name)
        middle.traffic.swapped(mover.name, onto.name)
        middle.since[onto.name] = max(since, middle.since[onto.name])
        mover.traffic.renamed(middle.name, onto.name)
        mover.since[onto.name] = mover.since.pop(middle.name)
        onto.traffic.turn(self.now, self.settings.window_max_seconds, at_once=True)
        onto.since[mover.name] = onto.since[middle.name] = self.now
        self.paths.clear()
        self._row(tick)[CHANGES] += 1
        names = middle.name, mover.name, onto.name
        ring = sum(self._link(names[at], names[at - 1]) for at in range(3))
        seconds = 2 * ring * TICK_SECONDS
        for one in (middle, mover, onto):
            one.locked_until = self.now + seconds
        return seconds
