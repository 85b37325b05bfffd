"""One Spark session for all tests of the pipeline, tuned to start quickly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sapwood.pipeline.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark in this process, on two cores."""
    session = open_session("local[2]", app="sapwood tests", short=True, settings=TEST_SETTINGS)
    yield session
    session.stop()


TEST_SETTINGS = {"spark.sql.shuffle.partitions": "2"}
