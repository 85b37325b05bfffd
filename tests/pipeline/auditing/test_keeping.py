"""What is kept is computed once, and given back at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sapwood.pipeline.auditing.keeping import Keeper

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.mark.slow
def test_kept_until_released(spark: SparkSession) -> None:
    keeper = Keeper()
    drawn: DataFrame = keeper.keep(spark.range(4).selectExpr("id", "uuid() as drawn"))
    once = sorted(drawn.toArrow().column("drawn").to_pylist())
    assert sorted(drawn.toArrow().column("drawn").to_pylist()) == once
    assert drawn.is_cached
    keeper.release()
    assert not drawn.storageLevel.useMemory
    keeper.release()
