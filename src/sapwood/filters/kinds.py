"""The kinds of conditions a filter can put on an attribute: one registry, one entry each.

A condition is *true* for some values of its attribute, *false* for others, and *unknown* for the
rest: a comparison is unknown where the attribute is missing or of another type than the literal.
A `Kind` says where a condition is true and where it is false; with these two, ``not`` needs no
more than to swap them (see `sapwood.filters.expression`).

The grammar takes its operators from here, so a new one of a known shape is one more entry in
`KINDS`. The functions that say where a condition is true serve as constructors as well, for
programs that build filters without text: ``Filter.all_of({"price": at_least(100)})``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable

import msgspec

from sapwood.errors import FilterTypeError, MixedTypesError
from sapwood.filters import number_set, text_set
from sapwood.filters.constraint import (
    ANY_BOOL,
    ANY_NUMBER,
    ANY_TEXT,
    ANYTHING,
    BOTH_BOOLS,
    FALSE_ALLOWED,
    MISSING,
    NOTHING,
    PRESENT,
    TRUE_ALLOWED,
    Constraint,
)
from sapwood.filters.pattern import contains_pattern, parse_like, suffix_pattern
from sapwood.filters.text_set import TextSet, pattern_complement, pattern_set
from sapwood.filters.values import Value, check_value, normalised_number


class Shape(enum.Enum):
    """How a condition is written; the grammar has one rule for each."""

    SYMBOL = "name OPERATOR value"
    WORD = "name OPERATOR 'text'"
    IS = "name is OPERATOR"
    LIKE = "name like 'pattern' escape 'c'"
    BETWEEN = "name between value and value"
    IN = "name in (value, ...)"


class Kind(msgspec.Struct, frozen=True):
    """One operator: how it is written, where it is true and where it is false.

    `true` and `false` take the operands. `mirrored` is the operator that says the same with the
    sides exchanged: ``100 < price`` is ``price > 100``.
    """

    operator: str
    shape: Shape
    true: Callable[..., Constraint]
    false: Callable[..., Constraint]
    mirrored: str | None = None


def equal(value: Value) -> Constraint:
    """``= value``"""
    value = check_value(value)
    if isinstance(value, bool):
        return Constraint(bools=TRUE_ALLOWED if value else FALSE_ALLOWED)
    if isinstance(value, str):
        return Constraint(texts=TextSet(text_set.exactly(value)))
    return Constraint(numbers=number_set.exactly(normalised_number(value)))


def not_equal(value: Value) -> Constraint:
    """``<> value``: another value of the same type."""
    value = check_value(value)
    if isinstance(value, bool):
        return equal(not value)
    if isinstance(value, str):
        return Constraint(texts=TextSet(text_set.complement(text_set.exactly(value))))
    exactly = number_set.exactly(normalised_number(value))
    return Constraint(numbers=number_set.complement(exactly))


def less_than(value: Value) -> Constraint:
    """``< value``; bools have no order, so nothing is less than a bool."""
    return _below(value, inclusive=False)


def at_most(value: Value) -> Constraint:
    """``<= value``; bools have no order."""
    return _below(value, inclusive=True)


def greater_than(value: Value) -> Constraint:
    """``> value``; bools have no order."""
    return _above(value, inclusive=False)


def at_least(value: Value) -> Constraint:
    """``>= value``; bools have no order."""
    return _above(value, inclusive=True)


def between(low: Value, high: Value, low_open: bool = False, high_open: bool = False) -> Constraint:
    """``between low and high``; an open end is left out. Both bounds must be of one type."""
    _check_same_type(low, high)
    low, high = check_value(low), check_value(high)
    if isinstance(low, str) and isinstance(high, str):
        return Constraint(texts=TextSet(text_set.interval(low, high, low_open, high_open)))
    if isinstance(low, bool | str) or isinstance(high, str):
        return NOTHING
    low, high = normalised_number(low), normalised_number(high)
    return Constraint(numbers=number_set.interval(low, high, low_open, high_open))


def not_between(low: Value, high: Value) -> Constraint:
    """``not between low and high``: a value of the same type outside the bounds."""
    inside = between(low, high)
    if isinstance(low, bool):
        return NOTHING
    if isinstance(low, str):
        return Constraint(texts=TextSet(text_set.complement(inside.texts.ranges)))
    return Constraint(numbers=number_set.complement(inside.numbers))


def one_of(values: Iterable[Value]) -> Constraint:
    """``in (values)``: equal to one of them; the values may be of different types."""
    bools, numbers, texts = 0, set(), set()
    for value in _several(values):
        value = check_value(value)
        if isinstance(value, bool):
            bools |= TRUE_ALLOWED if value else FALSE_ALLOWED
        elif isinstance(value, str):
            texts.add(value)
        else:
            numbers.add(normalised_number(value))
    number_cuts = tuple((number, side) for number in sorted(numbers) for side in (0, 1))
    # Neighbours in the order of texts ("a" and "a\\0") are one range: the cut between them goes.
    text_cuts = tuple(
        cut
        for text in sorted(texts)
        for cut, obsolete in (
            (text, text[-1:] == "\0" and text[:-1] in texts),
            (text + "\0", text + "\0" in texts),
        )
        if not obsolete
    )
    return Constraint(bools=bools, numbers=number_cuts, texts=TextSet(text_cuts))


def none_of(values: Iterable[Value]) -> Constraint:
    """``not in (values)``: different from each; no value is so if they are of several types."""
    inside = one_of(values)
    if inside.is_empty:
        return ANYTHING
    match bool(inside.bools), bool(inside.numbers), bool(inside.texts.ranges):
        case True, False, False:
            return Constraint(bools=BOTH_BOOLS & ~inside.bools)
        case False, True, False:
            return Constraint(numbers=number_set.complement(inside.numbers))
        case False, False, True:
            return Constraint(texts=TextSet(text_set.complement(inside.texts.ranges)))
    return NOTHING


def prefix(text: str) -> Constraint:
    """``prefix 'text'``: a text that begins so."""
    return Constraint(texts=TextSet(text_set.prefix_range(_text(text))))


def suffix(text: str) -> Constraint:
    """``suffix 'text'``: a text that ends so."""
    return Constraint(texts=pattern_set(suffix_pattern(_text(text))))


def contains(text: str) -> Constraint:
    """``contains 'text'``: a text with this somewhere in it."""
    return Constraint(texts=pattern_set(contains_pattern(_text(text))))


def like(pattern: str, escape: str | None = None) -> Constraint:
    """``like 'pattern' escape 'c'``: ``%`` is any text, ``_`` any one character."""
    return Constraint(texts=pattern_set(parse_like(_text(pattern), escape)))


def _not_prefix(text: str) -> Constraint:
    ranges = text_set.complement(text_set.prefix_range(_text(text)))
    return Constraint(texts=TextSet(ranges))


def _not_suffix(text: str) -> Constraint:
    return Constraint(texts=pattern_complement(suffix_pattern(_text(text))))


def _not_contains(text: str) -> Constraint:
    return Constraint(texts=pattern_complement(contains_pattern(_text(text))))


def _not_like(pattern: str, escape: str | None = None) -> Constraint:
    return Constraint(texts=pattern_complement(parse_like(_text(pattern), escape)))


def _below(value: Value, inclusive: bool) -> Constraint:
    value = check_value(value)
    if isinstance(value, bool):
        return NOTHING
    if isinstance(value, str):
        return Constraint(texts=TextSet(text_set.below(value, inclusive)))
    return Constraint(numbers=number_set.below(normalised_number(value), inclusive))


def _above(value: Value, inclusive: bool) -> Constraint:
    value = check_value(value)
    if isinstance(value, bool):
        return NOTHING
    if isinstance(value, str):
        return Constraint(texts=TextSet(text_set.above(value, inclusive)))
    return Constraint(numbers=number_set.above(normalised_number(value), inclusive))


def _check_same_type(low: Value, high: Value) -> None:
    names = [_type_word(bound) for bound in (low, high)]
    if names[0] != names[1]:
        raise MixedTypesError(
            f"between needs two bounds of one type, not {names[0]} ({low!r}) and "
            f"{names[1]} ({high!r})"
        )


def _type_word(value: Value) -> str:
    if isinstance(value, bool):
        return "a bool"
    return "a text" if isinstance(value, str) else "a number"


def _text(text: str) -> str:
    if type(text) is not str:
        raise FilterTypeError(f"expected a text, not {type(text).__name__}: {text!r}")
    check_value(text)
    return text


def _several(values: Iterable[Value]) -> Iterable[Value]:
    if isinstance(values, str):
        raise FilterTypeError(f"expected several values, not one text: [{values!r}]")
    return values


def _always(constraint: Constraint) -> Callable[[], Constraint]:
    return lambda: constraint


_NOT_A_BOOL = Constraint(True, 0, ANY_NUMBER.numbers, ANY_TEXT.texts)
_NOT_A_NUMBER = Constraint(True, ANY_BOOL.bools, (), ANY_TEXT.texts)
_NOT_A_TEXT = Constraint(True, ANY_BOOL.bools, ANY_NUMBER.numbers)

KINDS: dict[tuple[Shape, str], Kind] = {
    (kind.shape, kind.operator): kind
    for kind in (
        Kind("=", Shape.SYMBOL, equal, not_equal, mirrored="="),
        Kind("<>", Shape.SYMBOL, not_equal, equal, mirrored="<>"),
        Kind("!=", Shape.SYMBOL, not_equal, equal, mirrored="<>"),
        Kind("<", Shape.SYMBOL, less_than, at_least, mirrored=">"),
        Kind("<=", Shape.SYMBOL, at_most, greater_than, mirrored=">="),
        Kind(">", Shape.SYMBOL, greater_than, at_most, mirrored="<"),
        Kind(">=", Shape.SYMBOL, at_least, less_than, mirrored="<="),
        Kind("between", Shape.BETWEEN, between, not_between),
        Kind("in", Shape.IN, one_of, none_of),
        Kind("like", Shape.LIKE, like, _not_like),
        Kind("prefix", Shape.WORD, prefix, _not_prefix),
        Kind("suffix", Shape.WORD, suffix, _not_suffix),
        Kind("contains", Shape.WORD, contains, _not_contains),
        Kind("null", Shape.IS, _always(MISSING), _always(PRESENT)),
        Kind("number", Shape.IS, _always(ANY_NUMBER), _always(_NOT_A_NUMBER)),
        Kind("text", Shape.IS, _always(ANY_TEXT), _always(_NOT_A_TEXT)),
        Kind("bool", Shape.IS, _always(ANY_BOOL), _always(_NOT_A_BOOL)),
    )
}
"""All kinds of conditions, by shape and operator."""


def operators(shape: Shape) -> list[str]:
    """The operators of a shape, in the order of the registry."""
    return [operator for own_shape, operator in KINDS if own_shape is shape]


KEYWORDS = frozenset(
    ["and", "or", "not", "escape", "is", "exists", "true", "false"]
    + [operator for _, operator in KINDS if operator.isalpha()]
)
"""The words that cannot be attribute names unless they stand in double quotes."""
