"""Quantiles of the t distribution, and intervals that hold the mean as often as they say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.pipeline.study.statistics import t_quantile, with_intervals, within

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 19: 2.093,
            29: 2.045, 30: 2.042, 60: 2.000, 120: 1.980}  # fmt: skip
TABLE_99 = {1: 63.657, 2: 9.925, 5: 4.032, 10: 3.169, 30: 2.750, 120: 2.617}


@pytest.mark.parametrize(("freedom", "expected"), TABLE_95.items())
def test_quantiles_are_those_of_the_tables(freedom: int, expected: float) -> None:
    assert t_quantile(freedom) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(("freedom", "expected"), TABLE_99.items())
def test_quantiles_of_another_confidence(freedom: int, expected: float) -> None:
    assert t_quantile(freedom, 0.99) == pytest.approx(expected, abs=5e-4)


def test_many_degrees_of_freedom_are_nearly_normal() -> None:
    assert t_quantile(10_000) == pytest.approx(1.96, abs=1e-3)


@given(st.integers(1, 300), st.floats(0.01, 0.999))
def test_a_quantile_is_the_inverse(freedom: int, confidence: float) -> None:
    assert within(freedom, t_quantile(freedom, confidence)) == pytest.approx(confidence, abs=1e-9)


@given(st.integers(1, 60), st.floats(0.0, 50.0))
def test_probability_is_the_integral_of_the_density(freedom: int, reach: float) -> None:
    x = np.linspace(-reach, reach, 20_001)
    scale = math.gamma((freedom + 1) / 2) / math.gamma(freedom / 2) / math.sqrt(freedom * math.pi)
    density = scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)
    assert within(freedom, reach) == pytest.approx(float(np.trapezoid(density, x)), abs=1e-5)


@pytest.mark.parametrize(("freedom", "confidence"), [(0, 0.95), (3, 0.0), (3, 1.0)])
def test_what_has_no_quantile(freedom: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="no t distribution"):
        t_quantile(freedom, confidence)


def test_intervals_of_groups(spark: SparkSession) -> None:
    rows = [("a", 1.0), ("a", 2.0), ("a", 6.0), ("b", 5.0), ("c", None), ("c", 4.0), ("c", 4.0)]
    values = spark.createDataFrame(rows, "name string, value double")
    found = with_intervals(values, ["name"], 3).orderBy("name").toArrow().to_pylist()
    half = 4.302653 * math.sqrt(7) / math.sqrt(3)
    assert found == [
        {"name": "a", "runs": 3, "mean": 3.0, "deviation": pytest.approx(math.sqrt(7)),
         "low": pytest.approx(3 - half, abs=1e-5), "high": pytest.approx(3 + half, abs=1e-5)},
        {"name": "b", "runs": 1, "mean": 5.0, "deviation": None, "low": None, "high": None},
        {"name": "c", "runs": 2, "mean": 4.0, "deviation": 0.0, "low": 4.0, "high": 4.0},
    ]  # fmt: skip


def test_the_order_of_values_does_not_show(spark: SparkSession) -> None:
    random = np.random.default_rng(2)
    drawn = [float(value) for value in random.normal(1e6, 1.0, 50)]
    found = []
    for _ in range(4):
        random.shuffle(drawn)
        values = spark.createDataFrame([(1, value) for value in drawn], "name int, value double")
        found.append(with_intervals(values.repartition(3), ["name"], 50).toArrow().to_pylist())
    assert all(one == found[0] for one in found)


def test_a_group_without_values(spark: SparkSession) -> None:
    values = spark.createDataFrame([("a", None)], "name string, value double")
    (found,) = with_intervals(values, ["name"], 3).toArrow().to_pylist()
    assert (found["runs"], found["mean"], found["low"]) == (0, None, None)


def test_95_of_100_intervals_hold_the_mean(spark: SparkSession) -> None:
    random = np.random.default_rng(1)
    drawn = random.normal(10.0, 3.0, (2000, 5))
    rows = [(number, float(value)) for number, row in enumerate(drawn) for value in row]
    values = spark.createDataFrame(rows, "number int, value double")
    found = with_intervals(values, ["number"], 5).where("low <= 10 and 10 <= high").count()
    assert 0.94 < found / 2000 < 0.96
