"""What had to be delivered and what was: expected, lost, early, unexpected, unjudged."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush

import msgspec

from sapwood.trace.judge import rules
from sapwood.trace.judge.causes import Key, key_of
from sapwood.trace.judge.declarations import Declaration, DeclarationBook, Declarations
from sapwood.trace.judge.filterbook import FilterBook
from sapwood.trace.judge.gaps import BEGINNING, Gaps
from sapwood.trace.judge.verdict import EARLY, LOST, UNEXPECTED, UNJUDGED, Findings
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
    is_judged = rules.is_judged(published.at, evidence.settle, evidence.end)
    if published.attributes is None or not is_judged:
        return {}
    owed = standing.owed(published.at, evidence.filters.matching(published))
    if owed and evidence.advertisements_required and not _was_advertised(evidence, published):
        return {}
    return owed


def _was_advertised(evidence: Evidence, published: Row) -> bool:
    advertisements = evidence.declarations.advertisements
    matching = _matching(evidence, advertisements, published, published.publisher or "")
    return any(each.is_settled(published.at) for each in matching)


def _matching(
    evidence: Evidence, declarations: Declarations, published: Row, client: str
) -> Iterator[rules.Validity]:
    """When each declaration of a client was valid whose filter matches a publication."""
    own = declarations.of(client)
    for number in sorted(evidence.filters.matching(published) & own.keys()):
        for declaration in own[number]:
            yield declaration.validity(evidence.settle)


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
            continue
        matching = _matching(evidence, evidence.declarations.subscriptions, published, client)
        at, settle = published.at, evidence.settle
        if rules.judge_missing(evidence.gaps, client, matching, at, settle) == UNJUDGED:
            verdict.unjudged += 1
        else:
            verdict.expected += 1
            findings.violation(LOST, client, declaration.started, published)


def _judge_unasked(
    evidence: Evidence, findings: Findings, published: Row, client: str, delivery: Row
) -> None:
    """A first delivery that was not expected: early, unexpected, or nobody can say."""
    verdict = findings.verdict
    found = UNJUDGED
    if published.attributes is not None:
        matching = _matching(evidence, evidence.declarations.subscriptions, published, client)
        settle = evidence.settle
        found = rules.judge_unasked(evidence.gaps, client, matching, delivery.at, settle)
    if found == UNJUDGED:
        verdict.unjudged += 1
        return
    verdict.delivered += 1
    if found == EARLY:
        verdict.early += 1
    else:
        findings.violation(UNEXPECTED, client, published, delivery)


def _judge_never_published(evidence: Evidence, findings: Findings) -> None:
    """Deliveries of what no row says was published."""
    history = _History(evidence.published if evidence.gaps else {})
    for key, delivered in evidence.delivered.items():
        if key in evidence.published:
            continue
        since, until = history.around(key)
        for client, delivery in delivered.items():
            found = rules.judge_unpublished(evidence.gaps, key[0], since, until, delivery.at)
            if found == UNJUDGED:
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

    def around(self, key: Key) -> tuple[float | None, float | None]:
        """When its publisher published what came before a notification, and what came after."""
        publisher, sequence = key
        times = self._times.get(publisher, [])
        index = bisect_left(times, (sequence, BEGINNING))
        since = times[index - 1][1] if index else None
        until = times[index][1] if index < len(times) else None
        return since, until


def _publications(published: Mapping[Key, Row]) -> Iterator[tuple[str, int, float]]:
    for row in published.values():
        yield *key_of(row), row.at
