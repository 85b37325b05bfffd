"""What had to be delivered: publications against the subscriptions that match them.

The matching engine decides, in batches, on the workers. What a publication obliges the network to
is never listed pair by pair where sums are enough: for each subscriber and publisher, how many, and
two checksums of which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from sapwood.pipeline import kernels
from sapwood.pipeline.evidence import Evidence, by_run
from sapwood.pipeline.numbering import Numbering, Numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS: Final = ("run", "publisher", "sequence", "at", "attributes")
_SUMS: Final = "run string, client string, publisher string, n bigint, x bigint, s bigint"
_PAIRS: Final = "run string, client string, publisher string, sequence bigint"

Groups = Mapping[str, Mapping[str, Iterable[str]]]
"""Run, publisher, clients."""


def owed_sums(published: DataFrame, evidence: Mapping[str, Evidence]) -> DataFrame:
    """For each run, client and publisher: how many notifications were owed, and checksums of which.

    A group may come in several rows, to be added up: `n` and `s` are sums, `x` an exclusive or.
    """

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        sums: dict[str, _Sums] = {}
        for run, batch in _parts(batches):
            if run not in sums:
                sums[run] = _Sums(evidence[run])
            sums[run].add(batch)
        for each in sums.values():
            yield from each.batches()

    return published.select(*_COLUMNS).mapInArrow(work, _SUMS)


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


class _Owed:
    """The pairs that the publications of a batch oblige to, publishers by number."""

    def __init__(self, evidence: Evidence, batch: Any) -> None:
        eligible = _eligible(evidence, batch)
        batch = batch.filter(pa.array(eligible))
        encoded = batch.column("publisher").dictionary_encode()
        self.names: list[str] = encoded.dictionary.to_pylist()
        publishers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        sequences = batch.column("sequence").to_numpy(zero_copy_only=False)
        at = batch.column("at").to_numpy(zero_copy_only=False)
        starts, numbers = _matching(evidence, batch)
        if evidence.advertisements_required:
            names = [self.names[publisher] for publisher in publishers]
            starts, numbers = _advertised(evidence, names, at, starts, numbers)
        stamps = np.empty(len(evidence.clients), np.int64)
        rows, self.clients = kernels.owe(
            at, starts, numbers, evidence.starts, evidence.claims, evidence.settle, stamps
        )
        self.publishers: Numbers = publishers[rows]
        self.sequences: Numbers = sequences[rows]


def _eligible(evidence: Evidence, batch: Any) -> Any:
    """Publications that oblige at all: attributes are known, and the trace goes on long enough."""
    at = batch.column("at").to_numpy(zero_copy_only=False)
    known = batch.column("attributes").is_valid().to_numpy(zero_copy_only=False)
    return known & (at + evidence.settle <= evidence.end)


def _matching(evidence: Evidence, batch: Any) -> tuple[Numbers, Numbers]:
    """The filters that match each row, all in one array, and where those of each row start."""
    encoded = batch.column("attributes").dictionary_encode()
    matched = evidence.matching(encoded.dictionary.to_pylist())
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.array([len(found) for found in matched], np.int64)
    starts = np.concatenate(([0], np.cumsum(counts)))
    flat = np.fromiter((n for found in matched for n in found), np.int64, int(starts[-1]))
    row_counts = counts[codes]
    row_starts = np.concatenate(([0], np.cumsum(row_counts)))
    if len(matched) == len(codes):  # all different: they are in the order of the rows
        return row_starts, flat
    places = np.repeat(starts[codes] - row_starts[:-1], row_counts) + np.arange(row_starts[-1])
    return row_starts, flat[places]


def _advertised(
    evidence: Evidence, publishers: list[str], at: Any, starts: Numbers, numbers: Numbers
) -> tuple[Numbers, Numbers]:
    """The same, without the rows that nobody had advertised."""
    kept = np.array(
        [
            evidence.was_advertised(
                publisher, float(at[row]), numbers[starts[row] : starts[row + 1]].tolist()
            )
            for row, publisher in enumerate(publishers)
        ],
        dtype=bool,
    )
    counts = np.where(kept, np.diff(starts), 0)
    return np.concatenate(([0], np.cumsum(counts))), numbers[np.repeat(kept, np.diff(starts))]


class _Sums:
    """Sums over all groups of a run, while batches come."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._publishers: dict[str, int] = {}
        self._groups = Numbering()
        self._sums = np.zeros((16, 3), np.int64)

    def add(self, batch: Any) -> None:
        owed = _Owed(self._evidence, batch)
        numbers = self._publishers
        translate = np.array(
            [numbers.setdefault(name, len(numbers)) for name in owed.names], np.int64
        )
        if not len(owed.clients):
            return
        keys = translate[owed.publishers] * len(self._evidence.clients) + owed.clients
        ids = self._groups.numbers(keys)
        while len(self._groups) > len(self._sums):
            self._sums = np.concatenate((self._sums, np.zeros_like(self._sums)))
        kernels.add_sums(ids, owed.sequences, self._sums)

    def batches(self) -> Iterator[Any]:
        if not len(self._groups):
            return
        keys = self._groups.all_keys()
        clients = pa.array(self._evidence.clients, pa.string())
        publishers = pa.array(list(self._publishers), pa.string())
        sums = self._sums[: len(keys)]
        yield pa.RecordBatch.from_arrays(
            [
                pa.repeat(pa.scalar(self._evidence.run, pa.string()), len(keys)),
                clients.take(pa.array(keys % len(clients))),
                publishers.take(pa.array(keys // len(clients))),
                *(pa.array(np.ascontiguousarray(sums[:, column])) for column in range(3)),
            ],
            names=["run", "client", "publisher", "n", "x", "s"],
        )


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
