"""Make the archive of classes that lets Spark start in half the time, and compile what audits run.

`make setup` does it once: `python -m sapwood.pipeline.warm`. A session is opened that records which
classes it loads, and does a little of everything that jobs do, with an audit at the end, whose
kernels Numba keeps. The archive gets its name when it is whole, so a session never sees half of
one. Where none can be made, sessions just start slower: that is said, and is no failure.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from subprocess import TimeoutExpired, run
from typing import TYPE_CHECKING, Any

from sapwood.errors import SparkError
from sapwood.pipeline.spark.cache_folder import drop_unused
from sapwood.pipeline.spark.java import Java, archive_of, base_archive_of, find_java
from sapwood.pipeline.spark.session import open_session, spark_home
from sapwood.trace import Row, RunSettings, TraceWriter
from sapwood.trace.schema import DELIVERED, PUBLISHED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAKING_SECONDS_MAX = 300


def make_archive() -> Path:
    """Make the archive for the Java and the Spark that are installed, unless it is there."""
    java = find_java(os.environ)
    archive = archive_of(java, spark_home())
    if archive.exists():
        return archive
    for pattern in ("spark-*.jsa", "base-*.jsa"):
        drop_unused(pattern)
    _make_base(java)
    return _made(archive, [sys.executable, "-m", "sapwood.pipeline.warm", "{}"])


def _make_base(java: Java) -> None:
    """Have an archive of Java's own classes, which the other one stands on."""
    asked = run(  # noqa: S603 - the Java that Spark will start
        [str(java.path), "-Xshare:on", "-version"], capture_output=True, check=False
    )
    base = base_archive_of(java)
    if asked.returncode and not base.exists():
        _made(base, [str(java.path), "-Xshare:dump", "-XX:SharedArchiveFile={}"])


def _made(archive: Path, command: list[str]) -> Path:
    """Have an archive made by a command, which gets the file's name where it says `{}`."""
    making = archive.with_name(f"{archive.stem}.{os.getpid()}.making")
    try:
        made = run(  # noqa: S603 - ours; its Java holds the pipes until the archive is whole
            [word.replace("{}", str(making)) for word in command],
            capture_output=True,
            text=True,
            check=False,
            timeout=MAKING_SECONDS_MAX,
        )
        if made.returncode or not making.exists():
            raise SparkError(f"no archive of Spark's classes was made: {made.stderr.strip()}")
        return making.replace(archive)
    except TimeoutExpired:
        raise SparkError(
            f"no archive of Spark's classes was made within {MAKING_SECONDS_MAX} s"
        ) from None
    finally:
        making.unlink(missing_ok=True)


def record(archive: Path) -> None:
    """Run a session whose Java leaves an archive when it ends."""
    options = f"-XX:ArchiveClassesAtExit={archive}"
    spark = open_session("local[2]", short=True, java=(options, "-Xlog:disable"))
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        exercise(spark, f"{folder}/numbers")
        audit_something(f"{folder}/traces")
    spark.stop()


def exercise(spark: SparkSession, folder: str) -> int:
    """A little of everything that jobs do; how many rows it came to."""
    from pyspark.sql import Window  # noqa: PLC0415 - half a second
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as Spark's users write it

    numbers = spark.range(100).withColumn("half", F.col("id") % 2).repartition(2)
    mapped = numbers.mapInArrow(_same, numbers.schema)
    mapped.write.partitionBy("half").mode("overwrite").parquet(folder)
    read = spark.read.parquet(folder)
    ordered = read.withColumn("rank", F.row_number().over(Window.partitionBy("half").orderBy("id")))
    means = read.groupBy("half").agg(F.mean("id"), F.stddev_samp("id"), F.count("*"))
    joined = ordered.join(means, "half").orderBy("id")
    return int(joined.toArrow().num_rows)


def audit_something(folder: str) -> None:
    """Audit a trace in which something of every kind is wrong."""
    from sapwood.pipeline.auditing.report import audit_directory  # noqa: PLC0415 - needs Spark

    with TraceWriter(folder, "warm", "B1", 1, settings=RunSettings(settle_seconds=0.0)) as writer:
        for row in wrong_rows():
            writer.write(row)
    audit_directory(folder)


def wrong_rows() -> Iterator[Row]:
    """Of bob's four, ann gets one late, one twice and one not at all; and cat's answer too soon."""
    steps = count(1)
    orders = {name: count(1) for name in ("ann", "bob", "cat")}

    def row(kind: str, client: str, **more: Any) -> Row:
        step = next(steps)
        return Row(
            run="warm", broker="B1", session=1, step=step, at=float(step), kind=kind,
            client=f"{client}.1", **more,
        )  # fmt: skip

    def published(publisher: str, sequence: int) -> Row:
        return row(
            PUBLISHED, publisher, publisher=f"{publisher}.1", sequence=sequence,
            client_order=next(orders[publisher]), attributes='{"price": 1}',
        )  # fmt: skip

    def delivered(client: str, publisher: str, sequence: int) -> Row:
        return row(
            DELIVERED, client, publisher=f"{publisher}.1", sequence=sequence,
            client_order=next(orders[client]),
        )  # fmt: skip

    yield row("subscribed", "ann", filter="price > 0")
    yield row("subscribed", "cat", filter="price > 0")
    for sequence in (1, 2, 3, 4):
        yield published("bob", sequence)
        yield delivered("cat", "bob", sequence)
    yield published("cat", 1)
    yield delivered("ann", "cat", 1)
    for sequence in (2, 1, 1, 4):
        yield delivered("ann", "bob", sequence)
    yield delivered("ann", "dan", 1)
    yield row("clock", "ann")


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def main(arguments: list[str]) -> None:
    """Make the archive and say how long it took; with a path, be the session that leaves it."""
    if arguments:
        record(Path(arguments[0]))
        return
    begin = time.perf_counter()
    try:
        megabytes = make_archive().stat().st_size / 1e6
    except (SparkError, OSError) as problem:
        print(f"{problem}; Spark will take longer to start")  # noqa: T201 - a command
    else:
        print(f"{megabytes:.0f} MB in {time.perf_counter() - begin:.0f} s")  # noqa: T201 - same


if __name__ == "__main__":
    main(sys.argv[1:])
