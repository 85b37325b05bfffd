"""Checked arrays: what every value type of this package is made of.

NumPy is part of the extra ``matching``; nothing outside this package and ``sapwood.cli`` loads it
for an analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import ParameterError

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Given: TypeAlias = npt.ArrayLike
"""What may be given where numbers are wanted: a number, nested sequences, an array."""

_Test: TypeAlias = Callable[[Floats], Flags]


def frozen(values: Given) -> Floats:
    """A copy that nobody can change."""
    copy = np.array(values, dtype=np.float64)
    copy.flags.writeable = False
    return copy


def rates_of(name: str, values: Given, shape: tuple[int, ...]) -> Floats:
    """Numbers per second of that shape, each finite and not negative.

    A single number, or one row for all brokers, is repeated.
    """
    return _checked(name, values, shape, "a finite rate, 0 or more", lambda array: array >= 0)


def positive_of(name: str, values: Given, shape: tuple[int, ...]) -> Floats:
    """Finite numbers of that shape, each above 0."""
    return _checked(name, values, shape, "a finite number above 0", lambda array: array > 0)


def number_of(name: str, value: float, *, positive: bool = False) -> float:
    """One finite number that is not negative, or above 0."""
    check = positive_of if positive else rates_of
    return float(check(name, value, ()))


def _checked(
    name: str, values: Given, shape: tuple[int, ...], wanted: str, is_right: _Test
) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"is {values!r}; wanted {wanted}", name) from None
    wrong = ~(np.isfinite(array) & is_right(array))
    if wrong.any():
        where = tuple(int(index) for index in np.argwhere(wrong)[0])
        place = f" at {list(where)}" if where else ""
        raise ParameterError(f"is {array[where]:g}{place}; wanted {wanted}", name)
    try:
        return frozen(np.broadcast_to(array, shape))
    except ValueError:
        raise ParameterError(
            f"has the shape {_shape(array.shape)}; wanted {_shape(shape)}", name
        ) from None


def _shape(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "of a single number"


__all__ = ["Flags", "Floats", "Given", "frozen", "number_of", "positive_of", "rates_of"]
