"""What goes wrong in a job on Spark, told as an error of our own: one line, without the machinery.

An error that a worker raised on purpose comes back as what it is. A file that could not be read is
named. Of everything else, the line that says what happened is kept; the whole of it is the cause of
the error, for those who look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from sapwood import errors
from sapwood.errors import SapwoodError, SparkError, TraceFileError
from sapwood.pipeline.spark.errors import cause_of, job_errors

_OURS = re.compile(r"^sapwood\.errors\.(?P<kind>\w+): (?P<message>.*)$", re.MULTILINE)
_READING = re.compile(r"\[FAILED_READ_FILE\.\w+\] Encountered error while reading file (\S+?)\.\s")
_GONE = "FAILED_READ_FILE.FILE_NOT_EXIST"


@contextmanager
def plain_errors() -> Iterator[None]:
    """Let what a job fails of be seen without the machinery around it."""
    try:
        yield
    except job_errors() as problem:
        ours = _raised_by_us(problem)
        if ours is not None:
            raise ours from None
        path = unreadable_file(problem)
        if path is not None:
            raise TraceFileError(f"{_shown(path)} cannot be read: {_reason(problem)}") from problem
        raise SparkError(f"the job failed on Spark: {cause_of(problem)}") from problem


def unreadable_file(problem: BaseException | None) -> str | None:
    """The file that Spark could not read, as it was told to Spark; None if it failed of another."""
    found = _READING.search(str(problem))
    return unquote(found[1]) if found else None


def _raised_by_us(problem: Exception) -> SapwoodError | None:
    found = _OURS.search(str(problem))
    kind = getattr(errors, found["kind"], None) if found else None
    if found is None or not (isinstance(kind, type) and issubclass(kind, SapwoodError)):
        return None
    return kind(found["message"])


def _reason(problem: Exception) -> str:
    if _GONE in str(problem):
        return "it is not there any more"
    cause = cause_of(problem)
    return "it is damaged" if "FAILED_READ_FILE" in cause else f"it is damaged ({cause})"


def _shown(path: str) -> str:
    return path.removeprefix("file://")


__all__ = ["plain_errors", "unreadable_file"]
