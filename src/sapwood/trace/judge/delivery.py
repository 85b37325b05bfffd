"""What had to be delivered and what was: expected, lost, early, unexpected, unjudged."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush

import msgspec

from sapwood.trace.judge.causes import Key, key_of
from sapwood.trace.judge.declarations import Declaration, DeclarationBook, Declarations
from sapwood.trace.judge.filterbook import FilterBook
from sapwood.trace.judge.gaps import BEGINNING, Gaps
from sapwood.trace.judge.verdict import LOST, UNEXPECTED, Findings
from sapwood.trace.schema import Row


class Evidence(msgspec.Struct, kw_only=True):
    """All that a run's trace says about deliveries."""

    filters: FilterBook
    declarations: DeclarationBook
    gaps: Gaps
    published: Mapping[Key, Row]
    delivered: Mapping[Key, Mapping[str, Row]]
    """The first delivery of each notification at each client."""

    end: float
    """When the trace ends."""

    settle: float
    advertisements_required: bool


class Standing:
    """The subscriptions that oblige the network, as time goes on.

    A subscription obliges from when it has settled to `settle` before it ends. Publications are
    asked about in the order of time, so each subscription enters once and leaves once.
    """

    def __init__(self, declarations: Declarations, settle: float) -> None:
        self._settle = settle
        # The place in the list breaks ties, so that declarations are never compared.
        self._coming = sorted(
            (
                (declaration.settled_at(settle), index, declaration)
                for index, declaration in enumerate(declarations.all)
            ),
            reverse=True,
        )
        self._leaving: list[tuple[float, int, Declaration]] = []
        self._standing: dict[int, dict[int, Declaration]] = {}

    def owed(self, at: float, numbers: Iterable[int]) -> dict[str, Declaration]:
        """The clients owed a notification of this time that these filters match."""
        self._advance(at)
        return {
            declaration.client: declaration
            for number in sorted(numbers)
            for declaration in self._standing.get(number, {}).values()
        }

    def _advance(self, at: float) -> None:
        while self._coming and self._coming[-1][0] <= at:
            _, index, declaration = self._coming.pop()
            self._standing.setdefault(declaration.number, {})[index] = declaration
            if declaration.ended is not None:
                heappush(self._leaving, (declaration.ended.at, index, declaration))
        while self._leaving and self._leaving[0][0] <= at + self._settle:
            _, index, declaration = heappop(self._leaving)
            del self._standing[declaration.number][index]


def judge_deliveries(evidence: Evidence, findings: Findings) -> None:
    """Count every pair that was expected or delivered, and report what is lost or unexpected."""
    findings.verdict.published += len(evidence.published)
    standing = Standing(evidence.declarations.subscriptions, evidence.settle)
    nobody: Mapping[str, Row] = {}
    for key, row in sorted(evidence.published.items(), key=lambda item: (item[1].at, item[0])):
        owed = _expected(evidence, standing, row)
        delivered = evidence.delivered.get(key, nobody)
        _judge_expected(evidence, findings, row, owed, delivered)
        for client, delivery in delivered.items():
            if client not in owed:
                _judge_unasked(evidence, findings, row, client, delivery)
    _judge_never_published(evidence, findings)


def _expected(evidence: Evidence, standing: Standing, published: Row) -> dict[str, Declaration]:
    """The clients that had to be delivered a notification, each with a subscription that says so.

    What was published without its attributes being recorded obliges nobody.
    """
    if published.attributes is None or published.at + evidence.settle > evidence.end:
        return {}
    matching = evidence.filters.matching(published)
    owed = standing.owed(published.at, matching)
    if owed and evidence.advertisements_required and not _was_advertised(evidence, published):
        return {}
    return owed


def _was_advertised(evidence: Evidence, published: Row) -> bool:
    declarations = evidence.declarations.advertisements.of(published.publisher or "")
    return any(
        declaration.is_settled(published.at, evidence.settle)
        for number in sorted(evidence.filters.matching(published) & declarations.keys())
        for declaration in declarations[number]
    )


def _judge_expected(
    evidence: Evidence,
    findings: Findings,
    published: Row,
    owed: Mapping[str, Declaration],
    delivered: Mapping[str, Row],
) -> None:
    verdict = findings.verdict
    for client, declaration in owed.items():
        if client in delivered:
            verdict.expected += 1
            verdict.delivered += 1
        elif evidence.gaps and _may_be_hidden(evidence, published, client):
            verdict.unjudged += 1
        else:
            verdict.expected += 1
            findings.violation(LOST, client, declaration.started, published)


def _may_be_hidden(evidence: Evidence, published: Row, client: str) -> bool:
    """Whether the delivery, or an end of the subscription, may have been in a gap.

    The delivery has `settle` to happen. The subscription is known to have stood when a row about
    it was last seen; after a gap a client that reconnects subscribes again, which is such a row.
    """
    declarations = evidence.declarations.subscriptions.of(client)
    last_seen = max(
        declaration.last_seen(published.at)
        for number in evidence.filters.matching(published) & declarations.keys()
        for declaration in declarations[number]
        if declaration.obliges(published.at, evidence.settle)
    )
    return evidence.gaps.hide(client, last_seen, published.at + evidence.settle)


def _judge_unasked(
    evidence: Evidence, findings: Findings, published: Row, client: str, delivery: Row
) -> None:
    """A first delivery that was not expected: early, unexpected, or nobody can say."""
    verdict = findings.verdict
    if published.attributes is None:
        verdict.unjudged += 1
    elif _was_wanted(evidence, published, client, delivery):
        verdict.early += 1
        verdict.delivered += 1
    elif evidence.gaps.hide(client, BEGINNING, delivery.at):  # the subscription may be missing
        verdict.unjudged += 1
    else:
        verdict.delivered += 1
        findings.violation(UNEXPECTED, client, published, delivery)


def _was_wanted(evidence: Evidence, published: Row, client: str, delivery: Row) -> bool:
    declarations = evidence.declarations.subscriptions.of(client)
    return any(
        declaration.was_in_force(delivery.at, evidence.settle)
        for number in evidence.filters.matching(published) & declarations.keys()
        for declaration in declarations[number]
    )


def _judge_never_published(evidence: Evidence, findings: Findings) -> None:
    """Deliveries of what no row says was published."""
    history = _History(evidence.published) if evidence.gaps else None
    for key, delivered in evidence.delivered.items():
        if key in evidence.published:
            continue
        for client, delivery in delivered.items():
            if history is not None and evidence.gaps.hide(key[0], *history.span(key, delivery)):
                findings.verdict.unjudged += 1
            else:
                findings.verdict.delivered += 1
                findings.violation(UNEXPECTED, client, delivery)


class _History:
    """When each publisher published what, to bound the time of what is missing in between."""

    def __init__(self, published: Mapping[Key, Row]) -> None:
        self._times: dict[str, list[tuple[int, float]]] = {}
        for publisher, sequence, at in sorted(_publications(published)):
            self._times.setdefault(publisher, []).append((sequence, at))

    def span(self, key: Key, delivery: Row) -> tuple[float, float]:
        """The time within which a notification must have been published."""
        publisher, sequence = key
        times = self._times.get(publisher, [])
        index = bisect_left(times, (sequence, BEGINNING))
        since = times[index - 1][1] if index else BEGINNING
        until = times[index][1] if index < len(times) else delivery.at
        return since, min(until, delivery.at)


def _publications(published: Mapping[Key, Row]) -> Iterator[tuple[str, int, float]]:
    for row in published.values():
        yield *key_of(row), row.at
