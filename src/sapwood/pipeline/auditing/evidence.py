"""What has to be known of a run to judge its deliveries: who wanted what, from when to when.

Subscriptions and advertisements are few beside notifications. They are brought to the driver, put
in order by the same code that the checkers use (`sapwood.trace.judge.declarations`), and sent along
with the functions that go through notifications on the workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.errors import InvalidNotificationError, TraceRowError
from sapwood.filters import Filter
from sapwood.matching import MatchIndex
from sapwood.pipeline.auditing.numbering import Numbers
from sapwood.trace.files import arrow
from sapwood.trace.judge.declarations import (
    DECLARATION_KINDS,
    DeclarationBook,
    Declarations,
    in_time,
)
from sapwood.trace.judge.filterbook import FilterBook
from sapwood.trace.judge.rules import Validity
from sapwood.trace.schema import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_decode = msgspec.json.Decoder(dict[str, bool | int | float | str]).decode

Floats = npt.NDArray[np.float64]


class Evidence(msgspec.Struct):
    """All that is said in a run beside publications and deliveries."""

    run: str
    settle: float
    end: float
    """When the trace ends."""

    advertisements_required: bool
    filters: tuple[str, ...] = ()
    """The filters by number: one text for each meaning."""

    clients: tuple[str, ...] = ()
    """The clients that subscribed, by number."""

    starts: Numbers = msgspec.field(default_factory=lambda: np.zeros(1, np.int64))
    declarations: Floats = msgspec.field(default_factory=lambda: np.zeros((0, 4)))
    """Subscriptions, ordered by filter: client, settled since, ended, started; those on filter n
    are rows ``starts[n]:starts[n + 1]``."""

    subscriptions: dict[str, list[Validity]] = msgspec.field(default_factory=dict)
    advertisements: dict[str, list[Validity]] = msgspec.field(default_factory=dict)
    """By client."""

    def matching(self, texts: list[str]) -> list[list[int]]:
        """For each notification, given by its attributes as text, the filters that match it."""
        try:
            return index_of(self.filters).match_batch([_decode(text) for text in texts])
        except (msgspec.DecodeError, InvalidNotificationError) as problem:
            raise TraceRowError(
                f"a published row of run {self.run!r} has wrong attributes: {problem}"
            ) from None

    def was_advertised(self, publisher: str, at: float, numbers: Iterable[int]) -> bool:
        """Whether a publisher had said that it would publish what one of these filters matches."""
        matched = set(numbers)
        return any(
            declaration.number in matched and declaration.is_settled(at)
            for declaration in self.advertisements.get(publisher, ())
        )


@lru_cache(maxsize=64)
def index_of(filters: tuple[str, ...]) -> MatchIndex[int]:
    """An index of filters; runs of the same filters, and tasks of one worker, share it."""
    index: MatchIndex[int] = MatchIndex()
    for number, text in enumerate(filters):
        index.add(number, Filter(text))
    return index


class RunFacts(msgspec.Struct, frozen=True):
    """What the rows of a run say together."""

    settle: float
    end: float
    advertisements_required: bool


def gather(rows: DataFrame, runs: Mapping[str, RunFacts]) -> dict[str, Evidence]:
    """The evidence of each run, from the rows that speak of subscriptions and advertisements."""
    said = rows.where(rows["kind"].isin(*DECLARATION_KINDS)).select(
        "run", "broker", "session", "step", "at", "kind", "client", "message", "filter"
    )
    declarations: dict[str, list[Row]] = {}
    for row in arrow.to_rows(said.toArrow()):
        declarations.setdefault(row.run, []).append(row)
    return {run: _evidence(run, facts, declarations.get(run, [])) for run, facts in runs.items()}


def _evidence(run: str, facts: RunFacts, rows: list[Row]) -> Evidence:
    filters = FilterBook()
    book = DeclarationBook(filters)
    texts: dict[int, str] = {}
    for row in sorted(rows, key=in_time):
        book.apply(row)
        texts.setdefault(filters.number(row), row.filter or "")
    evidence = Evidence(run, facts.settle, facts.end, facts.advertisements_required)
    evidence.filters = tuple(texts[number] for number in range(len(texts)))
    evidence.subscriptions = _validities(book.subscriptions, facts.settle)
    evidence.advertisements = _validities(book.advertisements, facts.settle)
    evidence.clients = tuple(evidence.subscriptions)
    _arrange(evidence)
    return evidence


def _validities(declarations: Declarations, settle: float) -> dict[str, list[Validity]]:
    found: dict[str, list[Validity]] = {}
    for declaration in declarations.all:
        found.setdefault(declaration.client, []).append(declaration.validity(settle))
    return found


def _arrange(evidence: Evidence) -> None:
    """Subscriptions as arrays, ordered by filter."""
    listed = sorted(
        (declaration.number, client, declaration.settled, declaration.ended, declaration.started)
        for client, name in enumerate(evidence.clients)
        for declaration in evidence.subscriptions[name]
    )
    numbers = np.array([item[0] for item in listed], np.int64)
    evidence.declarations = np.array([item[1:] for item in listed], np.float64).reshape(-1, 4)
    evidence.starts = np.searchsorted(numbers, np.arange(len(evidence.filters) + 1)).astype(
        np.int64
    )


def by_run(batch: Any) -> Iterable[tuple[str, Any]]:
    """The rows of a batch, each run by itself."""
    encoded = batch.column("run").dictionary_encode()
    names = encoded.dictionary.to_pylist()
    if len(names) == 1:
        return [(names[0], batch)]
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    ordered = batch.take(order)
    starts = [0, *ends[:-1]]
    return [
        (name, ordered.slice(start, end - start))
        for name, start, end in zip(names, starts, ends, strict=True)
    ]
