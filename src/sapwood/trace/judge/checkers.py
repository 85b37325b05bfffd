"""The definitions of correctness, on the rows of a trace.

Whether they hold is decided from what brokers recorded and nothing else, so the same code judges a
simulation and a live network. What the counts mean is in docs/reference/traces.md; where each is
decided:

- duplicates and order: `sapwood.trace.judge.ordering`
- what had to be delivered and what was: `sapwood.trace.judge.delivery`
- subscriptions and advertisements over time: `sapwood.trace.judge.declarations`
- rows that are known to be missing: `sapwood.trace.judge.gaps`
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from sapwood.errors import TraceRowError
from sapwood.trace.files.reader import Trace
from sapwood.trace.judge.causes import Key
from sapwood.trace.judge.declarations import DECLARATION_KINDS, DeclarationBook, in_time
from sapwood.trace.judge.delivery import Evidence, judge_deliveries
from sapwood.trace.judge.filterbook import FilterBook, FinderMaker
from sapwood.trace.judge.gaps import BEGINNING, Gaps
from sapwood.trace.judge.ordering import judge_order
from sapwood.trace.judge.verdict import Findings, Verdict
from sapwood.trace.schema import (
    DELIVERED,
    PUBLISHED,
    SETTLE_SECONDS_DEFAULT,
    TRACE_GAP,
    Row,
    RunSettings,
    check_settle,
)

VIOLATIONS_MAX = 100
"""How many violations of each kind are kept with their rows, for each run."""


def check(
    rows: Iterable[Row],
    settle: float | None = None,
    *,
    settings: Mapping[str, RunSettings] | None = None,
    make_finder: FinderMaker | None = None,
    violations_max: int = VIOLATIONS_MAX,
) -> Verdict:
    """Judge rows, in any order, each run by itself.

    `settle` is the settling time in seconds; without it, what `settings` say of the run holds,
    or 2 s. A `sapwood.trace.files.reader.Trace` brings its settings with it.
    """
    checker = Checker(
        settle,
        settings=rows.settings if settings is None and isinstance(rows, Trace) else settings,
        make_finder=make_finder,
        violations_max=violations_max,
    )
    in_order = rows if isinstance(rows, Trace) else sorted(rows, key=lambda row: row.place)
    for row in in_order:
        checker.add(row)
    return checker.verdict()


class Checker:
    """Takes rows one by one and judges them all at the end.

    The rows of each broker come in the order of session and step; those of different brokers may
    be interleaved in any way. Rows that no definition needs (hops, control) are not kept.
    """

    def __init__(
        self,
        settle: float | None = None,
        *,
        settings: Mapping[str, RunSettings] | None = None,
        make_finder: FinderMaker | None = None,
        violations_max: int = VIOLATIONS_MAX,
    ) -> None:
        self._settle = None if settle is None else check_settle(settle)
        self._settings = settings or {}
        self._make_finder = make_finder
        self._violations_max = violations_max
        self._runs: dict[str, _JudgedRun] = {}

    def add(self, row: Row) -> None:
        """Take a row."""
        run = self._runs.get(row.run)
        if run is None:
            run = self._runs[row.run] = _JudgedRun()
        run.add(row)

    def verdicts(self) -> dict[str, Verdict]:
        """The verdict on each run, by its name, on the rows so far."""
        return {name: self._judge(name) for name in sorted(self._runs)}

    def verdict(self) -> Verdict:
        """The verdict on all runs: the sum of the verdicts on each."""
        total = Verdict()
        for verdict in self.verdicts().values():
            for name, count in verdict.counts().items():
                setattr(total, name, getattr(total, name) + count)
            total.violations += verdict.violations
        return total

    def _judge(self, name: str) -> Verdict:
        settings = self._settings.get(name, RunSettings())
        return self._runs[name].judge(
            msgspec.structs.replace(settings, settle_seconds=self._settle_of(settings)),
            FilterBook(self._make_finder),
            self._violations_max,
        )

    def _settle_of(self, settings: RunSettings) -> float:
        if self._settle is not None:
            return self._settle
        stated = settings.settle_seconds
        return SETTLE_SECONDS_DEFAULT if stated is None else stated


class _JudgedRun:
    """The rows of one run, sorted by what they are needed for."""

    def __init__(self) -> None:
        self._last: dict[str, Row] = {}
        self._end = BEGINNING
        self._gaps = Gaps()
        self._declarations: list[Row] = []
        self._published: dict[Key, Row] = {}
        self._events: dict[str, list[Row]] = {}

    def add(self, row: Row) -> None:
        last = self._last.get(row.broker)
        if last is not None and (last.session, last.step) >= (row.session, row.step):
            raise TraceRowError(
                f"{row.describe()} comes after row {last.step} of {last.broker}.{last.session}; "
                "rows of a broker come in order, each once (is a file there twice?)"
            )
        self._last[row.broker] = row
        self._end = max(self._end, row.at)
        if row.client is not None:
            self._gaps.seen(row.client, row.broker)
        if row.kind == DELIVERED:
            key_checked(row)
            self._event(row, row.client)
        elif row.kind == PUBLISHED:
            self._publish(row)
        elif row.kind in DECLARATION_KINDS:
            self._declarations.append(row)
        elif row.kind == TRACE_GAP:
            self._gaps.record(row, BEGINNING if last is None else last.at)

    def judge(self, settings: RunSettings, filters: FilterBook, violations_max: int) -> Verdict:
        assert settings.settle_seconds is not None
        declarations = DeclarationBook(filters)
        for row in sorted(self._declarations, key=in_time):
            declarations.apply(row)
        findings = Findings(Verdict(), violations_max)
        delivered = judge_order(self._events, findings)
        # A repeated delivery is one whatever else is missing: it counts on both sides.
        findings.verdict.delivered = findings.verdict.duplicated
        evidence = Evidence(
            filters=filters,
            declarations=declarations,
            gaps=self._gaps,
            published=self._published,
            delivered=delivered,
            end=self._end,
            settle=settings.settle_seconds,
            advertisements_required=settings.advertisements_required,
        )
        judge_deliveries(evidence, findings)
        return findings.finish()

    def _publish(self, row: Row) -> None:
        """Of one notification recorded twice, as after a reconnection, the earlier counts."""
        key = key_checked(row)
        known = self._published.get(key)
        if known is None or in_time(row) < in_time(known):
            self._published[key] = row
        self._gaps.seen(key[0], row.broker)
        self._event(row, key[0])

    def _event(self, row: Row, client: str | None) -> None:
        if client is None:
            raise TraceRowError(f"{row.describe()} has no client")
        events = self._events.get(client)
        if events is None:
            self._events[client] = [row]
        else:
            events.append(row)


def key_checked(row: Row) -> Key:
    """The notification a row is about; raises if it names none."""
    if row.publisher is None or row.sequence is None or row.sequence < 1:
        raise TraceRowError(
            f"{row.describe()} is about notification {row.publisher}:{row.sequence}; "
            "it needs a publisher and a sequence from 1"
        )
    return (row.publisher, row.sequence)
