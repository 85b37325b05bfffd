"""What a job fails of is told in one line: ours as it is, files by name, the rest by its cause."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sapwood.errors import SparkError, TraceFileError, TraceRowError
from sapwood.pipeline.spark.failures import plain_errors, unreadable_file

STACK = "\n\tat org.apache.spark.Some.thing(Some.scala:1)\n"
READING = "org.apache.spark.SparkException: [FAILED_READ_FILE.{}] Encountered error while reading "
PLACE = "file file:///a%20b/run=x%252Fy/1.parquet. {} SQLSTATE: KD001" + STACK
DAMAGED = READING.format("NO_HINT") + PLACE.format("")
GONE = READING.format("FILE_NOT_EXIST") + PLACE.format("File does not exist.")


def test_our_errors_come_back_plain() -> None:
    text = "Job aborted\nTraceback\nsapwood.errors.TraceRowError: row 3 has no client\n\n\tat java"
    with pytest.raises(TraceRowError, match=r"^row 3 has no client$"), plain_errors():
        raise PySparkException(text)


@pytest.mark.parametrize("kind", [PySparkException, Py4JError])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (DAMAGED, "it is damaged"),
        (f"{DAMAGED}Caused by: java.io.IOException: bad page{STACK}", "it is damaged (bad page)"),
        (GONE, "it is not there any more"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(kind: type[Exception], text: str, reason: str) -> None:
    with pytest.raises(TraceFileError) as found, plain_errors():
        raise kind(text)
    assert str(found.value) == f"/a b/run=x%2Fy/1.parquet cannot be read: {reason}"
    assert unreadable_file(found.value.__cause__) == "file:///a b/run=x%2Fy/1.parquet"


@pytest.mark.parametrize(
    ("text", "cause"),
    [("out of memory", "out of memory"), ("sapwood.errors.NoSuchError: x", "x")],
)
def test_of_others_the_cause_is_told(text: str, cause: str) -> None:
    with pytest.raises(SparkError) as found, plain_errors():
        raise PySparkException(f"{text}{STACK}")
    assert str(found.value) == f"the job failed on Spark: {cause}"
    assert isinstance(found.value.__cause__, PySparkException), "for those who look"
    assert unreadable_file(found.value.__cause__) is None
