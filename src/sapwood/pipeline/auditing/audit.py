"""`audit`: what a trace shows, against the definitions of a correct system.

Counts and checksums decide about most pairs of subscriber and publisher, and a look at the order in
which rows come about their order; only what differs is looked at again. Each run is judged by
itself, all runs in the same jobs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as fn

from sapwood.errors import TraceError
from sapwood.pipeline.auditing import groups, order, pairs, screening
from sapwood.pipeline.auditing.evidence import Evidence, RunFacts, gather
from sapwood.pipeline.auditing.missing import find_gaps
from sapwood.pipeline.auditing.owed import owed_pairs, owed_sums
from sapwood.pipeline.auditing.paths import PATH, with_paths
from sapwood.pipeline.loads.links import SAMPLED_FROM, latencies, link_traffic
from sapwood.pipeline.spark.failures import plain_errors
from sapwood.pipeline.spark.local import to_frame
from sapwood.pipeline.spark.shipping import ship
from sapwood.pipeline.traces import ADVERTISEMENTS, SETTLE
from sapwood.trace.judge.verdict import (
    DUPLICATED,
    LOST,
    OUT_OF_ORDER_CAUSAL,
    OUT_OF_ORDER_FIFO,
    UNEXPECTED,
    UNJUDGED,
)
from sapwood.trace.schema import (
    DELIVERED,
    PUBLISHED,
    SETTLE_SECONDS_DEFAULT,
    TRACE_GAP,
    check_settle,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIOLATIONS_MAX: Final = 100
"""How many violations of each kind are listed for each run; the counts are of all."""

COUNTS: Final = (
    "published",
    "expected",
    "delivered",
    "lost",
    "duplicated",
    "early",
    "unexpected",
    "out_of_order_fifo",
    "out_of_order_causal",
    "unjudged",
)
_ROWS_KEPT_MAX: Final = 1_000_000
"""Up to so many rows are read once and kept: thousands of small files cost more than their rows."""

_PARTS_KEPT: Final = 4
_DELIVERIES_PER_SLOT: Final = 8_000_000
"""How many deliveries are judged in one partition; the causes of a run go to all that judge it."""

_OWED, _FIRST = "owed", "first"
"""What pairs of the groups that differ are counted as, beside the names of the counts."""

_VIOLATION: Final = {
    "run": "string",
    "kind": "string",
    "client": "string",
    "publisher": "string",
    "sequence": "bigint",
    "at": "double",
    "because_publisher": "string",
    "because_sequence": "bigint",
}


class Audit(NamedTuple):
    """The outcome of an audit, each a DataFrame."""

    counts: DataFrame
    """A row per run: `run` and the counts of the definitions."""

    violations: DataFrame
    """The first violations of each kind and run: which notification at which client, for order what
    had come before it, and the path that the notification took."""

    latency: DataFrame
    """A row per run: how long notifications took from publication to delivery."""

    traffic: DataFrame
    """A row per run, link, direction and kind of message: messages and bytes."""


def audit(
    traces: DataFrame, settle: float | None = None, *, violations_max: int = VIOLATIONS_MAX
) -> Audit:
    """Judge traces, as `read_traces` gives them, each run by itself.

    `settle` is the settling time in seconds; without it, what the files say of the run holds, or
    2 s.
    """
    with plain_errors():
        ship(traces.sparkSession)
        auditor = _Auditor(traces, settle, violations_max)
        counts, violations = auditor.judge()
        every = 1 + auditor.deliveries // SAMPLED_FROM
        rows = auditor.rows
        return Audit(counts, violations, latencies(rows, every), link_traffic(rows))


class _Auditor:
    """One audit: what is found out on the way, and used again."""

    def __init__(self, rows: DataFrame, settle: float | None, violations_max: int) -> None:
        self.rows = rows
        """The rows that are judged: as given, or read and kept if they are few."""
        self._settle = None if settle is None else check_settle(settle)
        self._violations_max = violations_max
        self._spark: SparkSession = rows.sparkSession
        self._kinds: dict[str, dict[str, int]] = {}
        self._counts: dict[str, dict[str, int]] = {}
        self._violations: list[DataFrame] = []
        self._evidence: dict[str, Evidence] = {}

    def judge(self) -> tuple[DataFrame, DataFrame]:
        """Counts and violations."""
        runs = self._look_around()
        if sum(sum(kinds.values()) for kinds in self._kinds.values()) <= _ROWS_KEPT_MAX:
            self.rows = _keep(self.rows.coalesce(_PARTS_KEPT))
        self._evidence = gather(self.rows, runs)
        self._judge_all()
        rows = self._first()
        counts = [(run, *(self._counts[run][name] for name in COUNTS)) for run in sorted(runs)]
        columns = {"run": "string", **dict.fromkeys(COUNTS, "bigint")}
        rows.sort(key=lambda row: (row[0], row[5], row[1], row[3], row[4], row[2]))
        violations = to_frame(self._spark, _VIOLATION, rows)
        if rows:
            violations = _keep(with_paths(violations, self.rows))
        else:
            violations = violations.withColumn("path", fn.lit(None).cast(PATH))
        return to_frame(self._spark, columns, counts), violations

    @property
    def deliveries(self) -> int:
        """How many deliveries there are."""
        return sum(kinds.get(DELIVERED, 0) for kinds in self._kinds.values())

    def _look_around(self) -> dict[str, RunFacts]:
        """Which runs there are, what is in them and how long they last."""
        found = self.rows.groupBy("run", "kind").agg(
            fn.count(fn.lit(1)).alias("n"),
            fn.max("at").alias("end"),
            fn.max(SETTLE).alias("settle"),
            fn.max(fn.coalesce(ADVERTISEMENTS, fn.lit(False))).alias("required"),
        )
        facts: dict[str, RunFacts] = {}
        for item in found.toArrow().to_pylist():
            run = item["run"]
            self._kinds.setdefault(run, {})[item["kind"]] = item["n"]
            stated = item["settle"]
            own = RunFacts(-1.0 if stated is None else stated, item["end"], item["required"])
            facts[run] = own if run not in facts else _joined(facts[run], own)
        self._counts = {run: dict.fromkeys(COUNTS, 0) for run in facts}
        if not facts:
            raise TraceError("there are no rows to judge")
        return {run: self._settled(one) for run, one in facts.items()}

    def _settled(self, facts: RunFacts) -> RunFacts:
        settle = facts.settle if self._settle is None else self._settle
        if settle < 0:
            settle = SETTLE_SECONDS_DEFAULT
        return RunFacts(settle, facts.end, facts.advertisements_required)

    def _has(self, kind: str) -> list[str]:
        return [run for run, kinds in self._kinds.items() if kinds.get(kind)]

    # --- the quick way --------------------------------------------------------------------

    def _judge_all(self) -> None:
        rows = self.rows
        doubtful = _keep(screening.doubtful_streams(screening.segments(rows)))
        published = _keep(groups.published_sums(rows))
        notifications = self._notifications(published, doubtful)
        owed = owed_sums(notifications, self._evidence)
        compared = _keep(groups.compare(owed, groups.delivered_sums(rows)))
        compared, is_different = self._look_over(compared)
        delivered = compared.where("n is not null")
        clients = _keep(groups.clients_of(delivered, published))
        if is_different:
            self._judge_pairs(compared, clients, notifications)
        self._judge_order(delivered, clients, doubtful)

    def _notifications(self, published: DataFrame, doubtful: DataFrame) -> DataFrame:
        """What was published, each notification once; and how many that are."""
        repeated = fn.broadcast(doubtful.withColumn("is_repeated", fn.lit(True)))
        named = published.withColumn("stream", screening.stream_of_publications()).join(
            repeated, "stream", "left"
        )
        looked_at = named.groupBy("run").agg(
            fn.sum("n").alias("count"),
            fn.max("is_repeated").alias("is_repeated"),
            fn.max(groups.is_wrong(PUBLISHED)).alias("is_wrong"),
        )
        found = looked_at.toArrow().to_pylist()
        if any(item["is_wrong"] for item in found):
            raise groups.wrong_row(self.rows, PUBLISHED)
        notifications = groups.publications(self.rows, None)
        if any(item["is_repeated"] for item in found):
            names = _keep(named.where("is_repeated").select("run", "publisher"))
            notifications = groups.publications(self.rows, names)
            found = notifications.groupBy("run").count().toArrow().to_pylist()
        for item in found:
            self._counts[item["run"]]["published"] = item["count"]
        return notifications

    def _look_over(self, compared: DataFrame) -> tuple[DataFrame, bool]:
        """Count the groups that are the same; all groups with names, and whether some differ."""
        looked_at = compared.groupBy("run", "is_same").agg(
            fn.sum("owed").alias("owed"),
            fn.max(fn.col("owed").isNull()).alias("is_strange"),
            fn.max(groups.is_wrong_sequence()).alias("is_wrong"),
        )
        found = looked_at.toArrow().to_pylist()
        for item in found:
            if item["is_same"]:
                counts = self._counts[item["run"]]
                counts["expected"] += item["owed"]
                counts["delivered"] += item["owed"]
        is_wrong = any(item["is_wrong"] for item in found)
        if any(item["is_strange"] for item in found):
            compared = _keep(groups.named(compared, self.rows))
            is_wrong |= groups.has_wrong(compared.where("n is not null"), DELIVERED)
        if is_wrong:
            raise groups.wrong_row(self.rows, DELIVERED)
        return compared, not all(item["is_same"] for item in found)

    # --- pair by pair ---------------------------------------------------------------------

    def _judge_pairs(
        self, compared: DataFrame, clients: DataFrame, notifications: DataFrame
    ) -> None:
        different = compared.where(~fn.col("is_same")).select(*groups.GROUP)
        wanted: dict[str, dict[str, list[str]]] = {}
        for item in different.toArrow().to_pylist():
            of_run = wanted.setdefault(item["run"], {})
            of_run.setdefault(item["publisher"], []).append(item["client"])
        owed = _keep(owed_pairs(notifications, self._evidence, wanted))
        deliveries = _keep(pairs.deliveries_in(self.rows, different, clients))
        odd = pairs.odd_pairs(owed, deliveries, notifications)
        gaps = find_gaps(self.rows, self._has(TRACE_GAP))
        judged = _keep(pairs.judge_pairs(odd, self._evidence, gaps))
        self._count_pairs(owed, deliveries, judged)
        for kind in (LOST, UNEXPECTED):
            self._report(judged.where(fn.col("verdict") == kind), kind)
        self._report(deliveries.where("time > 1"), DUPLICATED)

    def _count_pairs(self, owed: DataFrame, deliveries: DataFrame, judged: DataFrame) -> None:
        """Expected are those owed but for the unjudged; the rest as the judgement says.

        One question instead of three: on small traces, each costs as much as its rows.
        """
        yes, is_again = fn.lit(True), fn.col("time") > 1
        found = (
            owed.select("run", fn.lit(_OWED).alias("what"), yes.alias("is_owed"))
            .union(deliveries.select("run", fn.when(is_again, DUPLICATED).otherwise(_FIRST), yes))
            .union(judged.select("run", "verdict", "is_owed"))
        )
        for item in found.groupBy("run", "what", "is_owed").count().toArrow().to_pylist():
            counts, what, count = self._counts[item["run"]], item["what"], item["count"]
            if what == _OWED:
                counts["expected"] += count
            elif what == _FIRST:
                counts["delivered"] += count
            else:
                counts[what] += count
            if what == DUPLICATED:
                counts["delivered"] += count
            elif what == UNJUDGED:
                counts["expected" if item["is_owed"] else "delivered"] -= count

    # --- order ----------------------------------------------------------------------------

    def _judge_order(self, delivered: DataFrame, clients: DataFrame, doubtful: DataFrame) -> None:
        targets = _keep(_order_targets(delivered, clients, doubtful))
        of_authors = clients.where("is_author").select("run", fn.lit(True).alias("has_authors"))
        concerned = (
            targets.select("run")
            .distinct()
            .join(of_authors, "run", "left")
            .groupBy("run")
            .agg(fn.max("has_authors").alias("has_authors"))
        )
        runs = {item["run"]: item["has_authors"] for item in concerned.toArrow().to_pylist()}
        if not runs:
            return
        slots = self._slots(runs)
        causes = None
        if any(runs.values()):
            chosen = fn.broadcast(targets.select("run").distinct())
            authors = clients.where("is_author").join(chosen, "run", "left_semi")
            causes = order.direct_causes(order.events_of(self.rows, authors, published=True))
        deliveries = order.events_of(self.rows, targets, published=False)
        faults = _keep(_named(order.faults_of_order(deliveries, causes, slots), delivered))
        found = faults.groupBy("run", "fault").count().toArrow().to_pylist()
        for kind, bit in ((OUT_OF_ORDER_FIFO, order.FIFO), (OUT_OF_ORDER_CAUSAL, order.CAUSAL)):
            for item in found:
                if item["fault"] & bit:
                    self._counts[item["run"]][kind] += item["count"]
            late = faults.where(fn.col("fault").bitwiseAND(bit) > 0)
            if kind == OUT_OF_ORDER_FIFO:
                late = late.withColumn("because_publisher", fn.col("publisher")).withColumn(
                    "because_sequence", fn.col("later")
                )
            self._report(late, kind)

    def _slots(self, runs: Iterable[str]) -> DataFrame:
        """Over how many partitions the clients of each run are spread."""
        sizes = [(run, self._kinds[run].get(DELIVERED, 0)) for run in runs]
        rows = [(run, 1 + size // _DELIVERIES_PER_SLOT) for run, size in sizes]
        named = to_frame(self._spark, {"run": "string", "slots": "bigint"}, rows)
        return named.select(fn.xxhash64("run").alias("in_run"), "slots")

    # --- violations -----------------------------------------------------------------------

    def _report(self, found: DataFrame, kind: str) -> None:
        """Take what is wrong into the list, if the counts say that there is any."""
        if not any(counts[kind] for counts in self._counts.values()):
            return
        nothing = fn.lit(None)
        because = {
            "because_publisher": nothing.cast("string"),
            "because_sequence": nothing.cast("bigint"),
        }
        self._violations.append(
            found.select(
                "run", fn.lit(kind).alias("kind"), "client", "publisher", "sequence", "at",
                *(
                    fn.col(name) if name in found.columns else column.alias(name)
                    for name, column in because.items()
                ),
            )
        )  # fmt: skip

    def _first(self) -> list[tuple[Any, ...]]:
        """The first violations of each kind in each run, by time."""
        if not self._violations:
            return []
        place = Window.partitionBy("run", "kind").orderBy("at", "publisher", "sequence", "client")
        found = reduce(lambda one, other: one.union(other), self._violations)
        first = found.withColumn("place", fn.row_number().over(place))
        kept = first.where(fn.col("place") <= self._violations_max).drop("place").toArrow()
        return [tuple(row.values()) for row in kept.to_pylist()]


def _keep(found: DataFrame) -> DataFrame:
    """Compute a DataFrame that is used several times, and forget how: plans stay small."""
    return found.localCheckpoint(eager=True)


def _joined(one: RunFacts, other: RunFacts) -> RunFacts:
    return RunFacts(
        max(one.settle, other.settle),
        max(one.end, other.end),
        one.advertisements_required or other.advertisements_required,
    )


def _order_targets(delivered: DataFrame, clients: DataFrame, doubtful: DataFrame) -> DataFrame:
    """The clients whose order has to be judged exactly.

    Those of a stream that failed the quick look, or whose order is not told by one column; and, as
    a chain of causes from one publisher to another ends with a publisher that listens, those that
    hear such a one and at least one other.
    """
    streams = delivered.select(*groups.GROUP, screening.stream_of_deliveries().alias("stream"))
    late = streams.join(fn.broadcast(doubtful), "stream", "left_semi").select("run", "client")
    unclear = clients.where(~fn.col("is_quick")).select("run", "client")
    authors = clients.where("is_author").select(
        "run", fn.col("client").alias("publisher"), fn.lit(1).alias("listens")
    )
    hearing = (
        delivered.join(fn.broadcast(authors), ["run", "publisher"], "left")
        .groupBy("run", "client")
        .agg(fn.max("listens").alias("listens"), fn.count(fn.lit(1)).alias("heard"))
        .where("listens = 1 and heard > 1")
        .select("run", "client")
    )
    chosen = reduce(lambda one, other: one.union(other), (late, unclear, hearing)).distinct()
    return clients.join(fn.broadcast(chosen), ["run", "client"], "left_semi")


def _named(faults: DataFrame, delivered: DataFrame) -> DataFrame:
    """Faults with names in place of hashes."""
    streams = delivered.select(
        "run",
        "client",
        fn.col("publisher").alias("name"),
        fn.xxhash64("run").alias("in_run"),
        groups.session_hash("client").alias("who"),
        groups.session_hash("publisher").alias("hash"),
    )
    because = streams.select(
        "in_run", "who", fn.col("hash").alias("because_publisher"), fn.col("name").alias("because")
    )
    return (
        faults.join(streams.withColumnRenamed("hash", "publisher"), ["in_run", "who", "publisher"])
        .join(because, ["in_run", "who", "because_publisher"])
        .select(
            "run", "client", fn.col("name").alias("publisher"), "sequence", "at", "fault", "later",
            fn.col("because").alias("because_publisher"), "because_sequence",
        )
    )  # fmt: skip
