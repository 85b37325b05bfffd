"""How long deliveries take while the tree changes, beside before and after, on the same lengths.

Changes and quiet times take turns, so that a slow minute of the machine hits both alike. A delivery
belongs to a change if it was under way at any moment of it. Slow ones are under way for longer, so
they meet any moment more often than quick ones; hence what is compared is chosen by the same rule:
what was under way at any moment of a time as long as the change in the quiet before it and after
it. (Beside all quiet deliveries a change that does nothing would seem to make them slower.)

The length of a delivery is the number of links it had to pass: in the tree as it was then, and
during a change in the old or in the new tree, whichever is longer. Only what crosses the new link
ever waits for a change, so that is told apart from the rest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sapwood.bench.live.changes import Change
from sapwood.bench.live.clients import Sample
from sapwood.bench.measuring import percentile
from sapwood.protocol.tree import Topology

SAMPLES_MIN: Final = 1000
"""Fewer deliveries of a length are not judged: a p99 needs some above it."""

SHARE: Final = 0.99

Pair = tuple[str, str]


class Timed(NamedTuple):
    """A delivery as it is compared."""

    length: int
    seconds: float
    crosses: bool
    """Whether it passed the new link of a change that was under way, if it kept to the new tree."""
    is_during: bool


class Length(NamedTuple):
    """Deliveries over so many links: how many, and the p99 in seconds, quiet and during changes."""

    length: int
    quiet: int
    during: int
    p99_quiet: float
    p99_during: float

    @property
    def ratio(self) -> float:
        """How much longer it takes during changes."""
        return self.p99_during / self.p99_quiet


class Figures(NamedTuple):
    """What changes do to deliveries."""

    lengths: list[Length]
    """All deliveries, by length; of those lengths that there were enough of."""
    not_crossing: list[Length]
    """Those that do not cross the new link."""
    together: Length
    """All lengths, as many of each in quiet times as there are during changes."""
    ratios: tuple[float, ...]
    """The same for each few changes in a row, least first. A moment at which the machine stands
    still spoils the ratio of all; it spoils one of these, and not the one in the middle."""
    throughput: float
    """Of those that do not cross: deliveries a second during changes, divided by quiet ones."""
    seconds: tuple[float, float]
    """How long a change took: half of them, and the longest."""


def figures(samples: Sequence[Sample], changes: Sequence[Change], until: float) -> Figures:
    """Compare deliveries during changes with those around them.

    Changes are in their order, with quiet times between, the last of which ends at `until`.
    """
    by_change = list(_timed(samples, changes, until))
    timed = [one for each in by_change for one in each]
    seconds = [one.ended - one.began for one in changes]
    return Figures(
        _by_length(timed),
        _by_length(one for one in timed if not one.crosses),
        _together(timed),
        tuple(sorted(one.ratio for one in map(_together, _groups(by_change)))),
        _throughput(samples, changes),
        (percentile(seconds, 0.5), max(seconds)),
    )


def _timed(
    samples: Sequence[Sample], changes: Sequence[Change], until: float
) -> Iterator[list[Timed]]:
    """By change: deliveries that met it, or a time as long in the quiet before or after it."""
    met = _Meeting(samples)
    quiet = [*(one.asked for one in changes), until]
    for at, change in enumerate(changes):
        yield list(_timed_at(met, change, quiet[at], quiet[at + 1]))


def _timed_at(met: _Meeting, change: Change, before: float, after: float) -> Iterator[Timed]:
    """Deliveries of one change and of the quiet times that end before and after it."""
    seconds = change.ended - change.began
    for sample in met.between(change.began, change.ended):
        ends = (sample.source, sample.target)
        length = max(_links(change.before, ends), _links(change.after, ends))
        yield Timed(length, sample.seconds, _crosses(change, ends), is_during=True)
    for tree, end in ((change.before, before), (change.after, after)):
        for sample in met.between(end - seconds, end):
            length = _links(tree, (sample.source, sample.target))
            yield Timed(length, sample.seconds, crosses=False, is_during=False)


class _Meeting:
    """Finds the deliveries that were under way at any moment of a time."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = sorted(samples, key=lambda one: one.published_at)
        self._published = [one.published_at for one in self._samples]
        self._longest = max((one.seconds for one in samples), default=0.0)

    def between(self, first: float, last: float) -> Iterator[Sample]:
        begin = bisect_left(self._published, first - self._longest)
        end = bisect_right(self._published, last)
        for sample in self._samples[begin:end]:
            if sample.published_at + sample.seconds >= first:
                yield sample


@lru_cache(100_000)
def _links(tree: Topology, ends: Pair) -> int:
    return len(tree.path(*ends)) - 1


@lru_cache(100_000)
def _crosses(change: Change, ends: Pair) -> bool:
    """Whether the way between two brokers in the new tree passes the new link."""
    path = change.after.path(*ends)
    new = set(change.wanted.links[1])
    return any({path[at - 1], path[at]} == new for at in range(1, len(path)))


def _split(timed: Iterable[Timed]) -> dict[int, tuple[list[float], list[float]]]:
    """By length: seconds in quiet times, and during changes."""
    found: dict[int, tuple[list[float], list[float]]] = {}
    for one in timed:
        found.setdefault(one.length, ([], []))[one.is_during].append(one.seconds)
    return dict(sorted(found.items()))


def _groups(by_change: Sequence[list[Timed]]) -> Iterator[list[Timed]]:
    """Changes in a row, as many as it takes for enough deliveries; what is left over is left."""
    group: list[Timed] = []
    during = 0
    for each in by_change:
        group += each
        during += sum(one.is_during for one in each)
        if during >= SAMPLES_MIN:
            yield group
            group, during = [], 0


def _by_length(timed: Iterable[Timed]) -> list[Length]:
    return [
        Length(length, len(quiet), len(during), percentile(quiet, SHARE), percentile(during, SHARE))
        for length, (quiet, during) in _split(timed).items()
        if min(len(quiet), len(during)) >= SAMPLES_MIN
    ]


def _together(timed: Sequence[Timed]) -> Length:
    """All lengths at once: each quiet delivery counts so often that lengths are as in changes."""
    weighted: list[tuple[float, float]] = []
    during: list[float] = []
    for quiet_ones, during_ones in _split(timed).values():
        if quiet_ones and during_ones:
            weight = len(during_ones) / len(quiet_ones)
            weighted += [(seconds, weight) for seconds in quiet_ones]
            during += during_ones
    if not during:
        return Length(0, 0, 0, 0.0, 0.0)
    p99 = weighted_percentile(weighted, SHARE)
    return Length(0, len(weighted), len(during), p99, percentile(during, SHARE))


def weighted_percentile(figures: Iterable[tuple[float, float]], share: float) -> float:
    """The least figure that at least this share of all weight does not exceed."""
    ordered = sorted(figures)
    wanted = share * sum(weight for _, weight in ordered)
    passed = 0.0
    for figure, weight in ordered:
        passed += weight
        if passed >= wanted - 1e-9:
            return figure
    raise ValueError("nothing to take a share of")


def _throughput(samples: Sequence[Sample], changes: Sequence[Change]) -> float:
    """Deliveries of pairs that do not cross the new link, in changes beside quiet times."""
    arrivals: dict[Pair, list[float]] = {}
    for sample in samples:
        arrived = sample.published_at + sample.seconds
        arrivals.setdefault((sample.source, sample.target), []).append(arrived)
    for times in arrivals.values():
        times.sort()
    first = min(times[0] for times in arrivals.values())
    last = max(times[-1] for times in arrivals.values())
    changing = sum(one.ended - one.began for one in changes)
    got = expected = 0.0
    for ends, times in arrivals.items():
        during = [_count(times, one.began, one.ended) for one in changes]
        rate = (len(times) - sum(during)) / (last - first - changing)
        for change, count in zip(changes, during, strict=True):
            if not _crosses(change, ends):
                got += count
                expected += rate * (change.ended - change.began)
    return got / expected if expected else 0.0


def _count(times: Sequence[float], first: float, last: float) -> int:
    return bisect_right(times, last) - bisect_right(times, first)
