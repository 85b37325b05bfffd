"""One notification that a filter matches: a quick way to see that another does not cover it.

Where unions or text patterns are compared, ``covers`` takes ten times as long as ``matches``, and
mostly says no. Whoever covers a filter matches its probe.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import isinf

from sapwood.errors import InvalidNotificationError
from sapwood.filters import cuts
from sapwood.filters.constraint import TRUE_ALLOWED, Constraint
from sapwood.filters.filter import Filter
from sapwood.filters.notification import Notification
from sapwood.filters.number_set import NumberCut
from sapwood.filters.pattern import ANY_ONE
from sapwood.filters.values import Number, Value

PROBES_MAX = 65_536
"""Probes remembered: every neighbour of a broker asks for the same ones."""


@lru_cache(maxsize=PROBES_MAX)
def probe_of(filter: Filter) -> Notification | None:
    """A notification that a filter matches, if one is easily found."""
    attributes: dict[str, Value] = {}
    for name, constraint in filter.boxes[0]:
        if not constraint.missing:
            value = next(_allowed(constraint), None)
            if value is None:
                return None
            attributes[name] = value
    try:
        return Notification(attributes)
    except InvalidNotificationError:
        return None


def _allowed(constraint: Constraint) -> Iterator[Value]:
    """The guesses at a value that a constraint does allow."""
    for guess in _guesses(constraint):
        if constraint.matches(guess):
            yield guess


def _guesses(constraint: Constraint) -> Iterator[Value]:
    if constraint.bools:
        yield bool(constraint.bools & TRUE_ALLOWED)
    for low, high in cuts.segments(constraint.numbers):
        yield _number_between(low, high)
    for text, _ in cuts.segments(constraint.texts.ranges):
        yield text
    for pattern in constraint.texts.required:
        yield "".join(pattern.pieces).replace(ANY_ONE, "_")


def _number_between(low: NumberCut, high: NumberCut | None) -> Number:
    """A number of an interval, or one near it where rounding is in the way."""
    if not isinf(low[0]):
        if low[1] == 0:
            return low[0]
        return low[0] + 1 if high is None else low[0] + (high[0] - low[0]) / 2
    if high is None:
        return 0
    return high[0] if high[1] == 1 else high[0] - 1
