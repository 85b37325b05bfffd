"""What a trace shows of a network, for `sapwood.analysis.traffic.fitting`: gathered on Spark.

Subscriptions are few and come here. Publications are matched on the workers, and only counted: how
many at each broker are matched by which filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import functions as fn

from sapwood.analysis.traffic.fitting import Observed, Stay
from sapwood.errors import (
    InvalidNotificationError,
    PipelineError,
    TraceError,
    TraceRowError,
)
from sapwood.pipeline.auditing.evidence import index_of
from sapwood.pipeline.loads.costs import current_tree, ordered
from sapwood.pipeline.spark.failures import plain_errors
from sapwood.pipeline.spark.shipping import ship
from sapwood.pipeline.traces import SETTLE
from sapwood.trace.files import arrow
from sapwood.trace.judge.declarations import in_time
from sapwood.trace.judge.filterbook import FilterBook
from sapwood.trace.judge.rules import NEVER
from sapwood.trace.schema import (
    CLOCK,
    FORWARDED,
    PUBLISHED,
    SETTLE_SECONDS_DEFAULT,
    SUBSCRIBED,
    UNSUBSCRIBED,
    Row,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sapwood.protocol.tree import Link

SHOWN_MAX: Final = 5
_COUNTED: Final = "broker string, is_held boolean, kind string, n bigint"
_decode = msgspec.json.Decoder(dict[str, bool | int | float | str]).decode


class Seen(NamedTuple):
    """A network in the time that is fitted to, and in the time that is held out."""

    run: str
    fitted: Observed
    held: Observed
    tree: tuple[Link, ...]
    """Its links at the end."""

    brokers: tuple[str, ...]
    forwarded: dict[bool, int]
    """Notifications over links, in the time fitted to (False), and held out (True)."""


def observe(traces: DataFrame, run: str | None = None, held_out: float = 0.25) -> Seen:
    """What a run shows; the last part of its time is held out.

    The first seconds, until subscriptions have settled, are left aside, and so is the time at the
    end in which nothing happened any more.
    """
    with plain_errors():
        ship(traces.sparkSession)
        name, begin, end, brokers = _window(traces, run)
        rows = traces.where(traces["run"] == name)
        cut = end - (end - begin) * held_out
        if not begin < cut <= end:
            raise PipelineError(
                f"run {name!r} lasts {end - begin:g} s after it has settled: too short to be "
                "fitted to; record longer, or hold less out"
            )
        filters, stays = _subscriptions(rows)
        published = _published(rows, filters, begin, cut)
        links, forwarded = _links(rows, set(brokers), begin, cut)
        parts = [
            Observed(filters, *window, stays, published[is_held])
            for is_held, window in ((False, (begin, cut)), (True, (cut, end)))
        ]
        tree = current_tree(brokers, links)
        return Seen(name, parts[0], parts[1], tree, tuple(brokers), forwarded)


def _window(traces: DataFrame, run: str | None) -> tuple[str, float, float, list[str]]:
    """The run that is asked about, from when to when it is looked at, and its brokers."""
    happened = fn.when(fn.col("kind") != CLOCK, fn.col("at"))
    found = (
        traces.groupBy("run", "broker")
        .agg(
            fn.min("at").alias("begin"),
            fn.max(happened).alias("end"),
            fn.max(SETTLE).alias("settle"),
        )
        .toArrow()
        .to_pylist()
    )
    runs = sorted({item["run"] for item in found})
    if not runs:
        raise TraceError("there are no rows to look at")
    if run is None and len(runs) > 1:
        more = ", …" if len(runs) > SHOWN_MAX else ""
        raise PipelineError(
            f"there are {len(runs):,} runs ({', '.join(runs[:SHOWN_MAX])}{more}); say which with "
            "--run"
        )
    name = runs[0] if run is None else run
    own = [item for item in found if item["run"] == name]
    if not own:
        raise PipelineError(f"there is no run {name!r}; there are {', '.join(runs[:SHOWN_MAX])}")
    stated = [item["settle"] for item in own if item["settle"] is not None]
    begin = min(item["begin"] for item in own) + max(stated, default=SETTLE_SECONDS_DEFAULT)
    end = max((item["end"] for item in own if item["end"] is not None), default=begin)
    return name, begin, end, sorted(item["broker"] for item in own)


def _subscriptions(rows: DataFrame) -> tuple[tuple[str, ...], list[Stay]]:
    """Filters, one text for each meaning, and every subscription from its beginning to its end."""
    said = rows.where(rows["kind"].isin(SUBSCRIBED, UNSUBSCRIBED)).select(
        "run", "broker", "session", "step", "at", "kind", "client", "message", "filter"
    )
    return stays_of(sorted(arrow.to_rows(said.toArrow()), key=in_time))


def stays_of(rows: Iterable[Row]) -> tuple[tuple[str, ...], list[Stay]]:
    """The same of rows in the order of time. Subscribing again changes nothing."""
    book = FilterBook()
    texts: dict[int, str] = {}
    open_ones: dict[tuple[str, int], tuple[str, float]] = {}
    found: list[Stay] = []
    for row in rows:
        number = book.number(row)
        texts.setdefault(number, row.filter or "")
        key = row.client or "", number
        if row.kind == SUBSCRIBED:
            open_ones.setdefault(key, (row.broker, row.at))
        elif key in open_ones:
            broker, started = open_ones.pop(key)
            found.append(Stay(broker, number, started, row.at))
    for (_, number), (broker, started) in open_ones.items():
        found.append(Stay(broker, number, started, NEVER))
    return tuple(texts[number] for number in range(len(texts))), found


def _published(
    rows: DataFrame, filters: tuple[str, ...], begin: float, cut: float
) -> dict[bool, dict[tuple[str, tuple[int, ...]], int]]:
    """How many notifications were published at each broker, by which filters match them."""

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            texts = batch.column("attributes").dictionary_encode()
            names = pa.array(_kinds_of(filters, texts.dictionary.to_pylist()), pa.string())
            table = pa.table(
                {
                    "broker": batch.column("broker"),
                    "is_held": batch.column("is_held"),
                    "kind": names.take(texts.indices),
                }
            )
            counted = table.group_by(["broker", "is_held", "kind"]).aggregate([([], "count_all")])
            yield from counted.rename_columns(["broker", "is_held", "kind", "n"]).to_batches()

    chosen = rows.where((rows["kind"] == PUBLISHED) & rows["attributes"].isNotNull())
    counted = (
        chosen.where(chosen["at"] >= begin)
        .select("broker", (fn.col("at") > cut).alias("is_held"), "attributes")
        .mapInArrow(work, _COUNTED)
        .groupBy("broker", "is_held", "kind")
        .agg(fn.sum("n").alias("n"))
    )
    found: dict[bool, dict[tuple[str, tuple[int, ...]], int]] = {False: {}, True: {}}
    for item in counted.toArrow().to_pylist():
        kind = tuple(int(number) for number in item["kind"].split(",") if number)
        found[item["is_held"]][item["broker"], kind] = item["n"]
    return found


def _kinds_of(filters: tuple[str, ...], texts: list[str]) -> list[str]:
    """For each notification, given by its attributes as text, the filters that match it."""
    try:
        matching = index_of(filters).match_batch([_decode(text) for text in texts])
    except (msgspec.DecodeError, InvalidNotificationError) as problem:
        raise TraceRowError(f"a published row has wrong attributes: {problem}") from None
    return [",".join(map(str, sorted(found))) for found in matching]


def _links(
    rows: DataFrame, brokers: set[str], begin: float, cut: float
) -> tuple[dict[Link, float], dict[bool, int]]:
    """When each link was last used, and how many notifications went over all of them."""
    sent = rows.where((rows["kind"] == FORWARDED) & rows["target"].isNotNull())
    found = (
        sent.groupBy("broker", "target", (fn.col("at") > cut).alias("is_held"))
        .agg(fn.max("at").alias("at"), fn.count_if(fn.col("at") >= begin).alias("n"))
        .toArrow()
        .to_pylist()
    )
    used: dict[Link, float] = {}
    count = {False: 0, True: 0}
    for item in found:
        if item["target"] in brokers and item["target"] != item["broker"]:
            link = ordered(item["broker"], item["target"])
            used[link] = max(item["at"], used.get(link, item["at"]))
            count[item["is_held"]] += item["n"]
    return used, count


__all__ = ["Seen", "observe", "stays_of"]
