"""The same questions asked of DuckDB and Polars, each in a fresh process; what they answer.

What they are asked is what their users would write: SQL and expressions over the same files. The
owed side is a join on the class, which suits them: they know nothing of filters.
"""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from typing import Any

RIVALS = ("duckdb", "polars")


def available() -> list[str]:
    """Those that are installed."""
    return [name for name in RIVALS if find_spec(name) is not None]


def measure(plan: dict[str, Any]) -> dict[str, Any]:
    """Answer one question (`sums`, `order`, `shared`); processor seconds, and the answer.

    Runs in a process of its own; its threads are counted, and nothing else.
    """
    answer = {"duckdb": _duckdb, "polars": _polars}[plan["rival"]]
    before = _processor_seconds()
    found = answer(plan["question"], f"{plan['directory']}/*.parquet")
    return {"seconds": _processor_seconds() - before, "answer": found}


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system


# --- DuckDB -----------------------------------------------------------------------------------

_OWED = """
with wanted as (
  select client, cast(regexp_extract(filter, '[0-9]+') as bigint) as class
  from '{files}' where kind = 'subscribed'
), sent as (
  select publisher, sequence, cast(json_extract(attributes, '$.class') as bigint) as class
  from '{files}' where kind = 'published'
), owed as (
  select client, publisher, count(*) as n, sum(hash(sequence)) as s
  from sent join wanted using (class) group by all
), got as (
  select client, publisher, count(*) as n, sum(hash(sequence)) as s
  from '{files}' where kind = 'delivered' group by all
)
select count(*), sum(coalesce(got.n, 0)) from owed full join got using (client, publisher)
where owed.n is distinct from got.n or owed.s is distinct from got.s
"""
_ORDER = """
select count(*) from (
  select sequence < max(sequence) over (
    partition by client, publisher order by client_order
    rows between unbounded preceding and 1 preceding) as late
  from '{files}' where kind = 'delivered'
) where late
"""
_SHARED = """
with concerned as (
  select distinct publisher, sequence, broker
  from '{files}' where kind in ('delivered', 'published')
)
select one.broker, other.broker, count(*)
from concerned one join concerned other using (publisher, sequence)
where one.broker <= other.broker group by all order by all
"""


def _duckdb(question: str, files: str) -> Any:
    import duckdb  # noqa: PLC0415 - optional

    connection = duckdb.connect()
    connection.execute("set threads = 2")
    text = {"sums": _OWED, "order": _ORDER, "shared": _SHARED}[question]
    rows = connection.execute(text.replace("{files}", files)).fetchall()
    return json.loads(json.dumps(rows, default=int))


# --- Polars -----------------------------------------------------------------------------------


def _polars(question: str, files: str) -> Any:
    import polars as pl  # noqa: PLC0415 - optional

    rows = pl.scan_parquet(files)
    delivered = rows.filter(pl.col("kind") == "delivered")
    if question == "sums":
        return _polars_sums(pl, rows, delivered)
    if question == "order":
        before = (
            pl.col("sequence")
            .cum_max()
            .shift(1)
            .over(["client", "publisher"], order_by="client_order")
        )
        late = delivered.select((pl.col("sequence") < before).sum())
        return [[int(late.collect(engine="streaming").item())]]
    concerned = (
        rows.filter(pl.col("kind").is_in(["delivered", "published"]))
        .select("publisher", "sequence", "broker")
        .unique()
    )
    pairs = (
        concerned.join(concerned, on=["publisher", "sequence"])
        .filter(pl.col("broker") <= pl.col("broker_right"))
        .group_by("broker", "broker_right")
        .len()
        .sort("broker", "broker_right")
    )
    found = pairs.collect(engine="streaming")
    return [[row[0], row[1], int(row[2])] for row in found.iter_rows()]


def _polars_sums(pl: Any, rows: Any, delivered: Any) -> Any:
    def summed(frame: Any) -> Any:
        hashed = pl.col("sequence").hash() // 2**32
        return frame.group_by("client", "publisher").agg(
            pl.len().alias("n"), hashed.sum().alias("s")
        )

    number = r"(\d+)"
    wanted = rows.filter(pl.col("kind") == "subscribed").select(
        "client", pl.col("filter").str.extract(number).cast(pl.Int64).alias("class")
    )
    sent = rows.filter(pl.col("kind") == "published").select(
        "publisher",
        "sequence",
        pl.col("attributes").str.extract(number).cast(pl.Int64).alias("class"),
    )
    owed = summed(sent.join(wanted, on="class"))
    both = owed.join(summed(delivered), on=["client", "publisher"], how="full", coalesce=True)
    differs = pl.col("n").ne_missing(pl.col("n_right")) | pl.col("s").ne_missing(pl.col("s_right"))
    found = both.filter(differs).select(pl.len(), pl.col("n_right").fill_null(0).sum())
    return [[int(value) for value in found.collect(engine="streaming").row(0)]]
