"""How long deliveries take while the tree changes, beside before and after, on the same lengths.

Changes and quiet times take turns, so that a slow minute of the machine hits both alike. A delivery
belongs to a change if it was under way at any moment of it. Its length is the number of links it
had to pass: in the tree as it was then, and during a change in the old or in the new tree,
whichever is longer. Only what crosses the new link ever waits for a change, so that is told apart
from the rest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sapwood.bench.live.changes import Change
from sapwood.bench.live.clients import Sample
from sapwood.bench.measuring import percentile
from sapwood.protocol.tree import Topology

SAMPLES_MIN: Final = 200
"""Fewer deliveries of a length during changes are not judged: a p99 needs some above it."""


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
    """All deliveries, by length."""
    not_crossing: list[Length]
    """Those that do not cross the new link."""
    throughput: float
    """Of those: deliveries a second during changes, divided by those in quiet times."""

    @property
    def ratio_max(self) -> float:
        """The worst ratio of all lengths that there were enough deliveries of."""
        return max((one.ratio for one in self.lengths), default=0.0)


def figures(samples: Sequence[Sample], changes: Sequence[Change]) -> Figures:
    """Compare deliveries during changes with those in between; changes are in their order."""
    begins = [one.began for one in changes]
    timed = [_timed(sample, changes, begins) for sample in samples]
    return Figures(
        _by_length(timed),
        _by_length(one for one in timed if not one.crosses),
        _throughput(samples, changes),
    )


def _timed(sample: Sample, changes: Sequence[Change], begins: Sequence[float]) -> Timed:
    """A delivery beside the changes, which begin at given times."""
    at = bisect_right(begins, sample.published_at + sample.seconds) - 1
    last = changes[max(at, 0)]
    ends = (sample.source, sample.target)
    if at < 0:
        return Timed(_links(last.before, ends), sample.seconds, crosses=False, is_during=False)
    if sample.published_at > last.ended:
        return Timed(_links(last.after, ends), sample.seconds, crosses=False, is_during=False)
    length = max(_links(last.before, ends), _links(last.after, ends))
    return Timed(length, sample.seconds, _crosses(last, ends), is_during=True)


@lru_cache(100_000)
def _links(tree: Topology, ends: tuple[str, str]) -> int:
    return len(tree.path(*ends)) - 1


@lru_cache(100_000)
def _crosses(change: Change, ends: tuple[str, str]) -> bool:
    """Whether the way between two brokers in the new tree passes the new link."""
    path = change.after.path(*ends)
    new = set(change.wanted.links[1])
    return any({path[at - 1], path[at]} == new for at in range(1, len(path)))


def _by_length(timed: Iterable[Timed]) -> list[Length]:
    by_length: dict[int, tuple[list[float], list[float]]] = {}
    for one in timed:
        by_length.setdefault(one.length, ([], []))[one.is_during].append(one.seconds)
    return [
        Length(length, len(quiet), len(during), percentile(quiet, 0.99), percentile(during, 0.99))
        for length, (quiet, during) in sorted(by_length.items())
        if min(len(quiet), len(during)) >= SAMPLES_MIN
    ]


def _throughput(samples: Sequence[Sample], changes: Sequence[Change]) -> float:
    """Deliveries of pairs that do not cross the new link, in changes beside quiet times."""
    arrivals: dict[tuple[str, str], list[float]] = {}
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
