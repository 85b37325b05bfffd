"""`read_traces`: the rows of all trace files below a directory, as one DataFrame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as fn

from sapwood.errors import TraceRowError
from sapwood.pipeline.files import Listing, TraceFile, check_listing, doubtful, is_here, list_traces
from sapwood.pipeline.spark.local import to_frame
from sapwood.pipeline.spark.session import open_session
from sapwood.trace.schema import COLUMNS, RunSettings

if TYPE_CHECKING:
    from os import PathLike

    from pyspark.sql import Column, DataFrame, SparkSession

SETTLE: Final = "settle_seconds"
ADVERTISEMENTS: Final = "advertisements_required"
SETTINGS: Final = {SETTLE: "double", ADVERTISEMENTS: "boolean"}
"""Columns that say of each row what the files of its run say about themselves."""

_WANTED: Final = {"string": "string", "int64": "bigint", "double": "double"}
_STORED: Final = {
    **_WANTED,
    "bool": "boolean",
    "float": "float",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
}
"""How Spark reads what Arrow wrote. Unknown columns of other types are left out."""

_GLOB: Final = re.compile(r"([\\*?\[\]{}])")


def read_traces(
    directory: str | PathLike[str],
    *,
    spark: SparkSession | None = None,
    skip_damaged: bool = False,
    unfinished: bool = False,
) -> DataFrame:
    """The rows below a directory, one a row, with every column of the contract.

    A missing column is null everywhere, unknown ones come last, and two more say what the files
    of a run state about it: `settle_seconds` and `advertisements_required`. Footers are read at
    once: a file that is damaged or no trace is an error here, not in the middle of a job.
    """
    if spark is None and not is_here(str(directory)):
        spark = open_session()
    listing = list_traces(str(directory), spark)
    check_listing(listing, skip_damaged=skip_damaged, unfinished=unfinished)
    return read_listing(listing, spark or open_session())


def read_listing(listing: Listing, spark: SparkSession) -> DataFrame:
    """The rows of files whose footers have been looked at; refuses rows that are there twice."""
    suspicious = doubtful(listing.files)
    if suspicious:
        _check_unique(_read(suspicious, spark))
    return _with_settings(_read(listing.files, spark), listing.settings(), spark)


def _with_settings(
    rows: DataFrame, settings: Mapping[str, RunSettings], spark: SparkSession
) -> DataFrame:
    different = {(one.settle_seconds, one.advertisements_required) for one in settings.values()}
    if len(different) == 1:
        stated = zip(SETTINGS.items(), different.pop(), strict=True)
        return rows.select(
            "*", *(fn.lit(value).cast(kind).alias(name) for (name, kind), value in stated)
        )
    table = to_frame(
        spark,
        {"run": "string", **SETTINGS},
        [(run, one.settle_seconds, one.advertisements_required) for run, one in settings.items()],
    )
    return rows.join(fn.broadcast(table), "run", "left")


def _read(files: Sequence[TraceFile], spark: SparkSession) -> DataFrame:
    """All files whose types are the contract's are read together, the rest in few more parts."""
    extras = _extras(files)
    alike: dict[tuple[tuple[str, str], ...], list[TraceFile]] = {}
    for file in files:
        wanted = {**COLUMNS, **extras}
        odd = tuple((name, kind) for name, kind in file.columns if kind != wanted.get(name, kind))
        alike.setdefault(odd, []).append(file)
    parts = [_read_alike(group, dict(odd), extras, spark) for odd, group in alike.items()]
    return reduce(lambda one, other: one.union(other), parts)


def _read_alike(
    files: list[TraceFile], odd: dict[str, str], extras: dict[str, str], spark: SparkSession
) -> DataFrame:
    wanted = {**COLUMNS, **extras}
    stored = {name: odd.get(name, kind) for name, kind in wanted.items()}
    schema = ", ".join(
        f"`{name.replace('`', '``')}` {_STORED[kind]}"
        for name, kind in stored.items()
        if kind in _STORED
    )
    read = spark.read.schema(schema).parquet(*(_GLOB.sub(r"\\\1", file.path) for file in files))
    return read.select(
        *(
            (_column(name) if stored[name] in _STORED else fn.lit(None))
            .cast(_STORED[kind])
            .alias(name)
            for name, kind in wanted.items()
        )
    )


def _column(name: str) -> Column:
    return fn.col(f"`{name.replace('`', '``')}`")


def _extras(files: Iterable[TraceFile]) -> dict[str, str]:
    """Columns that the contract does not know, as text where files do not agree on a type."""
    found: dict[str, set[str]] = {}
    for file in files:
        for name, kind in file.columns:
            if name not in COLUMNS and name not in SETTINGS and kind in _STORED:
                found.setdefault(name, set()).add(kind)
    return {
        name: next(iter(kinds)) if len(kinds) == 1 else "string"
        for name, kinds in sorted(found.items())
    }


def _check_unique(rows: DataFrame) -> None:
    place = ("run", "broker", "session", "step")
    twice = rows.groupBy(*place).count().where("count > 1").limit(1).toArrow().to_pylist()
    if twice:
        run, broker, session, step = (twice[0][name] for name in place)
        raise TraceRowError(
            f"row {step} of {broker}.{session} in run {run!r} is there {twice[0]['count']} times; "
            "each row comes once (is a file there twice?)"
        )
