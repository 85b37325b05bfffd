"""The folder of results: whose it is, what is in it, and that nothing is in it twice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from pipeline.samples import rows_without_spark, tiny
from sapwood.errors import StudyError
from sapwood.pipeline.study.results import Results, digest_of_rows, located, row_columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return rows_without_spark(tiny())


def refused(results: Results, name: str) -> str:
    with pytest.raises(StudyError) as found:
        results.claim(name)
    return str(found.value)


def test_a_folder_belongs_to_one_study(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    results = Results(spark, str(folder))
    results.claim("one")
    results.claim("one")
    assert refused(results, "other") == (
        f"{folder} holds study 'one', not 'other' in format 1; name another folder with --out"
    )


def test_a_folder_with_something_else_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    Results(spark, str(tmp_path)).claim("one")
    other = tmp_path / "other"
    (other / "deep").mkdir(parents=True)
    (other / "deep" / "holiday.jpg").write_bytes(b"x")
    assert refused(Results(spark, str(other)), "one") == (
        f"{other} holds something else (holiday.jpg); name a new folder with --out"
    )


def test_a_newer_format_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("one", 2)], "name string, format long")
    frame.write.parquet(str(tmp_path / "study"))
    assert "holds format 2, not 'one' in format 1" in refused(Results(spark, str(tmp_path)), "one")


def test_rows_come_back_as_they_were(
    spark: SparkSession, tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    results = Results(spark, tmp_path.as_uri())
    assert results.finished("1") == set()
    results.add(rows[:5], "1")
    results.add(rows[5:], "1")
    results.add([], "1")
    back = results.runs("1").toArrow().to_pylist()
    assert sorted(back, key=lambda row: row["run"]) == sorted(rows, key=lambda row: row["run"])
    assert results.finished("1") == {row["run"] for row in rows}
    assert results.finished("2") == set(), "of another version of the code, nothing is done"


def test_a_batch_written_again_is_there_once(
    spark: SparkSession, tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    results = Results(spark, str(tmp_path))
    for again in (rows[:5], rows[4::-1]):
        results.add(again, "1")
    assert results.runs("1").count() == 5


def test_others_can_read_it(
    spark: SparkSession, tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    Results(spark, str(tmp_path)).add(rows, "0.1-abc")
    table = pq.read_table(tmp_path / "runs")
    assert table.num_rows == len(rows)
    assert set(table.column("code").to_pylist()) == {"0.1-abc"}
    assert set(row_columns()) < set(table.column_names)


def test_a_damaged_file_is_named(
    spark: SparkSession, tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    results = Results(spark, str(tmp_path))
    results.add(rows, "1")
    damaged = next((tmp_path / "runs").rglob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(StudyError) as found:
        results.finished("1")
    assert str(found.value).startswith(f"{tmp_path}/runs has files that cannot be read: ")
    assert damaged.name in str(found.value)
    assert "\n" not in str(found.value)


def test_the_digest_is_of_what_runs_came_to(rows: list[dict[str, Any]]) -> None:
    expected = digest_of_rows(rows)
    assert digest_of_rows(reversed(rows)) == expected
    assert digest_of_rows([row | {"cpu_seconds": 9.0} for row in rows]) == expected
    assert digest_of_rows([rows[0] | {"delivered": -1}, *rows[1:]]) != expected
    assert digest_of_rows(rows[1:]) != expected
    assert digest_of_rows([*rows, rows[0]]) != expected


def test_paths_become_absolute_and_uris_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert located("a/b") == str(tmp_path / "a" / "b")
    for uri in ("s3a://bucket/a", "hdfs://name/a", "file:/a"):
        assert located(uri) == uri
