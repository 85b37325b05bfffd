"""One run of the matching benchmark: one workload, one number of filters, one process.

Filters are made, entered and dropped in small lots: the memory measured is the index and its keys,
not the filters. The index is built first, while the process is fresh; the two baselines, which need
all filters again, come after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import cycle, islice
from random import Random
from typing import Any, NamedTuple

from sapwood.bench.counting import CountingIndex
from sapwood.bench.measuring import (
    Stopwatch,
    batches_of,
    in_chunks,
    in_turns,
    microseconds_each,
    most_resident_megabytes,
    per_second,
    percentile,
    resident_megabytes,
)
from sapwood.filters.filter import Filter
from sapwood.filters.notification import Notification
from sapwood.filters.values import Value
from sapwood.matching.index import MatchIndex
from sapwood.matching.warm import exercise
from sapwood.matching.workload import Workload

BATCH = 256
_LOT = 1000
_MATCHES_PER_CHANGE = 10
"""Events between two additions: 100 additions a second beside 1,000 events a second."""

Event = dict[str, Value]
Matcher = MatchIndex[int] | CountingIndex


class Plan(NamedTuple):
    """What to measure, and how thoroughly."""

    workload: str
    seed: int
    filters: int
    naive_events: int
    """Events for the naive scan, which is slow; results are compared on these."""
    events: int
    singles: int
    """Events matched one by one."""
    rounds: int
    round_seconds: float


class Naive:
    """The naive scan over filters that come in lots: which match, and how long it takes."""

    def __init__(self, events: list[Event]) -> None:
        self.matched: list[set[int]] = [set() for _ in events]
        self._notifications = [Notification(event) for event in events]
        self._watch = Stopwatch()

    def scan(self, first_key: int, filters: list[Filter]) -> None:
        """Ask each filter about each event."""
        with self._watch:
            for key, filter_ in enumerate(filters, start=first_key):
                self.add(key, filter_)

    def add(self, key: int, filter_: Filter) -> None:
        """Ask one filter about each event."""
        for notification, matched in zip(self._notifications, self.matched, strict=True):
            if filter_.matches(notification):
                matched.add(key)

    def remove(self, key: int) -> None:
        """A filter is no longer there."""
        for matched in self.matched:
            matched.discard(key)

    @property
    def events_per_second(self) -> float:
        """How many events a second it could scan all filters for."""
        return len(self._notifications) / self._watch.seconds


def measure(plan: Mapping[str, Any]) -> dict[str, Any]:
    """All figures of one run."""
    return Run(Plan(**plan)).figures()


class Run:
    """The measurements of one run. Each leaves index and naive scan with the same filters."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._workload = Workload(plan.workload, plan.seed)
        events = self._workload.events(2 * plan.events)
        self._events, self._earlier_events = events[: plan.events], events[plan.events :]
        self._index: MatchIndex[int] = MatchIndex(keeps_filters=False)
        self._counting = CountingIndex()
        self._naive = Naive(self._events[: plan.naive_events])
        self._keys = list(range(plan.filters))
        self._random = Random(plan.seed)

    def figures(self) -> dict[str, Any]:
        """Measure everything."""
        engine = self._build() | self._optimize()
        more_filters = self._build_baselines()
        matched = self._index.match_batch(self._events)
        is_right = self._agrees_with_naive() and self._agrees_with_counting(matched)
        rates, latencies = self._throughput(), self._latencies()
        changing = self._while_changing(more_filters)
        engine["remove_us"] = self._remove_half()
        return {
            "workload": self._plan.workload,
            "filters": self._plan.filters,
            "naive": {"events_per_second": self._naive.events_per_second},
            "counting": rates["counting"] | latencies["counting"],
            "engine": rates["engine"] | latencies["engine"] | engine,
            "while_changing": changing,
            "matches_per_event": sum(map(len, matched)) / len(matched),
            "identical": is_right and self._agrees_with_naive(),
            "compared_events": self._plan.naive_events,
        }

    def _build(self) -> dict[str, Any]:
        """Enter all filters into the engine; time and memory that takes."""
        exercise()  # the compiled code is loaded, and not counted as memory of the index
        memory = resident_megabytes()
        watch = Stopwatch()
        keys = iter(self._keys)
        for lot in in_chunks(self._workload.filters(self._plan.filters), self._plan.filters, _LOT):
            with watch:
                for filter_ in lot:
                    self._index.add(next(keys), filter_)
        self._index.match_batch(self._earlier_events[:BATCH])
        resident = resident_megabytes()
        return {
            "add_us": watch.seconds / self._plan.filters * 1e6,
            "memory_mb": resident - memory,
            "memory_peak_mb": max(most_resident_megabytes(), resident) - memory,
        }

    def _optimize(self) -> dict[str, Any]:
        """Measure the index as it was built; let it adapt to the events seen meanwhile."""
        rates = [self._rate(self._index, self._earlier_events)() for _ in range(self._plan.rounds)]
        watch = Stopwatch()
        with watch:
            self._index.optimize()
        return {"events_per_second_as_built": max(rates), "optimize_seconds": watch.seconds}

    def _build_baselines(self) -> Iterator[Filter]:
        """Enter all filters into the baselines; the filters that follow those in the stream."""
        stream = self._workload.filters(self._plan.filters + self._plan.singles)
        first = 0
        for lot in in_chunks(stream, self._plan.filters, _LOT):
            for key, filter_ in enumerate(lot, start=first):
                self._counting.add(key, filter_)
            self._naive.scan(first, lot)
            first += len(lot)
        return stream

    def _agrees_with_naive(self) -> bool:
        """Whether the engine finds what the naive scan found, in batches and one by one."""
        events = self._events[: self._plan.naive_events]
        singly = [self._index.match(event) for event in events]
        return all(
            _same(expected, found)
            for results in (singly, self._index.match_batch(events))
            for expected, found in zip(self._naive.matched, results, strict=True)
        )

    def _agrees_with_counting(self, matched: list[list[int]]) -> bool:
        events = self._events[:BATCH]
        counted = self._counting.match_batch(events)
        return all(_same(set(keys), found) for keys, found in zip(counted, matched, strict=False))

    def _rate(self, index: Matcher, events: list[Event]) -> Callable[[], float]:
        batches = batches_of(events, BATCH)
        # A slow contender works through whole events too, but does not need 256 of them.
        return lambda: per_second(index.match_batch, batches, self._plan.round_seconds)

    def _throughput(self) -> dict[str, dict[str, float]]:
        """Events a second in batches, of both, in turns."""
        contenders = {
            "engine": self._rate(self._index, self._events),
            "counting": self._rate(self._counting, self._events),
        }
        rates = in_turns(contenders, self._plan.rounds)
        return {
            name: {
                "events_per_second": max(figures),
                "events_per_second_median": percentile(figures, 0.5),
            }
            for name, figures in rates.items()
        }

    def _latencies(self) -> dict[str, dict[str, float]]:
        """Microseconds for a batch of one."""
        events = list(islice(cycle(self._events), self._plan.singles))
        counted = events[: max(self._plan.singles // 10, 20)]
        return {
            "engine": _spread(microseconds_each(self._index.match, events), "latency_us"),
            "counting": _spread(microseconds_each(self._counting.match, counted), "latency_us"),
        }

    def _while_changing(self, filters: Iterator[Filter]) -> dict[str, Any]:
        """Match one by one while filters come and go, ten events for each."""
        events = cycle(self._events)
        matches: list[float] = []
        changes: list[float] = []
        for new_key in range(self._plan.filters, self._plan.filters + self._changes):
            filter_ = next(filters)
            old_key = self._take_key()
            changes += microseconds_each(lambda pair: self._index.add(*pair), [(new_key, filter_)])
            changes += microseconds_each(self._index.remove, [old_key])
            matches += microseconds_each(self._index.match, islice(events, _MATCHES_PER_CHANGE))
            self._keys.append(new_key)
            self._naive.add(new_key, filter_)
            self._naive.remove(old_key)
        figures = _spread(matches, "latency_us")
        return {
            **figures,
            "p99_over_p50": figures["latency_us_p99"] / figures["latency_us_p50"],
            "longest_pause_us": max(matches + changes),
            "additions": self._changes,
            "removals": self._changes,
        }

    @property
    def _changes(self) -> int:
        return self._plan.singles // _MATCHES_PER_CHANGE

    def _take_key(self) -> int:
        """Take a key that is in the index, any one, off the list of those that are."""
        at = self._random.randrange(len(self._keys))
        self._keys[at], self._keys[-1] = self._keys[-1], self._keys[at]
        return self._keys.pop()

    def _remove_half(self) -> float:
        """Remove half of the filters; microseconds for each."""
        watch = Stopwatch()
        keys = [self._take_key() for _ in range(max(len(self._keys) // 2, 1))]
        with watch:
            for key in keys:
                self._index.remove(key)
        for key in keys:
            self._naive.remove(key)
        return watch.seconds / len(keys) * 1e6


def _same(expected: set[int], found: list[int]) -> bool:
    """Whether exactly the expected keys were found, each once."""
    return len(found) == len(expected) and set(found) == expected


def _spread(figures: list[float], name: str) -> dict[str, float]:
    return {f"{name}_p50": percentile(figures, 0.5), f"{name}_p99": percentile(figures, 0.99)}
