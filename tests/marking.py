"""Parameters of tests of which `make check` tries a few, `make test` many, `make test-long` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

T = TypeVar("T")


def few(values: Iterable[T], quick: int = 1) -> list[T | ParameterSet]:
    """The values, of which all but the first ones are for `make test`.

    For tests that take a good part of a second for each value.
    """
    return [
        value if number < quick else pytest.param(value, marks=pytest.mark.slow)
        for number, value in enumerate(values)
    ]


def many(values: Iterable[T], slow: int) -> list[T | ParameterSet]:
    """The values, of which all but the first ones are for `make test-long`."""
    return [
        value if number < slow else pytest.param(value, marks=pytest.mark.long)
        for number, value in enumerate(values)
    ]
