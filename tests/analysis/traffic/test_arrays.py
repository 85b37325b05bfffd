"""Numbers are checked once, when they come in."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.analysis.traffic.arrays import frozen, number_of, positive_of, rates_of
from sapwood.errors import ParameterError


def test_what_is_given_once_is_repeated() -> None:
    assert rates_of("rate", 2, (2, 3)).tolist() == [[2.0] * 3] * 2
    assert rates_of("rate", [1, 2], (3, 2)).tolist() == [[1.0, 2.0]] * 3
    assert number_of("rate", 3) == 3.0


def test_nobody_can_change_a_value() -> None:
    given = np.ones(3)
    kept = frozen(given)
    given[0] = 5.0
    assert kept.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 2.0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (-1.0, "rate: is -1; wanted a finite rate, 0 or more"),
        ([0.0, float("nan")], "rate: is nan at [1]; wanted a finite rate, 0 or more"),
        ([[1.0, 2.0], [float("inf"), 3.0]], "rate: is inf at [1, 0]; wanted a finite rate, 0 or"),
        ("many", "rate: is 'many'; wanted a finite rate, 0 or more"),
        ([1.0, 2.0, 3.0], "rate: has the shape 3; wanted 2 x 2"),
    ],
)
def test_what_is_no_rate_is_named(values: object, said: str) -> None:
    with pytest.raises(ParameterError) as refused:
        rates_of("rate", values, (2, 2))  # type: ignore[arg-type]
    assert str(refused.value).startswith(said)


def test_what_must_be_positive() -> None:
    with pytest.raises(ParameterError, match="rate: is 0; wanted a finite number above 0"):
        positive_of("rate", 0.0, ())
    with pytest.raises(ParameterError, match="wanted a finite number above 0"):
        number_of("rate", 0.0, positive=True)
