"""Files whose damage shows only when their rows are read.

A footer says nothing about the rows above it. What is cut off is found before a job starts; a byte
that has changed on the disk is found by the job that reads it. It is named then, and left out if
that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sapwood.errors import TraceFileError
from sapwood.pipeline.files import Listing
from sapwood.pipeline.spark.failures import plain_errors, unreadable_file

Result = TypeVar("Result")


def with_readable(
    listing: Listing, job: Callable[[Listing], Result], *, skip_damaged: bool
) -> tuple[Result, list[str]]:
    """What a job makes of files; and which it could not read, if it may do without them."""
    left_out: list[str] = []
    while True:
        try:
            with plain_errors():
                return job(listing), left_out
        except TraceFileError as problem:
            path = unreadable_file(problem.__cause__)
            readable = tuple(file for file in listing.files if file.path != path)
            if len(readable) == len(listing.files):
                raise
            if not skip_damaged:
                raise TraceFileError(f"{problem}; --skip-damaged leaves such files out") from None
            if not readable:
                raise TraceFileError(
                    f"{listing.directory} holds no trace: {problem}, and there is no other"
                ) from None
            left_out.append(f"left out: {problem}")
            listing = listing._replace(files=readable)


__all__ = ["with_readable"]
