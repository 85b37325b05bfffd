"""Checks of parameters: what passes, what is refused, and in which words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sapwood.errors import ParameterError
from sapwood.sim import parameters

NAN = float("nan")
INFINITE = float("inf")


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (
            lambda: parameters.check_at_least("rate", -1, 0),
            "rate: is -1; wanted a finite number, 0 or more",
        ),
        (
            lambda: parameters.check_at_least("rate", NAN, 0),
            "rate: is nan; wanted a finite number, 0 or more",
        ),
        (
            lambda: parameters.check_at_least("rate", INFINITE, 0),
            "rate: is inf; wanted a finite number, 0 or more",
        ),
        (
            lambda: parameters.check_positive("rate", 0),
            "rate: is 0; wanted a finite number above 0",
        ),
        (
            lambda: parameters.check_between("share", 1.5, 0, 1),
            "share: is 1.5; wanted a number from 0 to 1",
        ),
        (
            lambda: parameters.check_between("share", NAN, 0, 1),
            "share: is nan; wanted a number from 0 to 1",
        ),
        (
            lambda: parameters.check_order("load_min", 2, "load_max", 1),
            "load_min: is 2, above load_max, 1",
        ),
        (
            lambda: parameters.check_brokers("brokers", ()),
            "brokers: has 0 brokers; at least 1 wanted",
        ),
        (
            lambda: parameters.check_brokers("brokers", ("A", "B", "A")),
            "brokers: names 'A' twice",
        ),
    ],
)
def test_what_is_wrong_is_named(check: Callable[[], None], problem: str) -> None:
    with pytest.raises(ParameterError) as caught:
        check()
    assert str(caught.value) == problem
    assert caught.value.parameter == problem.partition(":")[0]


def test_what_is_right_passes() -> None:
    parameters.check_at_least("rate", 0, 0)
    parameters.check_positive("rate", 1e-9)
    parameters.check_between("share", 1, 0, 1)
    parameters.check_order("low", 1, "high", 1)
    parameters.check_brokers("brokers", ("A", "B"), 2)
