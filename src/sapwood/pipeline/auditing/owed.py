"""What had to be delivered: publications against the subscriptions that match them.

The matching engine decides, in batches, on the workers. What a publication obliges the network to
is never listed pair by pair where sums are enough: for each subscriber and publisher, how many, and
two checksums of which. What the network *may* deliver beyond that, around the beginning and the end
of subscriptions and at the end of the trace, is listed: those are few, and without them every
client that came or went would look as if something were wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np
import pyarrow as pa

from sapwood.pipeline.auditing import kernels
from sapwood.pipeline.auditing.evidence import Evidence, Floats, by_run
from sapwood.pipeline.auditing.numbering import Numbering, Numbers
from sapwood.trace.judge import rules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS: Final = ("run", "publisher", "sequence", "at", "attributes")
_SUMS: Final = (
    "run string, client string, publisher string, n bigint, x bigint, s bigint, since double, "
    "until double"
)
_SUM_NAMES: Final = [field.split()[0] for field in _SUMS.split(", ")]
_PAIRS: Final = "run string, client string, publisher string, sequence bigint"

PAIRS_KEPT_MAX: Final = 4_000_000
"""How many pairs of situation and client are kept before sums are spread over clients."""

CELLS_KEPT_MAX: Final = 500_000

Groups = Mapping[str, Mapping[str, Iterable[str]]]
"""Run, publisher, clients."""


def obligations(published: DataFrame, evidence: Mapping[str, Evidence]) -> DataFrame:
    """What was owed, as sums, and what might be delivered beside, pair by pair.

    Both in one pass over the publications; `owed_sums` and `allowed_pairs` tell them apart.
    """

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        sums: dict[str, _Sums] = {}
        for run, batch in _parts(batches):
            if run not in sums:
                sums[run] = _Sums(evidence[run])
            yield from sums[run].add(batch)
        for each in sums.values():
            yield from each.batches()

    return published.select(*_COLUMNS).mapInArrow(work, _SUMS)


def owed_sums(found: DataFrame) -> DataFrame:
    """For each run, client and publisher: how many notifications were owed, and checksums of which.

    A group may come in several rows, to be added up: `n` and `s` are sums, `x` an exclusive or.
    """
    return found.where("since is null").drop("since", "until")


def allowed_pairs(found: DataFrame) -> DataFrame:
    """What might be delivered without being owed, if between the times `since` and `until`.

    A pair comes once for each subscription that would allow it.
    """
    listed = found.where("since is not null")
    return listed.select(
        "run", "client", "publisher", listed["n"].alias("sequence"), "since", "until"
    )


def owed_pairs(published: DataFrame, evidence: Mapping[str, Evidence], groups: Groups) -> DataFrame:
    """Every notification that was owed, in some groups only."""

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        wanted = _by_number(evidence, groups)
        for run, batch in _parts(batches):
            if run in groups:
                yield _pairs(evidence[run], batch, wanted[run])

    return published.select(*_COLUMNS).mapInArrow(work, _PAIRS)


def _parts(batches: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for batch in batches:
        if batch.num_rows:
            yield from by_run(batch)


class _Published:
    """The publications of a batch whose attributes are known, publishers by number."""

    def __init__(self, evidence: Evidence, batch: Any) -> None:
        batch = batch.filter(batch.column("attributes").is_valid())
        encoded = batch.column("publisher").dictionary_encode()
        self.names: list[str] = encoded.dictionary.to_pylist()
        self.publishers: Numbers = _codes(encoded)
        self.sequences: Numbers = batch.column("sequence").to_numpy(zero_copy_only=False)
        self.at: Floats = batch.column("at").to_numpy(zero_copy_only=False)
        texts = batch.column("attributes").dictionary_encode()
        self.matching: list[list[int]] = evidence.matching(texts.dictionary.to_pylist())
        """The filters that match each sort of notification."""

        self.sorts: Numbers = _codes(texts)
        """Which sort each publication is of: publications of equal attributes are."""

        self.is_judged: Any = rules.is_judged(self.at, evidence.settle, evidence.end)
        """Which may oblige: the trace goes on long enough, and they were advertised if need be."""

        if evidence.advertisements_required:
            self.is_judged &= self._advertised(evidence)

    def _advertised(self, evidence: Evidence) -> Any:
        rows = zip(self.publishers.tolist(), self.at.tolist(), self.sorts.tolist(), strict=True)
        return np.array(
            [
                evidence.was_advertised(self.names[publisher], at, self.matching[sort])
                for publisher, at, sort in rows
            ],
            dtype=bool,
        )


def _codes(encoded: Any) -> Numbers:
    return cast(Numbers, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))


def _spread_out(kinds: Numbers, lists: Sequence[Sequence[int]]) -> tuple[Numbers, Numbers]:
    """The filters ``lists[kinds[row]]`` that match each row: where each row's begin, and all."""
    counts = np.array([len(found) for found in lists], np.int64)
    flat = np.fromiter((n for found in lists for n in found), np.int64, int(counts.sum()))
    first = np.cumsum(counts) - counts
    row_counts = counts[kinds]
    starts = np.concatenate(([0], np.cumsum(row_counts)))
    places = np.repeat(first[kinds] - starts[:-1], row_counts) + np.arange(starts[-1])
    return starts, flat[places]


def _owing(
    evidence: Evidence, at: Floats, kinds: Numbers, lists: Sequence[Sequence[int]]
) -> tuple[Numbers, Numbers]:
    """The pairs of row and client that are owed: the filters ``lists[kinds[row]]`` match a row."""
    starts, numbers = _spread_out(kinds, lists)
    stamps = np.empty(len(evidence.clients), np.int64)
    rows, clients = kernels.owe(
        at, starts, numbers, evidence.starts, evidence.declarations, evidence.settle, stamps
    )
    return rows, clients


class _Allowed(NamedTuple):
    """The clients to whom a publication may be delivered, and between which times."""

    clients: Numbers
    since: Floats
    until: Floats


def _allowing(
    evidence: Evidence,
    at: Floats,
    is_judged: Any,
    kinds: Numbers,
    lists: Sequence[Sequence[int]],
) -> dict[int, _Allowed]:
    """For each row of which there are any."""
    starts, numbers = _spread_out(kinds, lists)
    stamps = np.empty(len(evidence.clients), np.int64)
    rows, clients, since, until = kernels.allow(
        at, is_judged, starts, numbers, evidence.starts, evidence.declarations, evidence.settle,
        stamps,
    )  # fmt: skip
    bounds = np.searchsorted(rows, np.arange(len(at) + 1))
    return {
        row: _Allowed(clients[start:end], since[start:end], until[start:end])
        for row, (start, end) in enumerate(pairwise(bounds.tolist()))
        if end > start
    }


class _Owed:
    """The pairs that the publications of a batch oblige to, publishers by number."""

    def __init__(self, evidence: Evidence, batch: Any) -> None:
        found = _Published(evidence, batch)
        judged = np.flatnonzero(found.is_judged)
        rows, self.clients = _owing(evidence, found.at[judged], found.sorts[judged], found.matching)
        self.names = found.names
        self.publishers: Numbers = found.publishers[judged[rows]]
        self.sequences: Numbers = found.sequences[judged[rows]]


class _Sums:
    """Sums over all groups of a run, while batches come.

    Publications of one publisher are first summed up as long as the same clients are owed them: in
    a *cell*, for a publisher and a *situation*, which is a set of matching filters and a time
    within which no subscription begins or ceases to oblige, or to allow. Only cells are spread
    over clients, so a publication costs the same whether ten clients want it or a thousand.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        _, settled, ended, started = evidence.declarations.T
        self._settled, self._ended = np.unique(settled), np.unique(ended)
        self._near = np.unique(started - evidence.settle)
        self._past = np.unique(ended + evidence.settle)
        self._publishers: dict[str, int] = {}
        self._groups = Numbering()
        self._sums = _no_sums()
        self._begin()

    def _begin(self) -> None:
        self._sets: dict[tuple[int, ...], int] = {}
        self._epochs, self._situations, self._cells = Numbering(), Numbering(), Numbering()
        self._obliging, self._allowing = Numbering(), Numbering()
        self._allowed: dict[int, _Allowed] = {}
        self._cell_sums = _no_sums()
        self._counts: list[Numbers] = []
        self._clients: list[Numbers] = []
        self._kept = 0

    def add(self, batch: Any) -> Iterator[Any]:
        """Take publications in; what of them may be delivered without being owed."""
        found = _Published(self._evidence, batch)
        if not len(found.at) or not self._evidence.clients:
            return
        numbers = self._publishers
        translate = np.array(
            [numbers.setdefault(name, len(numbers)) for name in found.names], np.int64
        )
        situations = self._situation(found)
        cells = self._cells.numbers(_paired(translate[found.publishers], situations))
        self._cell_sums = _room_for(self._cells, self._cell_sums)
        kernels.add_sums(cells, found.sequences, self._cell_sums)
        yield from self._beside(found, situations)
        if self._kept > PAIRS_KEPT_MAX or len(self._cells) > CELLS_KEPT_MAX:
            self._spread()

    def _situation(self, found: _Published) -> Numbers:
        """The situation of each publication; of new ones, who is owed."""
        evidence = self._evidence
        sets = [self._sets.setdefault(tuple(one), len(self._sets)) for one in found.matching]
        obliging = _paired(
            np.searchsorted(self._settled, found.at, "right"),
            np.searchsorted(self._ended, found.at + evidence.settle, "right"),
        )
        allowing = _paired(
            np.searchsorted(self._near, found.at, "right"),
            np.searchsorted(self._past, found.at, "left"),
        )
        epochs = self._epochs.numbers(
            _paired(self._obliging.numbers(obliging), self._allowing.numbers(allowing))
        )
        kinds = np.array(sets, np.int64)[found.sorts] * 2 + found.is_judged
        before = len(self._situations)
        situations = self._situations.numbers(_paired(kinds, epochs))
        numbers, first = np.unique(situations, return_index=True)
        fresh = first[numbers >= before]
        at, sorts, is_judged = found.at[fresh], found.sorts[fresh], found.is_judged[fresh]
        rows, clients = _owing(evidence, at, sorts, found.matching)
        kept = is_judged[rows]
        rows, clients = rows[kept], clients[kept]
        self._counts.append(np.bincount(rows, minlength=len(fresh)))
        self._clients.append(clients)
        allowed = _allowing(evidence, at, is_judged, sorts, found.matching)
        self._allowed |= {before + row: each for row, each in allowed.items()}
        self._kept += len(clients) + sum(len(each.clients) for each in allowed.values())
        return situations

    def _beside(self, found: _Published, situations: Numbers) -> Iterator[Any]:
        """The pairs that may be delivered without being owed."""
        order = np.argsort(situations, kind="stable")
        numbers, first = np.unique(situations[order], return_index=True)
        ends = [*first[1:].tolist(), len(order)]
        listed = [
            self._listed(found, order[start:end], self._allowed[number])
            for number, start, end in zip(numbers.tolist(), first.tolist(), ends, strict=True)
            if number in self._allowed
        ]
        if listed:
            yield from pa.Table.from_batches(listed).combine_chunks().to_batches()

    def _listed(self, found: _Published, rows: Numbers, allowed: _Allowed) -> Any:
        count = len(allowed.clients)
        nothing = pa.nulls(len(rows) * count, pa.int64())
        clients = pa.array(self._evidence.clients, pa.string())
        publishers = pa.array(found.names, pa.string())
        return pa.RecordBatch.from_arrays(
            [
                pa.repeat(pa.scalar(self._evidence.run, pa.string()), len(nothing)),
                clients.take(pa.array(np.tile(allowed.clients, len(rows)))),
                publishers.take(pa.array(np.repeat(found.publishers[rows], count))),
                pa.array(np.repeat(found.sequences[rows], count)),
                nothing,
                nothing,
                pa.array(np.tile(allowed.since, len(rows))),
                pa.array(np.tile(allowed.until, len(rows))),
            ],
            names=_SUM_NAMES,
        )

    def _spread(self) -> None:
        """Add what the cells hold to the groups of all clients that are owed it."""
        counts, clients = np.concatenate(self._counts), np.concatenate(self._clients)
        starts = np.cumsum(counts) - counts
        publishers, situations = _unpaired(self._cells.all_keys())
        ends = np.cumsum(counts[situations])
        start = 0
        while start < len(ends):
            done = ends[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(ends, done + PAIRS_KEPT_MAX, "right")))
            here = situations[start:end]
            cells = np.repeat(np.arange(start, end), counts[here])
            offsets = np.arange(len(cells)) - np.repeat(
                ends[start:end] - counts[here] - done, counts[here]
            )
            owed = clients[np.repeat(starts[here], counts[here]) + offsets]
            ids = self._groups.numbers(publishers[cells] * len(self._evidence.clients) + owed)
            self._sums = _room_for(self._groups, self._sums)
            kernels.join_sums(ids, cells, self._cell_sums, self._sums)
            start = end
        self._begin()

    def batches(self) -> Iterator[Any]:
        """The sums of all groups."""
        if len(self._cells):
            self._spread()
        if not len(self._groups):
            return
        keys = self._groups.all_keys()
        clients = pa.array(self._evidence.clients, pa.string())
        publishers = pa.array(list(self._publishers), pa.string())
        sums = self._sums[: len(keys)]
        nothing = pa.nulls(len(keys), pa.float64())
        yield pa.RecordBatch.from_arrays(
            [
                pa.repeat(pa.scalar(self._evidence.run, pa.string()), len(keys)),
                clients.take(pa.array(keys % len(clients))),
                publishers.take(pa.array(keys // len(clients))),
                *(pa.array(np.ascontiguousarray(sums[:, column])) for column in range(3)),
                nothing,
                nothing,
            ],
            names=_SUM_NAMES,
        )


def _no_sums() -> Numbers:
    return np.zeros((16, 3), np.int64)


def _room_for(numbering: Numbering, sums: Numbers) -> Numbers:
    """A row for every number."""
    while len(numbering) > len(sums):
        sums = np.concatenate((sums, np.zeros_like(sums)))
    return sums


def _paired(high: Numbers, low: Numbers) -> Numbers:
    """Two numbers below 2**31 as one."""
    return high << 32 | low


def _unpaired(pairs: Numbers) -> tuple[Numbers, Numbers]:
    return pairs >> 32, pairs & 0xFFFFFFFF


def _by_number(
    evidence: Mapping[str, Evidence], groups: Groups
) -> dict[str, Callable[[list[str]], Any]]:
    """For each run: from the publishers of a batch to a table of which clients are wanted."""

    def table_of(run: str) -> Callable[[list[str]], Any]:
        numbers = {client: number for number, client in enumerate(evidence[run].clients)}
        chosen = {
            publisher: [numbers[client] for client in clients if client in numbers]
            for publisher, clients in groups[run].items()
        }

        def table(publishers: list[str]) -> Any:
            wanted = np.zeros((len(publishers), len(numbers)), bool)
            for row, publisher in enumerate(publishers):
                wanted[row, chosen.get(publisher, [])] = True
            return wanted

        return table

    return {run: table_of(run) for run in groups}


def _pairs(evidence: Evidence, batch: Any, wanted: Callable[[list[str]], Any]) -> Any:
    owed = _Owed(evidence, batch)
    kept = wanted(owed.names)[owed.publishers, owed.clients]
    clients = pa.array(evidence.clients, pa.string()).take(pa.array(owed.clients[kept]))
    publishers = pa.array(owed.names, pa.string()).take(pa.array(owed.publishers[kept]))
    return pa.RecordBatch.from_arrays(
        [
            pa.repeat(pa.scalar(evidence.run, pa.string()), len(clients)),
            clients,
            publishers,
            pa.array(owed.sequences[kept]),
        ],
        names=["run", "client", "publisher", "sequence"],
    )
