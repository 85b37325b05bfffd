"""The path that a notification took: everything brokers recorded of it, in the order of time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as fn

from sapwood.pipeline.spark.local import only_those
from sapwood.trace.schema import DELIVERED, DROPPED, FORWARDED, PUBLISHED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HOP: Final = {
    "at": "double",
    "broker": "string",
    "session": "bigint",
    "step": "bigint",
    "kind": "string",
    "source": "string",
    "target": "string",
    "client": "string",
    "message": "string",
}
PATH: Final = "array<struct<" + ", ".join(f"{name}: {kind}" for name, kind in _HOP.items()) + ">>"
"""The type of a column of paths."""

_KEY: Final = ("run", "publisher", "sequence")


def with_keys(violations: DataFrame) -> DataFrame:
    """Violations, each with a number for the notification that it is about."""
    return violations.withColumn("key", fn.xxhash64(*_KEY))


def with_paths(violations: DataFrame, rows: DataFrame, keys: Collection[int]) -> DataFrame:
    """Violations (with their keys) with the hops of the notification each is about, as `path`."""
    moved = rows.where(rows["kind"].isin(PUBLISHED, FORWARDED, DELIVERED, DROPPED))
    hops = (
        only_those(with_keys(moved), "key", keys)
        .groupBy("key")
        .agg(fn.sort_array(fn.collect_list(fn.struct(*_HOP))).alias("path"))
    )
    return violations.join(hops, "key", "left").select(
        *(name for name in violations.columns if name != "key"), "path"
    )


def path_text(path: Iterable[Mapping[str, Any]] | None, client: str) -> str:
    """A path in one line, as far as it concerns a client."""
    told = [_hop(hop) for hop in path or () if hop["kind"] != DELIVERED or hop["client"] == client]
    return "; ".join(told) if told else "no broker recorded it"


def _hop(hop: Mapping[str, Any]) -> str:
    broker = hop["broker"]
    what = {
        PUBLISHED: f"published at {broker}",
        FORWARDED: f"{broker} to {hop['target']}",
        DROPPED: f"dropped at {broker}",
        DELIVERED: f"delivered at {broker}",
    }[hop["kind"]]
    why = f" ({hop['message']})" if hop["kind"] == DROPPED and hop["message"] else ""
    return f"{what}{why} at {hop['at']:g} s"
