"""Times in which nothing fails: what clients publish then comes once, in order, whatever moves.

Between a fault and its end notifications may be lost or repeated; that is what the fault model
allows, and no more. So a run with faults has periods that can be judged in every respect: they
begin when the network is right again after a fault and all clients are back, and end shortly
before the next one, as what is still under way then may be lost with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from math import inf
from typing import Final, NamedTuple

from sapwood.sim.faithful.client import Delivery, FaithfulClient, Publication
from sapwood.sim.faithful.oracle import rows_of
from sapwood.trace.judge.ordering import judge_order
from sapwood.trace.judge.verdict import OUT_OF_ORDER_CAUSAL, Findings, Verdict

SETTLE_SECONDS: Final = 3.0
"""After the network is right, everybody knows within so long what is wanted elsewhere."""

UNDER_WAY_SECONDS: Final = 2.0
"""What was published so long before a fault has arrived."""

SHOWN_MAX: Final = 3

Key = tuple[str, int]


class Period(NamedTuple):
    """A time without faults, and who can reach whom in it."""

    begin: float
    end: float
    parts: Mapping[str, str]
    """By client that is there: a name for all that can reach each other."""


class Undisturbed:
    """Finds such periods while a run goes on, and judges what was published in them."""

    def __init__(self, faults: Iterable[tuple[float, float]]) -> None:
        self._faults = sorted(faults)
        """From when to when something fails; what never ends is over at once."""
        self.periods: list[Period] = []

    def wants_look(self, now: float) -> bool:
        """Whether a period may begin now: nothing fails, and none has begun since something did."""
        if any(begin <= now <= end for begin, end in self._faults):
            return False
        last = max((end for _, end in self._faults if end <= now), default=-inf)
        return not self.periods or self.periods[-1].begin < last

    def right(self, now: float, parts: Mapping[str, str]) -> None:
        """The network is right, and these clients are there."""
        begin = now + SETTLE_SECONDS
        following = min((at for at, _ in self._faults if at > now), default=inf)
        self.periods.append(Period(begin, following - UNDER_WAY_SECONDS, dict(parts)))

    def judge(self, clients: Mapping[str, FaithfulClient]) -> Iterator[str]:
        """What was lost, repeated or reordered though nothing failed."""
        owed: dict[Key, Period] = {}
        for name, client in clients.items():
            for one in client.publications:
                period = self._period(name, client, one)
                if period is not None:
                    owed[name, one.sequence] = period
        yield from islice(_lost(clients, owed), SHOWN_MAX)
        yield from islice(_disordered(clients, owed), SHOWN_MAX)

    def judged(self, clients: Mapping[str, FaithfulClient]) -> int:
        """How many publications are judged."""
        return sum(
            self._period(name, client, one) is not None
            for name, client in clients.items()
            for one in client.publications
        )

    def _period(self, name: str, client: FaithfulClient, one: Publication) -> Period | None:
        taken_at = client.accepted_at.get(one.sequence, inf)
        return next(
            (
                period
                for period in self.periods
                if name in period.parts and period.begin <= one.at and taken_at <= period.end
            ),
            None,
        )


def _lost(clients: Mapping[str, FaithfulClient], owed: Mapping[Key, Period]) -> Iterator[str]:
    got = {name: {_key(one) for one in client.deliveries} for name, client in clients.items()}
    published = {
        (name, one.sequence): one for name, client in clients.items() for one in client.publications
    }
    for key, period in owed.items():
        one = published[key]
        for name, client in clients.items():
            is_near = period.parts.get(name) == period.parts[key[0]]
            if not is_near or key in got[name] or not _wants(client, one):
                continue
            yield f"lost though nothing failed: {key[0]}:{key[1]}, sent {one.at:.2f}, at {name}"


def _wants(client: FaithfulClient, one: Publication) -> bool:
    return any(
        wanted.filter.matches(dict(one.attributes)) and wanted.had_settled(one.at)
        for wanted in client.subscriptions.values()
    )


def _disordered(clients: Mapping[str, FaithfulClient], owed: Mapping[Key, Period]) -> Iterator[str]:
    findings = Findings(Verdict(), violations_max=SHOWN_MAX)
    rows = {
        name: [row for row in rows_of(name, client) if (row.publisher, row.sequence) in owed]
        for name, client in clients.items()
    }
    judge_order(rows, findings)
    has_moved = any(not home.is_resumed for client in clients.values() for home in client.homes[1:])
    for violation in findings.finish().violations:
        if violation.kind != OUT_OF_ORDER_CAUSAL or not has_moved:
            yield f"though nothing failed: {violation}"


def _key(one: Delivery) -> Key:
    return one.publisher, one.sequence
