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


def early_sums(rows: DataFrame, allowed: DataFrame) -> DataFrame:
    """Count and checksums of what each client was delivered early, of each publisher.

    That is what was not owed but might be delivered (`allowed`: pairs, between which times). Where
    such a pair was delivered twice, `is_again` says so.
    """
    deliveries = rows.where(rows["kind"] == DELIVERED).select(
        "run", "client", "publisher", "sequence", "at"
    )
    is_allowed = [deliveries[name] == allowed[name] for name in (*GROUP, "sequence")]
    is_allowed.append(deliveries["at"].between(allowed["since"], allowed["until"]))
    hashed = fn.xxhash64("sequence")
    return (
        deliveries.join(allowed, is_allowed, "left_semi")
        .groupBy(*GROUP, "sequence")
        .agg(fn.count(fn.lit(1)).alias("times"))
        .groupBy(*GROUP)
        .agg(
            fn.count(fn.lit(1)).alias("early"),
            fn.bit_xor(hashed).alias("early_x"),
            fn.sum(fn.shiftright(hashed, 32)).alias("early_s"),
            (fn.max("times") > 1).alias("is_again"),
        )
    )


def compare(owed: DataFrame, delivered: DataFrame, early: DataFrame | None = None) -> DataFrame:
    """Expected against delivered: each group with both counts, and whether they are the same.

    What was delivered `early` is left aside. Groups of which nothing was owed, or early, have no
    names yet.
    """
    expected = owed.groupBy(*GROUP).agg(
        fn.sum("n").alias("owed"),
        fn.bit_xor("x").alias("owed_x"),
        fn.sum("s").alias("owed_s"),
    )
    if early is None:
        beside = {"early": "bigint", "early_x": "bigint", "early_s": "bigint"}
        nothing = [fn.lit(None).cast(kind).alias(name) for name, kind in beside.items()]
        expected = expected.select("*", *nothing, fn.lit(False).alias("is_again"))
    else:
        expected = expected.join(early, list(GROUP), "full_outer")
    expected = expected.withColumn("id", group_hash())
    is_same = ~fn.coalesce("is_again", fn.lit(False)) & (_number("n") == _sum("owed", "early"))
    is_same &= _number("x") == _number("owed_x").bitwiseXOR(_number("early_x"))
    is_same &= _number("s") == _sum("owed_s", "early_s")
    return (
        delivered.join(expected, "id", "full_outer")
        .withColumn("is_same", is_same)
        .withColumn("is_strange", fn.col("owed").isNull() & fn.col("early").isNull())
        .drop("x", "s", *(f"{who}_{sum_}" for who in ("owed", "early") for sum_ in ("x", "s")))
    )


def _number(name: str) -> Column:
    """A column, 0 where there is nothing."""
    return fn.coalesce(name, fn.lit(0))


def _sum(one: str, other: str) -> Column:
    return _number(one) + _number(other)


def named(compared: DataFrame, rows: DataFrame) -> DataFrame:
    """The same, with the names of groups of which nothing was owed, or early."""
    strange = compared.where("is_strange").select("id")
    names = (
        rows.where(rows["kind"] == DELIVERED)
        .select(group_hash().alias("id"), *GROUP)
        .join(fn.broadcast(strange), "id", "left_semi")
        .distinct()
    )
    found = compared.where("is_strange").drop(*GROUP).join(names, "id")
    return compared.where(~fn.col("is_strange")).unionByName(found)


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
        session_hash("client").alias("who"),
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
