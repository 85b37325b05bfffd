"""Random filters and events for the tests of the engine, close to each other.

Filters come in two forms: from the expressions of the filter tests, which nest and negate all kinds
of conditions, and from plain conjunctions and disjunctions over more attributes, which are quick to
make. Events have the literals of the filters, and values next to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from random import Random

from hypothesis import strategies as st

from filters.oracle import text_of
from filters.strategies import NAMES, NUMBERS, ODD_NUMBERS, ODD_TEXTS, TEXTS, Chooser
from sapwood.filters import (
    ANY_BOOL,
    ANY_NUMBER,
    ANY_TEXT,
    MISSING,
    PRESENT,
    Constraint,
    Filter,
    Value,
    at_least,
    at_most,
    between,
    contains,
    equal,
    greater_than,
    less_than,
    like,
    none_of,
    not_between,
    not_equal,
    one_of,
    prefix,
    suffix,
)
from sapwood.filters.values import INTEGER_MAX, INTEGER_MIN

MANY_NAMES = [*NAMES, *(f"n{number}" for number in range(9)), "größe"]
ALL_NUMBERS = [*NUMBERS, *ODD_NUMBERS, 2**53 - 1, -(2**53), 1 - 2**53, -(2**53) - 1, -(2.0**63)]
ALL_TEXTS = [*TEXTS, *ODD_TEXTS]
EXPRESSIONS = 3000

MAKERS: list[Callable[[Random], Constraint]] = [
    lambda random: equal(literal(random)),
    lambda random: equal(random.choice([True, False])),
    lambda random: not_equal(literal(random)),
    lambda random: less_than(number(random)),
    lambda random: at_most(text(random)),
    lambda random: greater_than(number(random)),
    lambda random: at_least(text(random)),
    lambda random: between(number(random), number(random)),
    lambda random: between("", text(random)),
    lambda random: between(text(random), "\U0010ffff"),
    lambda random: not_between(number(random), number(random)),
    lambda random: one_of([literal(random) for _ in range(random.randint(1, 5))]),
    lambda random: none_of([number(random) for _ in range(random.randint(1, 3))]),
    lambda random: prefix(text(random)),
    lambda random: suffix(text(random)),
    lambda random: contains(text(random)),
    lambda random: like("".join(random.choices(["%", "_", "a", "b", "é"], k=4))),
    lambda _: MISSING,
    lambda _: PRESENT,
    lambda random: random.choice([ANY_BOOL, ANY_NUMBER, ANY_TEXT]),
]


def number(random: Random) -> int | float:
    """A number that filters name."""
    return random.choice([*random.choices(ALL_NUMBERS, k=3), random.randint(-3, 9)])


def text(random: Random) -> str:
    """A text that filters name."""
    return random.choice(ALL_TEXTS)


def literal(random: Random) -> Value:
    """A value that filters name."""
    return random.choice([number(random), number(random), text(random), text(random), True, False])


@cache
def expression_filter(seed: int) -> Filter:
    """A filter of nested and negated conditions of all kinds on few attributes."""
    chooser = Chooser(seed, ALL_NUMBERS, ALL_TEXTS)
    return Filter(text_of(chooser.expression(chooser.random.randint(1, 5), patterns=True)))


def box_filter(random: Random) -> Filter:
    """A conjunction, or sometimes a disjunction, of conditions on some of many attributes."""
    boxes = [
        box for _ in range(random.choice([1, 1, 1, 1, 2, 3])) for box in _conjunction(random).boxes
    ]
    return Filter.from_boxes(boxes)


def _conjunction(random: Random) -> Filter:
    names = random.sample(MANY_NAMES, random.choice([0, 1, 1, 2, 2, 3, 5]))
    return Filter.all_of({name: random.choice(MAKERS)(random) for name in names})


def any_filter(random: Random) -> Filter:
    """A filter of either form."""
    if random.random() < 0.5:
        return expression_filter(random.randrange(EXPRESSIONS))
    return box_filter(random)


def value(random: Random) -> Value:
    """A value that filters name, or one next to it."""
    near = literal(random)
    if isinstance(near, bool) or random.random() < 0.5:
        return near
    if isinstance(near, str):
        other = random.choice(ALL_TEXTS)
        return random.choice([near + "\0", near[:-1], near + other, other + near, near * 3, "xy"])
    if isinstance(near, int):
        beside: list[int | float] = [near + 1, near - 1, float(near), near + 0.5]
        return random.choice([n for n in beside if _is_allowed(n)])
    toward = random.choice([-math.inf, math.inf])
    beside = [math.nextafter(near, toward), -near, round(near)]
    return random.choice([n for n in beside if _is_allowed(n)])


def _is_allowed(number: float | int) -> bool:
    if isinstance(number, int):
        return INTEGER_MIN <= number <= INTEGER_MAX
    return math.isfinite(number)


def event(random: Random) -> dict[str, Value]:
    """An event with some of the attributes that filters name, and sometimes another one."""
    names = random.sample(MANY_NAMES, random.randint(0, len(MANY_NAMES)))
    attributes = {name: value(random) for name in names}
    if random.random() < 0.2:
        attributes[random.choice(["unheard", "of these", "日本"])] = value(random)
    return attributes


def events(random: Random, count: int) -> list[dict[str, Value]]:
    """That many events."""
    return [event(random) for _ in range(count)]


seeds = st.integers(0, 2**64 - 1)
randoms = seeds.map(Random)
"""Sources of everything above: Hypothesis draws the seed, the seed decides the rest."""
