"""Checks that parameters of simulated networks and workloads share.

Each raises a `sapwood.errors.ParameterError` with the parameter's name, its value and what would
be right. NaN passes none of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sapwood.errors import ParameterError


def check_at_least(parameter: str, value: float, lowest: float) -> None:
    """A finite number, `lowest` or more."""
    if not lowest <= value < math.inf:
        raise ParameterError(f"is {value}; wanted a finite number, {lowest} or more", parameter)


def check_positive(parameter: str, value: float) -> None:
    """A finite number above 0."""
    if not 0 < value < math.inf:
        raise ParameterError(f"is {value}; wanted a finite number above 0", parameter)


def check_between(parameter: str, value: float, lowest: float, highest: float) -> None:
    """A number from `lowest` to `highest`, both allowed."""
    if not lowest <= value <= highest:
        raise ParameterError(f"is {value}; wanted a number from {lowest} to {highest}", parameter)


def check_order(lower: str, lower_value: float, upper: str, upper_value: float) -> None:
    """Two numbers of which the first is not above the second."""
    if not lower_value <= upper_value:
        raise ParameterError(f"is {lower_value}, above {upper}, {upper_value}", lower)


def check_brokers(parameter: str, brokers: Sequence[str], count_min: int = 1) -> None:
    """Names of brokers, none twice, and enough of them."""
    if len(brokers) < count_min:
        raise ParameterError(f"has {len(brokers)} brokers; at least {count_min} wanted", parameter)
    if len(set(brokers)) < len(brokers):
        twice = next(b for index, b in enumerate(brokers) if b in brokers[:index])
        raise ParameterError(f"names {twice!r} twice", parameter)
