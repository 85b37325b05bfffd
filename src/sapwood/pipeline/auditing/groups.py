"""Counts and checksums per subscriber and publisher, and how the events of a client are ordered.

Two groups of equal count and equal checksums hold the same notifications: then nothing between that
subscriber and that publisher is lost, repeated, early or unexpected, and nobody has to look closer.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as fn

from sapwood.errors import TraceRowError
from sapwood.trace.schema import DELIVERED, PUBLISHED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

GROUP: Final = ("run", "client", "publisher")

_NEEDED: Final = {PUBLISHED: ("publisher",), DELIVERED: ("publisher", "client")}
"""What a row has to name."""

BY_COUNT, BY_STEP, BY_TIME = range(3)
"""How the events of a client are ordered: by `client_order`; by the steps of its only broker, where
some lack that; by time, where it was at several brokers."""


def session_hash(name: str) -> Column:
    """A client session or publisher as a number."""
    return fn.xxhash64("run", name)


def group_hash() -> Column:
    """A subscriber and a publisher of a run as a number."""
    return fn.xxhash64(*GROUP)


def delivered_sums(rows: DataFrame, *, places: bool = True) -> DataFrame:
    """Count and checksums of what each client was delivered of each publisher.

    Groups are known by `id`, their hash: grouping by numbers is several times as quick as by names,
    which `compare` and `named` bring back. With `places`, also where and in which order: what
    `clients_of` needs.
    """
    hashed = fn.xxhash64("sequence")
    return (
        rows.where(rows["kind"] == DELIVERED)
        .groupBy(group_hash().alias("id"))
        .agg(
            fn.count(fn.lit(1)).alias("n"),
            fn.bit_xor(hashed).alias("x"),
            fn.sum(fn.shiftright(hashed, 32)).alias("s"),
            *(_places() if places else ()),
        )
    )


def published_sums(rows: DataFrame) -> DataFrame:
    """How many rows each publisher has, and where they are."""
    return (
        rows.where(rows["kind"] == PUBLISHED)
        .groupBy("run", "publisher")
        .agg(fn.count(fn.lit(1)).alias("n"), *_places())
    )


def _places() -> list[Column]:
    broker = fn.xxhash64("broker")
    return [
        fn.count("client_order").alias("ordered"),
        fn.min("client_order").alias("first_order"),
        fn.max("client_order").alias("last_order"),
        fn.min(broker).alias("low_broker"),
        fn.max(broker).alias("high_broker"),
        fn.min("session").alias("low_session"),
        fn.max("session").alias("high_session"),
        fn.min(fn.coalesce("sequence", fn.lit(0))).alias("low_sequence"),
    ]


def is_wrong_sequence() -> Column:
    """Whether some row of a group has a sequence below 1, or none."""
    return fn.col("low_sequence") < 1


def is_wrong(kind: str) -> Column:
    """Whether a group has rows that do not say which notification, or client, they are about."""
    return _or_unnamed(is_wrong_sequence(), kind)


def has_wrong(sums: DataFrame, kind: str) -> bool:
    """Whether there is such a group."""
    return bool(sums.where(is_wrong(kind)).limit(1).toArrow().num_rows)


def wrong_row(rows: DataFrame, kind: str) -> TraceRowError:
    """What is wrong with one of the rows of such a group."""
    bad = _or_unnamed(fn.coalesce("sequence", fn.lit(0)) < 1, kind)
    found = rows.where((rows["kind"] == kind) & bad).limit(1).toArrow().to_pylist()[0]
    place = f"row {found['step']} of {found['broker']}.{found['session']} in run {found['run']!r}"
    if kind == DELIVERED and found["client"] is None:
        return TraceRowError(f"{place} ({kind}) has no client")
    return TraceRowError(
        f"{place} ({kind}) is about notification {found['publisher']}:{found['sequence']}; "
        "it needs a publisher and a sequence from 1"
    )


def _or_unnamed(wrong: Column, kind: str) -> Column:
    return reduce(or_, (fn.col(name).isNull() for name in _NEEDED[kind]), wrong)


def compare(owed: DataFrame, delivered: DataFrame) -> DataFrame:
    """Expected against delivered: each group with both counts, and whether they are the same.

    Groups of which nothing was owed have no names yet.
    """
    expected = (
        owed.groupBy(*GROUP)
        .agg(
            fn.sum("n").alias("owed"),
            fn.bit_xor("x").alias("owed_x"),
            fn.sum("s").alias("owed_s"),
        )
        .withColumn("id", group_hash())
    )
    is_same = fn.col("n").eqNullSafe(fn.col("owed"))
    for name in ("x", "s"):
        is_same &= fn.col(name).eqNullSafe(fn.col(f"owed_{name}"))
    return (
        delivered.join(expected, "id", "full_outer")
        .withColumn("is_same", is_same)
        .drop("x", "s", "owed_x", "owed_s")
    )


def named(compared: DataFrame, rows: DataFrame) -> DataFrame:
    """The same, with the names of groups of which nothing was owed."""
    strange = compared.where("owed is null").select("id")
    names = (
        rows.where(rows["kind"] == DELIVERED)
        .select(group_hash().alias("id"), *GROUP)
        .join(fn.broadcast(strange), "id", "left_semi")
        .distinct()
    )
    found = compared.where("owed is null").drop(*GROUP).join(names, "id")
    return compared.where("owed is not null").unionByName(found)


def clients_of(delivered: DataFrame, published: DataFrame) -> DataFrame:
    """How the events of each client that was delivered something are ordered.

    `mode` is one of `BY_COUNT`, `BY_STEP`, `BY_TIME`; `is_quick` says whether `client_order`, or
    `step` where that is missing, tells the order by itself; `is_author` whether the client may have
    published something after it was delivered something.
    """
    got = delivered.groupBy("run", "client").agg(
        fn.sum("n").alias("n"),
        fn.sum("ordered").alias("ordered"),
        fn.min("first_order").alias("first_order"),
        *(fn.min(f"low_{name}").alias(f"low_{name}") for name in ("broker", "session")),
        *(fn.max(f"high_{name}").alias(f"high_{name}") for name in ("broker", "session")),
    )
    gave = published.select(
        "run",
        fn.col("publisher").alias("client"),
        *(fn.col(name).alias(f"own_{name}") for name in ("n", "ordered", "last_order")),
        *(fn.col(f"low_{name}").alias(f"own_low_{name}") for name in ("broker", "session")),
        *(fn.col(f"high_{name}").alias(f"own_high_{name}") for name in ("broker", "session")),
    )
    both = got.join(gave, ["run", "client"], "left")
    all_rows = fn.col("n") + fn.coalesce("own_n", fn.lit(0))
    ordered = fn.col("ordered") + fn.coalesce("own_ordered", fn.lit(0))
    is_one = {
        name: fn.least(f"low_{name}", f"own_low_{name}")
        == fn.greatest(f"high_{name}", f"own_high_{name}")
        for name in ("broker", "session")
    }
    mode = fn.when(ordered == all_rows, BY_COUNT).when(is_one["broker"], BY_STEP).otherwise(BY_TIME)
    is_plain = (ordered == 0) & is_one["broker"] & is_one["session"]
    after = (mode != BY_COUNT) | (fn.col("first_order") < fn.col("own_last_order"))
    return both.select(
        "run",
        "client",
        mode.alias("mode"),
        ((mode == BY_COUNT) | is_plain).alias("is_quick"),
        (fn.col("own_n").isNotNull() & after).alias("is_author"),
    )


def publications(rows: DataFrame, repeated: DataFrame | None) -> DataFrame:
    """Each notification once, as it was published first.

    `repeated` are the publishers (run, publisher) of whom a notification may have several rows.
    """
    columns = ("run", "publisher", "sequence", "at", "attributes")
    published = rows.where(rows["kind"] == PUBLISHED)
    if repeated is None:
        return published.select(*columns)
    chosen = fn.broadcast(repeated)
    place = ("at", "broker", "session", "step", "attributes")
    first = (
        published.join(chosen, ["run", "publisher"], "left_semi")
        .groupBy("run", "publisher", "sequence")
        .agg(fn.min(fn.struct(*place)).alias("first"))
        .select("run", "publisher", "sequence", "first.at", "first.attributes")
    )
    return published.join(chosen, ["run", "publisher"], "left_anti").select(*columns).union(first)
