"""Errors of our own that were raised on a worker, brought back as what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from sapwood import errors
from sapwood.errors import SapwoodError

_OURS = re.compile(r"^sapwood\.errors\.(?P<kind>\w+): (?P<message>.*)$", re.MULTILINE)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Let an error that a worker raised be seen without the machinery around it."""
    try:
        yield
    except PySparkException as problem:
        found = _OURS.search(str(problem))
        kind = getattr(errors, found["kind"], None) if found else None
        if found is None or not (isinstance(kind, type) and issubclass(kind, SapwoodError)):
            raise
        raise kind(found["message"]) from None
