"""The path that a notification took: everything brokers recorded of it, in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as fn

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


def with_paths(violations: DataFrame, rows: DataFrame) -> DataFrame:
    """Violations with the hops of the notification that each is about, as `path`."""
    asked = fn.broadcast(violations.select(*_KEY).distinct())
    hops = (
        rows.where(rows["kind"].isin(PUBLISHED, FORWARDED, DELIVERED, DROPPED))
        .join(asked, list(_KEY), "left_semi")
        .groupBy(*_KEY)
        .agg(fn.sort_array(fn.collect_list(fn.struct(*_HOP))).alias("path"))
    )
    return violations.join(hops, list(_KEY), "left").orderBy("run", "at", "kind", "client")


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
