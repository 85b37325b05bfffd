"""The exact order of deliveries at clients: FIFO per publisher, and causal order.

The definitions are those of `sapwood.trace.judge.causes` and `sapwood.trace.judge.ordering`. Two
passes, each over events that Spark has sorted into the own order of their client, so that no clock
has to be right:

1. For each client that publishes after deliveries, the *direct causes* of what it published: of
   each publisher, the last it was delivered since it published before.
2. For each client judged, how far of each publisher its past reaches: a delivery brings its own
   past along, followed backwards through direct causes until where the client has been before. So
   chains through clients that the judged one never hears of are followed like any other. What is
   delivered from within that past is late.

The second pass needs all causes of a run. They travel to every partition that judges clients of
it, ahead of the deliveries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as fn

from sapwood.pipeline.auditing import kernels
from sapwood.pipeline.auditing.groups import BY_COUNT, BY_TIME, session_hash
from sapwood.pipeline.auditing.numbering import Numbering, Numbers
from sapwood.trace.schema import DELIVERED, PUBLISHED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FIFO, CAUSAL = kernels.FIFO, kernels.CAUSAL

_PLACE: Final = ("by_count", "by_time", "broker", "session", "step")
_CAUSES: Final = (
    "in_run bigint, who bigint, sequence bigint, publisher bigint, cause bigint, first bigint, "
    "slots bigint"
)
_FAULTS: Final = (
    "in_run bigint, who bigint, publisher bigint, sequence bigint, at double, fault bigint, "
    "later bigint, because_publisher bigint, because_sequence bigint"
)


def own_order(mode: Column) -> list[Column]:
    """The columns that put the events of a client into its own order, given how that is known."""
    return [
        fn.when(mode == BY_COUNT, fn.col("client_order")).otherwise(0).alias("by_count"),
        fn.when(mode == BY_TIME, fn.col("at")).otherwise(0.0).alias("by_time"),
    ]


def events_of(rows: DataFrame, clients: DataFrame, *, published: bool) -> DataFrame:
    """What some clients were delivered, and published if wanted.

    Of each client (run, client), `mode` says how its events are ordered, and `first` and `slots`
    over which slots those of its run are spread.
    """
    kinds = (DELIVERED, PUBLISHED) if published else (DELIVERED,)
    is_delivery = fn.col("kind") == DELIVERED
    events = rows.where(rows["kind"].isin(*kinds)).withColumn(
        "client", fn.when(is_delivery, fn.col("client")).otherwise(fn.col("publisher"))
    )
    return events.join(fn.broadcast(clients), ["run", "client"]).select(
        fn.xxhash64("run").alias("in_run"),
        session_hash("client").alias("who"),
        fn.when(is_delivery, 0).otherwise(1).cast("bigint").alias("is_published"),
        session_hash("publisher").alias("publisher"),
        "sequence",
        "at",
        *own_order(fn.col("mode")),
        "broker",
        "session",
        "step",
        "first",
        "slots",
    )


def direct_causes(events: DataFrame) -> DataFrame:
    """The direct causes of everything that the clients of these events published."""
    return (
        events.repartition("who")
        .sortWithinPartitions("who", *_PLACE)
        .select("in_run", "who", "is_published", "publisher", "sequence", "first", "slots")
        .mapInArrow(_find_causes, _CAUSES)
    )


def faults_of_order(deliveries: DataFrame, causes: DataFrame | None, tasks: int) -> DataFrame:
    """First deliveries that came too late, with what they should have come before.

    The clients of a run are spread over `slots` slots from the number `first` on, and all slots
    evenly over `tasks`.
    """
    slot = (fn.col("first") + fn.pmod("who", "slots")).alias("slot")
    places = [fn.col(name) for name in _PLACE]
    judged = deliveries.select(
        "in_run", slot, fn.lit(1).alias("part"), "who", "publisher", "sequence", "at",
        fn.lit(0).cast("bigint").alias("cause"), *places,
    )  # fmt: skip
    if causes is not None:
        everywhere = fn.explode(fn.sequence(fn.col("first"), fn.col("first") + fn.col("slots") - 1))
        ahead = causes.select(
            "in_run", everywhere.alias("slot"), fn.lit(0).alias("part"), "who", "publisher",
            "sequence", fn.lit(0.0).alias("at"), "cause", fn.lit(0).alias("by_count"),
            fn.lit(0.0).alias("by_time"), fn.lit("").alias("broker"), fn.lit(0).alias("session"),
            fn.lit(0).alias("step"),
        )  # fmt: skip
        judged = judged.union(ahead)
    # By number, not by hash: of as many hashes as there are tasks, a third would share one.
    task = fn.pmod(fn.col("slot"), fn.lit(tasks)).cast("int")
    return (
        judged.repartitionById(tasks, task)
        .sortWithinPartitions("in_run", "slot", "part", "who", *_PLACE)
        .select("in_run", "slot", "part", "who", "publisher", "sequence", "at", "cause")
        .mapInArrow(_judge, _FAULTS)
    )


def _stretches(*columns: Any) -> Iterator[tuple[int, int]]:
    """Where each stretch of equal values in all columns starts and ends."""
    count = len(columns[0])
    changes = np.zeros(max(count - 1, 0), bool)
    for column in columns:
        changes |= column[1:] != column[:-1]
    ends = [*(np.flatnonzero(changes) + 1).tolist(), count]
    start = 0
    for end in ends:
        if end > start:
            yield start, end
        start = end


def _arrays(batch: Any, *names: str) -> list[Any]:
    return [batch.column(name).to_numpy(zero_copy_only=False) for name in names]


def _record(names: Iterable[str], columns: Iterable[Any]) -> Any:
    arrays = [pa.array(np.ascontiguousarray(column)) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def _names(schema: str) -> list[str]:
    return [field.split()[0] for field in schema.split(", ")]


# --- the first pass: causes -------------------------------------------------------------------


class _Author:
    """A client that publishes, while its direct causes are being found."""

    def __init__(self, who: int) -> None:
        self.who = who
        self._names = Numbering()
        self._up_to, self._fresh, self._is_fresh = (np.zeros(0, np.int64) for _ in range(3))
        self._counts = np.zeros(3, np.int64)
        self._known: Any = kernels.new_table()

    def take(self, is_published: Any, publishers: Any, sequences: Any) -> tuple[Any, Any, Any]:
        """Causes of what is published here: own sequence, publisher, its sequence."""
        numbers = self._names.numbers(publishers)
        missing = len(self._names) - len(self._up_to)
        if missing:
            room = np.zeros(missing, np.int64)
            self._up_to, self._fresh, self._is_fresh = (
                np.concatenate((array, room))
                for array in (self._up_to, self._fresh, self._is_fresh)
            )
        causes, *self._known = kernels.find_causes(
            is_published, numbers, sequences, self._up_to, self._fresh, self._is_fresh,
            self._counts, *self._known,
        )  # fmt: skip
        return causes[:, 0], self._names.keys(causes[:, 1]), causes[:, 2]


def _find_causes(batches: Iterable[Any]) -> Iterator[Any]:
    author: _Author | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        runs, whos, kinds, publishers, sequences, firsts, slots = _arrays(
            batch, "in_run", "who", "is_published", "publisher", "sequence", "first", "slots"
        )
        for start, end in _stretches(whos):
            if author is None or author.who != whos[start]:
                author = _Author(int(whos[start]))
            cut = slice(start, end)
            own, causes, up_to = author.take(kinds[cut], publishers[cut], sequences[cut])
            if len(own):
                in_run, who, first, count = (
                    np.full(len(own), value)
                    for value in (runs[start], author.who, firsts[start], slots[start])
                )
                columns = (in_run, who, own, causes, up_to, first, count)
                yield _record(_names(_CAUSES), columns)


# --- the second pass: judgement ---------------------------------------------------------------


class _Run:
    """A run, or the part of its clients that one partition judges."""

    def __init__(self, key: tuple[int, int]) -> None:
        self.key = key
        self._names = Numbering()
        self._causes: list[Numbers] = []
        self._starts: Numbers = np.zeros(1, np.int64)
        self._table: Numbers = np.zeros((0, 3), np.int64)
        self._who: int | None = None

    def take_causes(self, whos: Any, sequences: Any, publishers: Any, up_to: Any) -> None:
        """Causes come before all deliveries."""
        authors = self._names.numbers(whos)
        causes = self._names.numbers(publishers)
        self._causes.append(np.stack((authors, sequences, causes, up_to), axis=1))

    def _arrange(self) -> None:
        if self._causes:
            everything = np.concatenate(self._causes)
            self._causes = []  # a large run has millions: not two copies of them
            everything = everything[np.lexsort((everything[:, 1], everything[:, 0]))]
            self._starts = np.searchsorted(everything[:, 0], np.arange(len(self._names) + 1))
            self._table = np.ascontiguousarray(everything[:, 1:])

    def _begin(self, who: int) -> None:
        """The first delivery of another client."""
        self._who = who
        self._highest, self._up_to, self._why = (np.zeros(0, np.int64) for _ in range(3))
        self._seen, self._seen_ids = kernels.new_table()
        self._delivered = np.zeros((64, 2), np.int64)
        self._counts = np.zeros(1, np.int64)

    def _make_room(self) -> None:
        count = len(self._names)
        missing = count - len(self._up_to)
        if missing:
            room = np.zeros(missing, np.int64)
            self._highest, self._up_to, self._why = (
                np.concatenate((array, room)) for array in (self._highest, self._up_to, self._why)
            )
        behind = count + 1 - len(self._starts)
        if behind > 0:  # publishers that nothing caused to publish
            self._starts = np.concatenate((self._starts, np.full(behind, self._starts[-1])))

    def judge(self, who: int, publishers: Any, sequences: Any, at: Any) -> Any | None:
        """What is wrong with these deliveries of a client, which come in its order."""
        self._arrange()
        if who != self._who:
            self._begin(who)
        numbers = self._names.numbers(publishers)
        self._make_room()
        faults, self._seen, self._seen_ids, self._delivered = kernels.judge_order(
            numbers, sequences, self._highest, self._up_to, self._why, self._starts, self._table,
            self._seen, self._seen_ids, self._delivered, self._counts,
        )  # fmt: skip
        if not len(faults):
            return None
        places = faults[:, 0]
        return _record(
            _names(_FAULTS),
            (
                np.full(len(faults), self.key[0]), np.full(len(faults), who), publishers[places],
                sequences[places], at[places], faults[:, 1], faults[:, 2],
                self._names.keys(faults[:, 3]), faults[:, 4],
            ),
        )  # fmt: skip


def _judge(batches: Iterable[Any]) -> Iterator[Any]:
    run: _Run | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        runs, slots, parts, whos, publishers, sequences, at, causes = _arrays(
            batch, "in_run", "slot", "part", "who", "publisher", "sequence", "at", "cause"
        )
        for start, end in _stretches(runs, slots, parts, np.where(parts == 0, 0, whos)):
            key = int(runs[start]), int(slots[start])
            if run is None or run.key != key:
                run = _Run(key)
            cut = slice(start, end)
            if parts[start] == 0:
                run.take_causes(whos[cut], sequences[cut], publishers[cut], causes[cut])
                continue
            faults = run.judge(int(whos[start]), publishers[cut], sequences[cut], at[cut])
            if faults is not None:
                yield faults
