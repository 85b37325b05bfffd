"""Where the results of a study are kept: a folder of Parquet, at any URI that Spark reads.

::

    DIR/study/                            which study this is
    DIR/runs/code=VERSION/batch=NAME/     a row per finished run
    DIR/summary/                          means and confidence intervals, as of the last time
    DIR/failures/                         runs that failed the last time

A batch is written whole and replaces what an interrupted attempt may have left of it. Runs that are
there are not done again, so none is there twice. Results of other versions of the code stay; they
are not mixed with those of this one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from sapwood.errors import StudyError
from sapwood.pipeline.spark.errors import cause_of, job_errors
from sapwood.pipeline.spark.local import in_words, to_frame
from sapwood.pipeline.spark.output import make_folder
from sapwood.pipeline.study.runs import digest_of
from sapwood.pipeline.study.worker import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

FORMAT = 1
"""Of the layout above; a reader refuses what is newer."""

_SPARK_TYPES = {pa.string(): "string", pa.int64(): "bigint", pa.float64(): "double"}
_STUDY = {"name": "string", "format": "bigint"}
NOT_COMPARED = ("cpu_seconds", "error")
"""Columns that differ between two runs that are the same."""


class Results:
    """The results of one study in one folder."""

    def __init__(self, spark: SparkSession, folder: str, schema: pa.Schema = SCHEMA) -> None:
        self.spark = spark
        self.schema = schema
        self.folder = located(folder)

    def claim(self, name: str) -> None:
        """Make sure that the folder is this study's: a new one, or one it has used before."""
        owner = self._owner()
        if owner is None:
            found = self._anything()
            if found is not None:
                raise StudyError(
                    f"holds something else ({found}); name a new folder with --out", self.folder
                )
            make_folder(self.folder)
            row = to_frame(self.spark, _STUDY, [(name, FORMAT)])
            row.coalesce(1).write.mode("overwrite").parquet(f"{self.folder}/study")
            return
        if owner != (name, FORMAT):
            which = f"study {owner[0]!r}" if owner[0] != name else f"format {owner[1]}"
            raise StudyError(
                f"holds {which}, not {name!r} in format {FORMAT}; name another folder with --out",
                self.folder,
            )

    def _owner(self) -> tuple[str, int] | None:
        rows = self._read("study", _STUDY)
        found = [] if rows is None else rows.toArrow().to_pylist()
        return (found[0]["name"], found[0]["format"]) if found else None

    def _anything(self) -> str | None:
        """The name of some file in the folder, hidden ones and what a claim may leave aside."""
        from pyspark.errors import AnalysisException  # noqa: PLC0415 - optional

        files = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        try:
            found = files.load(self.folder).select("path").limit(1).toArrow().to_pylist()
        except AnalysisException as problem:
            if _condition(problem) == "PATH_NOT_FOUND":
                return None
            raise StudyError(f"cannot be used: {cause_of(problem)}", self.folder) from None
        return str(found[0]["path"]).rpartition("/")[2] if found else None

    def _read(self, part: str, columns: Mapping[str, str]) -> DataFrame | None:
        from pyspark.errors import AnalysisException  # noqa: PLC0415 - optional

        try:
            found = self.spark.read.schema(in_words(columns)).parquet(f"{self.folder}/{part}")
            _ = found.columns  # over Spark Connect, nothing is looked up before it is asked for
        except AnalysisException as problem:
            if _condition(problem) == "PATH_NOT_FOUND":
                return None
            raise StudyError(f"cannot be read: {cause_of(problem)}", self.folder) from None
        return found

    def runs(self, code: str) -> DataFrame:
        """The finished runs of one version of the code."""
        types = row_types(self.schema)
        found = self._read(f"runs/code={code}", types)
        if found is None:
            return to_frame(self.spark, types, [])
        return found.select(*types)

    def finished(self, code: str) -> set[str]:
        """The runs that need not be done again."""
        try:
            rows = self.runs(code).select("run").toArrow()
        except job_errors() as problem:
            raise StudyError(
                f"has files that cannot be read: {cause_of(problem)}; remove them, and their runs "
                "are done again",
                f"{self.folder}/runs",
            ) from None
        return set(rows.column("run").to_pylist())

    def add(self, rows: list[dict[str, Any]], code: str) -> None:
        """Keep the rows of a batch that did not fail."""
        if not rows:
            return
        batch = f"b{digest_of(sorted(row['run'] for row in rows))}"
        table = pa.Table.from_pylist(rows, self.schema).select(row_columns(self.schema))
        frame = self.spark.createDataFrame(table).coalesce(1)
        frame.write.mode("overwrite").parquet(f"{self.folder}/runs/code={code}/batch={batch}")

    def put(self, part: str, frame: DataFrame) -> None:
        """Write a part anew."""
        frame.coalesce(1).write.mode("overwrite").parquet(f"{self.folder}/{part}")


def located(folder: str) -> str:
    """A folder as Spark takes it: a URI as it is, a path made absolute.

    Spark's Java does not follow when this process changes its directory.
    """
    return folder if "://" in folder or folder.startswith("file:") else str(Path(folder).absolute())


def row_columns(schema: pa.Schema = SCHEMA) -> list[str]:
    """The columns of a finished run; its version of the code is in the path."""
    return [name for name in schema.names if name not in {"code", "error"}]


def row_types(schema: pa.Schema = SCHEMA) -> dict[str, str]:
    """The same with Spark's types."""
    return {name: _SPARK_TYPES[schema.field(name).type] for name in row_columns(schema)}


def digest_of_rows(rows: Iterable[dict[str, Any]]) -> str:
    """A digest of all that runs came to; equal if the results are."""
    digest = hashlib.blake2b(digest_size=16)
    for row in sorted(rows, key=lambda row: str(row["run"])):
        kept = {name: value for name, value in row.items() if name not in NOT_COMPARED}
        digest.update(msgspec.json.encode(kept, order="sorted"))
    return digest.hexdigest()


def _condition(problem: Any) -> str:
    return str(problem.getCondition() or "")


__all__ = ["Results", "digest_of_rows", "located", "row_columns", "row_types"]
