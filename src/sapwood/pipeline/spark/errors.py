"""What Spark raises, and what of it a person wants to know.

The same failure arrives as an exception of pyspark or of py4j, depending on where it is noticed,
with a hundred lines of Java stack. One of those lines says what happened.
"""

from __future__ import annotations

import re

_LINE_CHARS_MAX = 300
_PYTHON = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*")
_JAVA = re.compile(r"(?:^|\s)(?:Caused by: )?(?:[\w$]+\.)+[\w$]*(?:Exception|Error): (?P<told>.+)")
_GENERIC = ("Exception thrown in awaitResult", "Job aborted due to stage failure")
_MARKS = re.compile(r"\s*SQLSTATE: \w+;?\s*$")


def job_errors() -> tuple[type[Exception], ...]:
    """The exceptions that a job of Spark may end with."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - optional
    from pyspark.errors import PySparkException  # noqa: PLC0415 - optional

    return (PySparkException, Py4JError)


def cause_of(problem: BaseException) -> str:
    """The one line that says what happened: Python's own error, else the innermost of Java's."""
    lines = [line.strip() for line in str(problem).splitlines()]
    said = [line for line in lines if line and not line.startswith(("at ", "..."))]
    python = [line for line in said if _PYTHON.match(line)] if _has_traceback(said) else []
    java = [found["told"] for line in said if (found := _JAVA.search(line))]
    telling = [line for line in java if not line.startswith(_GENERIC)]
    # Of a query that Spark refuses, the first line says why; a drawing of the query follows.
    chosen = (python or telling or java or said[:1] or ["no reason given"])[-1]
    return _MARKS.sub("", chosen)[:_LINE_CHARS_MAX]


def _has_traceback(lines: list[str]) -> bool:
    return any("Traceback (most recent call last)" in line for line in lines)


__all__ = ["cause_of", "job_errors"]
