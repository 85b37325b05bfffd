"""One question of `sapwood bench pipeline`, answered on Spark in a process of its own."""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from sapwood.errors import BenchmarkError

MASTER = "local[2]"
_SAMPLE_SECONDS = 1.0
_MEMORY = "2g"


def measure(plan: dict[str, Any]) -> dict[str, Any]:
    """Answer a question about a trace some times over, in one session.

    The best processor seconds of this process and all it started (Java, Python workers), the
    highest memory of them together, and the answer.
    """
    from sapwood.pipeline.spark.session import open_session  # noqa: PLC0415 - Spark is optional
    from sapwood.pipeline.traces import read_traces  # noqa: PLC0415

    begin = time.perf_counter()
    spark = open_session(MASTER, memory=_MEMORY, short=plan.get("short", False))
    start_seconds = time.perf_counter() - begin
    answer = QUESTIONS[plan["question"]]
    seconds, found = [], None
    with Peak() as peak:
        for _ in range(plan["rounds"]):
            before = tree_seconds() - peak.seconds
            found = answer(read_traces(plan["directory"], spark=spark))
            seconds.append(tree_seconds() - peak.seconds - before)
    spark.stop()
    return {
        "seconds": min(seconds),
        "all_seconds": seconds,
        "start_seconds": start_seconds,
        "megabytes": peak.megabytes,
        "answer": found,
    }


# --- the questions ----------------------------------------------------------------------------


def _sums(rows: Any) -> Any:
    """Groups of subscriber and publisher that differ, and deliveries in them."""
    from sapwood.pipeline.auditing import groups  # noqa: PLC0415
    from sapwood.pipeline.auditing.evidence import RunFacts, gather  # noqa: PLC0415
    from sapwood.pipeline.auditing.owed import obligations, owed_sums  # noqa: PLC0415

    ends = rows.groupBy("run").agg({"at": "max", "settle_seconds": "any_value"})
    facts = {
        item["run"]: RunFacts(item["any_value(settle_seconds)"], item["max(at)"], False)
        for item in ends.toArrow().to_pylist()
    }
    owed = owed_sums(obligations(groups.publications(rows, None), gather(rows, facts)))
    compared = groups.compare(owed, groups.delivered_sums(rows, places=False)).where("not is_same")
    found = compared.selectExpr("count(1)", "sum(n)").toArrow().to_pylist()[0]
    return [list(found.values())]


def _order(rows: Any) -> Any:
    """Deliveries that came after a later one of their publisher."""
    from sapwood.pipeline.auditing import order, screening  # noqa: PLC0415

    delivered = rows.where(rows["kind"] == "delivered")
    found = screening.doubtful_streams(screening.segments(delivered)).toArrow()
    if not found.num_rows:
        return [[0]]
    doubtful = rows.sparkSession.createDataFrame(found).hint("broadcast")
    streams = delivered.withColumn("stream", screening.stream_of_deliveries())
    chosen = streams.join(doubtful, "stream", "left_semi")
    events = chosen.selectExpr(
        "xxhash64(run) as in_run",
        "xxhash64(run, client) as who",
        "xxhash64(run, publisher) as publisher",
        "sequence",
        "at",
        "client_order as by_count",
        "0D as by_time",
        "broker",
        "session",
        "step",
        "0L as first",
        "2L as slots",
    )
    faults = order.faults_of_order(events, None, tasks=2)
    return [[faults.where(f"fault & {order.FIFO} > 0").count()]]


def _shared(rows: Any) -> Any:
    """Notifications that concern both brokers of each pair."""
    from sapwood.pipeline.loads.matrix import patterns, shared_traffic  # noqa: PLC0415

    listed = rows.select("broker").distinct().orderBy("broker").toArrow().column(0).to_pylist()
    shared = shared_traffic(patterns(rows, listed), listed).orderBy("left", "right")
    return [list(row.values()) for row in shared.toArrow().to_pylist()]


def _audit(rows: Any) -> Any:
    """Everything: counts, and the violations listed."""
    from sapwood.pipeline.auditing.audit import audit  # noqa: PLC0415

    found = audit(rows, violations_max=10_000)
    [counts] = found.counts.toArrow().to_pylist()
    violations = [
        [row["kind"], f"{row['publisher']}:{row['sequence']}", row["client"]]
        for row in found.violations.toArrow().to_pylist()
    ]
    found.latency.toArrow()
    found.traffic.toArrow()
    return {"counts": counts, "violations": sorted(violations)}


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "sums": _sums,
    "order": _order,
    "shared": _shared,
    "audit": _audit,
}


# --- the tree of processes --------------------------------------------------------------------


def tree_seconds() -> float:
    """Processor seconds of this process and all it started, those that have ended included.

    Workers of Spark end when they are idle; what they took is then known of their parent.
    """
    return sum(_of_tree(lambda process: sum(process.cpu_times()[:4])))


def _tree_megabytes() -> float:
    return sum(_of_tree(_proportional)) / 1e6


def _proportional(process: Any) -> float:
    """Memory of a process, pages shared with others by share; where unknown, all it has."""
    info = process.memory_full_info()
    return float(getattr(info, "pss", 0) or info.rss)


def _of_tree(figure: Callable[[Any], float]) -> list[float]:
    try:
        psutil: Any = importlib.import_module("psutil")  # optional
    except ImportError:
        raise BenchmarkError(
            "this benchmark measures processes with psutil, which is missing: pip install psutil"
        ) from None
    own = psutil.Process(os.getpid())
    figures = []
    for process in [own, *own.children(recursive=True)]:
        try:
            figures.append(figure(process))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return figures


class Peak:
    """The highest memory of the tree of processes while inside."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self.seconds = 0.0
        """Processor time that looking took."""

        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.is_set():
            self.megabytes = max(self.megabytes, _tree_megabytes())
            self.seconds = time.thread_time()
            self._done.wait(_SAMPLE_SECONDS)
