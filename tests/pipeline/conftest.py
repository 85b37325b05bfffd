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


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by mark
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests of the session out of quick checks: it starts slowly."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


TEST_SETTINGS = {"spark.sql.shuffle.partitions": "2"}
