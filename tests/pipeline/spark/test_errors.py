"""Of what Spark says when a job fails, the line that matters is told."""

from __future__ import annotations

import pytest

from sapwood.pipeline.spark.errors import cause_of, job_errors

STACK = "\n\tat org.apache.spark.Some.thing(Some.scala:1)\n\t... 12 more"

PYTHON = f"""An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 1, in main
ModuleNotFoundError: No module named 'lark'
{STACK}"""

CRASH = f"""An error occurred while calling o522.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult: {STACK}
Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed){STACK}
Caused by: java.io.EOFException{STACK}"""

DAMAGED = f"""An error occurred while calling o1.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult: {STACK}
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while \
reading file file:///a/b.parquet.  SQLSTATE: KD001{STACK}"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PYTHON, "ModuleNotFoundError: No module named 'lark'"),
        (CRASH, "Python worker exited unexpectedly (crashed)"),
        (DAMAGED, "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file "
                  "file:///a/b.parquet."),
        ("[PATH_NOT_FOUND] Path does not exist: a. SQLSTATE: 42K03",
         "[PATH_NOT_FOUND] Path does not exist: a."),
        ("[NOT_ALLOWED] No maximum here. SQLSTATE: 42X01;\nAggregate [max(x)]\n+- Range (0, 9)",
         "[NOT_ALLOWED] No maximum here."),
        ("", "no reason given"),
    ],
)  # fmt: skip
def test_the_cause_is_told_and_not_the_stack(text: str, expected: str) -> None:
    assert cause_of(Exception(text)) == expected


def test_a_failed_job_may_end_in_two_ways() -> None:
    names = {kind.__name__ for kind in job_errors()}
    assert names == {"PySparkException", "Py4JError"}
