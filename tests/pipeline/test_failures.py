"""An error of ours on a worker is an error of ours here; others stay what they are."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from sapwood.errors import TraceRowError
from sapwood.pipeline.failures import plain_errors


def test_our_errors_come_back_plain() -> None:
    text = "Job aborted\nTraceback\nsapwood.errors.TraceRowError: row 3 has no client\n\n\tat java"
    with pytest.raises(TraceRowError, match=r"^row 3 has no client$"), plain_errors():
        raise PySparkException(text)


@pytest.mark.parametrize("text", ["out of memory", "sapwood.errors.NoSuchError: x"])
def test_others_are_left_alone(text: str) -> None:
    with pytest.raises(PySparkException, match=text), plain_errors():
        raise PySparkException(text)
