"""`audit`: what a trace shows, against the definitions of a correct system.

Counts and checksums decide about most pairs of subscriber and publisher, and a look at the order in
which rows come about their order; only what differs is looked at again. Each run is judged by
itself, all runs in the same jobs, and in few of them: on small traces a job costs more than its
rows. What is one row per publisher or client is brought here, what is one per notification is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as fn

from sapwood.errors import TraceError
from sapwood.pipeline.auditing import groups, order, pairs, screening
from sapwood.pipeline.auditing.evidence import Evidence, RunFacts, gather
from sapwood.pipeline.auditing.keeping import Keeper
from sapwood.pipeline.auditing.missing import find_gaps
from sapwood.pipeline.auditing.owed import allowed_pairs, obligations, owed_pairs, owed_sums
from sapwood.pipeline.auditing.paths import PATH, with_keys, with_paths
from sapwood.pipeline.auditing.slots import Slots, spread, tasks
from sapwood.pipeline.loads.links import SAMPLED_FROM, latencies, link_traffic
from sapwood.pipeline.spark.failures import plain_errors
from sapwood.pipeline.spark.local import from_arrow, only_those, to_arrow, to_frame
from sapwood.pipeline.spark.progress import cores_of
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

_PARTS_KEPT_PER_CORE: Final = 2
_BROADCAST_MAX: Final = 2_000_000
"""Up to so many pairs that may be delivered early go to every worker; more are shuffled."""

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
_CLIENT: Final = {
    "run": "string",
    "client": "string",
    "mode": "bigint",
    "first": "bigint",
    "slots": "bigint",
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


class Tables(NamedTuple):
    """The same as tables of Arrow, brought here: they are small, and need no cluster any more."""

    counts: Any
    violations: Any
    latency: Any
    traffic: Any

    def on(self, spark: SparkSession) -> Audit:
        """As DataFrames."""
        return Audit(*(from_arrow(spark, table) for table in self))


def audit(
    traces: DataFrame, settle: float | None = None, *, violations_max: int = VIOLATIONS_MAX
) -> Audit:
    """Judge traces, as `read_traces` gives them, each run by itself.

    `settle` is the settling time in seconds; without it, what the files say of the run holds, or
    2 s.
    """
    return judge_traces(traces, settle, violations_max=violations_max).on(traces.sparkSession)


def judge_traces(
    traces: DataFrame,
    settle: float | None = None,
    *,
    violations_max: int = VIOLATIONS_MAX,
    tell: Callable[[str], None] = lambda _: None,
) -> Tables:
    """What `audit` finds, as plain tables; `tell` is told what is done next."""
    with plain_errors():
        ship(traces.sparkSession)
        auditor = _Auditor(traces, settle, violations_max, tell)
        try:
            return auditor.judge()
        finally:
            auditor.keeper.release()


class _Auditor:
    """One audit: what is found out on the way, and used again."""

    def __init__(
        self,
        rows: DataFrame,
        settle: float | None,
        violations_max: int,
        tell: Callable[[str], None],
    ) -> None:
        self.rows = rows
        """The rows that are judged: as given, or read and kept if they are few."""
        self.keeper = Keeper()
        self._tell = tell
        self._settle = None if settle is None else check_settle(settle)
        self._violations_max = violations_max
        self._spark: SparkSession = rows.sparkSession
        self._cores = cores_of(self._spark)
        self._kinds: dict[str, dict[str, int]] = {}
        self._counts: dict[str, dict[str, int]] = {}
        self._violations: list[DataFrame] = []
        self._evidence: dict[str, Evidence] = {}

    def judge(self) -> Tables:
        """All that there is to find."""
        self._tell("looking what is there")
        runs = self._look_around()
        if sum(sum(kinds.values()) for kinds in self._kinds.values()) <= _ROWS_KEPT_MAX:
            self.rows = self.keeper.keep(self.rows.coalesce(_PARTS_KEPT_PER_CORE * self._cores))
        self._tell("reading subscriptions")
        self._evidence = gather(self.rows, runs)
        self._judge_all()
        violations = self._list_violations()
        columns = {"run": "string", **dict.fromkeys(COUNTS, "bigint")}
        counts = [(run, *(self._counts[run][name] for name in COUNTS)) for run in sorted(runs)]
        self._tell("timing deliveries, counting messages")
        every = 1 + self._deliveries // SAMPLED_FROM
        return Tables(
            to_arrow(columns, counts),
            violations,
            latencies(self.rows, every).toArrow().sort_by("run"),
            link_traffic(self.rows)
            .toArrow()
            .sort_by([(name, "ascending") for name in ("run", "source", "target", "message")]),
        )

    @property
    def _deliveries(self) -> int:
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
        keep = self.keeper.keep
        self._tell("looking over the order of rows")
        published = keep(groups.published_sums(self.rows))
        doubtful, repeated = self._screen(published)
        notifications = self._notifications(repeated)
        self._tell("matching publications with subscriptions")
        found = keep(obligations(notifications, self._evidence))
        early = self._early(allowed_pairs(found))
        self._tell("comparing what was owed with what was delivered")
        sums = groups.delivered_sums(self.rows)
        compared, different = self._look_over(keep(groups.compare(owed_sums(found), sums, early)))
        delivered = compared.where("n is not null")
        clients = groups.clients_of(delivered, published).toArrow().to_pylist()
        if different:
            self._tell(f"judging {len(different):,} groups pair by pair")
            self._judge_pairs(different, clients, notifications)
        self._judge_order(delivered, clients, doubtful)

    def _screen(self, published: DataFrame) -> tuple[list[int], list[tuple[str, str]]]:
        """The streams that may be out of order; and the publishers that may repeat themselves."""
        named = published.select(
            "run",
            "publisher",
            "n",
            groups.is_wrong(PUBLISHED).alias("is_wrong"),
            screening.stream_of_publications().alias("stream"),
        )
        doubtful = screening.doubtful_streams(screening.segments(self.rows))
        both = named.unionByName(doubtful, allowMissingColumns=True).toArrow().to_pylist()
        streams = {item["stream"] for item in both if item["n"] is None}
        publishers = [item for item in both if item["n"] is not None]
        if any(item["is_wrong"] for item in publishers):
            raise groups.wrong_row(self.rows, PUBLISHED)
        repeated = [item for item in publishers if item["stream"] in streams]
        for item in publishers:
            self._counts[item["run"]]["published"] += item["n"]
        own = {item["stream"] for item in repeated}
        names = [(item["run"], item["publisher"]) for item in repeated]
        return sorted(streams - own), names

    def _notifications(self, repeated: list[tuple[str, str]]) -> DataFrame:
        """What was published, each notification once; and how many that are."""
        if not repeated:
            return groups.publications(self.rows, None)
        names = to_frame(self._spark, {"run": "string", "publisher": "string"}, repeated)
        notifications = groups.publications(self.rows, names)
        for counts in self._counts.values():
            counts["published"] = 0
        for item in notifications.groupBy("run").count().toArrow().to_pylist():
            self._counts[item["run"]]["published"] = item["count"]
        return notifications

    def _early(self, allowed: DataFrame) -> DataFrame | None:
        """What was delivered without being owed, but rightly; None if there can be none."""
        count = allowed.count()
        if not count:
            return None
        chosen = fn.broadcast(allowed) if count <= _BROADCAST_MAX else allowed
        return groups.early_sums(self.rows, chosen)

    def _look_over(self, compared: DataFrame) -> tuple[DataFrame, list[dict[str, Any]]]:
        """Count the groups that are the same; all groups with names, and those that differ."""
        is_wrong = groups.is_wrong_sequence().alias("is_wrong")
        same = (
            compared.where("is_same")
            .groupBy("run")
            .agg(
                fn.sum("owed").alias("owed"),
                fn.sum("early").alias("early"),
                fn.max(is_wrong).alias("is_wrong"),
            )
        )
        others = compared.where(~fn.col("is_same")).select(*groups.GROUP, "is_strange", is_wrong)
        found = same.unionByName(others, allowMissingColumns=True).toArrow().to_pylist()
        different = [item for item in found if item["is_strange"] is not None]
        wrong = any(item["is_wrong"] for item in found)
        if any(item["is_strange"] for item in different):
            compared = self.keeper.keep(groups.named(compared, self.rows))
            bad = (groups.is_wrong(DELIVERED) & fn.col("n").isNotNull()).alias("is_wrong")
            listed = compared.where(~fn.col("is_same")).select(*groups.GROUP, bad)
            different = listed.toArrow().to_pylist()
            wrong |= any(item["is_wrong"] for item in different)
        if wrong:
            raise groups.wrong_row(self.rows, DELIVERED)
        for item in found:
            if item["is_strange"] is None:
                counts = self._counts[item["run"]]
                owed, early = item["owed"] or 0, item["early"] or 0
                counts["expected"] += owed
                counts["early"] += early
                counts["delivered"] += owed + early
        return compared, different

    # --- pair by pair ---------------------------------------------------------------------

    def _judge_pairs(
        self,
        different: list[dict[str, Any]],
        clients: list[dict[str, Any]],
        notifications: DataFrame,
    ) -> None:
        modes = {(item["run"], item["client"]): item["mode"] for item in clients}
        wanted: dict[str, dict[str, list[str]]] = {}
        chosen = []
        for item in different:
            run, client, publisher = (item[name] for name in groups.GROUP)
            wanted.setdefault(run, {}).setdefault(publisher, []).append(client)
            if (run, client) in modes:
                chosen.append((run, client, publisher, modes[run, client]))
        columns = {**dict.fromkeys(groups.GROUP, "string"), "mode": "bigint"}
        keep = self.keeper.keep
        owed = keep(owed_pairs(notifications, self._evidence, wanted))
        asked = to_frame(self._spark, columns, chosen)
        deliveries = keep(pairs.deliveries_in(self.rows, asked))
        odd = pairs.odd_pairs(owed, deliveries, notifications)
        gaps = find_gaps(self.rows, self._has(TRACE_GAP))
        judged = keep(pairs.judge_pairs(odd, self._evidence, gaps))
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

    def _judge_order(
        self, delivered: DataFrame, clients: list[dict[str, Any]], doubtful: list[int]
    ) -> None:
        """Judge the clients of whom the quick look does not say enough."""
        authors = [item for item in clients if item["is_author"]]
        asked = self._to_be_judged(delivered, doubtful, authors)
        targets = [
            item
            for item in clients
            if not item["is_quick"] or (item["run"], item["client"]) in asked
        ]
        if not targets:
            return
        self._tell(f"judging the order of {len(targets):,} clients")
        runs = {item["run"]: self._kinds[item["run"]].get(DELIVERED, 0) for item in targets}
        slots = spread(runs, self._cores)
        causes = None
        authors = [item for item in authors if item["run"] in runs]
        if authors:
            published = order.events_of(self.rows, self._clients(authors, slots), published=True)
            causes = order.direct_causes(published)
        deliveries = order.events_of(self.rows, self._clients(targets, slots), published=False)
        faults = order.faults_of_order(deliveries, causes, tasks(slots, self._cores))
        self._count_faults(self.keeper.keep(_named(faults, delivered)))

    def _clients(self, chosen: Iterable[dict[str, Any]], slots: Mapping[str, Slots]) -> DataFrame:
        rows = [(item["run"], item["client"], item["mode"], *slots[item["run"]]) for item in chosen]
        return to_frame(self._spark, _CLIENT, rows)

    def _to_be_judged(
        self, delivered: DataFrame, doubtful: list[int], authors: list[dict[str, Any]]
    ) -> set[tuple[str, str]]:
        """The clients whose order has to be judged exactly, though one column tells it.

        Those of a stream that failed the quick look; and, as a chain of causes from one publisher
        to another ends with a publisher that listens, those that hear such a one and at least one
        other.
        """
        if not doubtful and not authors:
            return set()
        streams = delivered.select(
            "run",
            "client",
            screening.stream_of_deliveries().alias("stream"),
            groups.session_hash("publisher").alias("hears"),
        )
        found = self.keeper.keep(streams)
        late = only_those(found, "stream", doubtful).select("run", "client").distinct()
        listening = only_those(found, "hears", [item["who"] for item in authors])
        several = found.groupBy("run", "client").count().where("count > 1").drop("count")
        hearing = listening.select("run", "client").distinct().intersect(several)
        asked = late.union(hearing).toArrow().to_pylist()
        return {(item["run"], item["client"]) for item in asked}

    def _count_faults(self, faults: DataFrame) -> None:
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

    def _list_violations(self) -> Any:
        """The first violations of each kind in each run, by time, with the paths they took."""
        if not self._violations:
            nothing = to_frame(self._spark, _VIOLATION, [])
            return nothing.withColumn("path", fn.lit(None).cast(PATH)).toArrow()
        self._tell("following what went wrong")
        place = Window.partitionBy("run", "kind").orderBy("at", "publisher", "sequence", "client")
        found = reduce(lambda one, other: one.union(other), self._violations)
        first = found.withColumn("place", fn.row_number().over(place))
        kept = first.where(fn.col("place") <= self._violations_max).drop("place")
        listed = with_keys(kept).toArrow()
        keys = listed.column("key").unique().to_pylist()
        table = with_paths(from_arrow(self._spark, listed), self.rows, keys).toArrow()
        names = ("run", "at", "kind", "client", "publisher", "sequence")
        return table.sort_by([(name, "ascending") for name in names])


def _joined(one: RunFacts, other: RunFacts) -> RunFacts:
    return RunFacts(
        max(one.settle, other.settle),
        max(one.end, other.end),
        one.advertisements_required or other.advertisements_required,
    )


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
