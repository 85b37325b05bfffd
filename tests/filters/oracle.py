"""Filters by the book: an evaluator in three-valued logic that shares no code with the package.

Expressions are trees of the classes below. `evaluate` says True, False or None (unknown), straight
from the definition, `text_of` writes the expression in the filter language, and `critical_values`
gives, for expressions without patterns, so many values that two expressions which agree on them
agree everywhere.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

Literal = bool | int | float | str
Anything = Literal | Fraction


@dataclass(frozen=True)
class Constant:
    value: bool


@dataclass(frozen=True)
class Compare:
    name: str
    operator: str
    literal: Literal
    mirrored: bool = False


@dataclass(frozen=True)
class Between:
    name: str
    low: Literal
    high: Literal
    negated: bool = False


@dataclass(frozen=True)
class In:
    name: str
    literals: tuple[Literal, ...]
    negated: bool = False


@dataclass(frozen=True)
class Like:
    name: str
    pattern: str
    escape: str | None = None
    negated: bool = False


@dataclass(frozen=True)
class Word:
    name: str
    operator: str
    text: str
    negated: bool = False


@dataclass(frozen=True)
class Is:
    name: str
    word: str
    negated: bool = False


@dataclass(frozen=True)
class Exists:
    name: str


@dataclass(frozen=True)
class Not:
    operand: Expression


@dataclass(frozen=True)
class And:
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Or:
    operands: tuple[Expression, ...]


Expression = Constant | Compare | Between | In | Like | Word | Is | Exists | Not | And | Or


# --- meaning ------------------------------------------------------------------------------


def evaluate(expression: Expression, attributes: Mapping[str, Anything]) -> bool | None:
    """Whether the expression is true, false or unknown (None) for the attributes."""
    match expression:
        case Constant(value):
            return value
        case Not(operand):
            return negation(evaluate(operand, attributes))
        case And(operands):
            return conjunction(evaluate(operand, attributes) for operand in operands)
        case Or(operands):
            return negation(
                conjunction(negation(evaluate(operand, attributes)) for operand in operands)
            )
        case Exists(name):
            return name in attributes
        case Is(name, word, negated):
            return (type_word(attributes.get(name)) == word) != negated
        case Compare(name, operator, literal):
            return compare(attributes.get(name), operator, literal)
        case _:
            return negation_if(expression.negated, evaluate_other(expression, attributes))


def evaluate_other(
    expression: Between | In | Like | Word, attributes: Mapping[str, Anything]
) -> bool | None:
    """The conditions that can be written with a ``not`` in the middle, without it."""
    value = attributes.get(expression.name)
    match expression:
        case Between(_, low, high):
            return conjunction([compare(value, ">=", low), compare(value, "<=", high)])
        case In(_, literals):
            equalities = (compare(value, "=", literal) for literal in literals)
            return negation(conjunction(map(negation, equalities)))
        case Like(_, pattern, escape):
            return like(value, pattern, escape) if isinstance(value, str) else None
        case Word(_, operator, text):
            if not isinstance(value, str):
                return None
            return {
                "prefix": value[: len(text)] == text,
                "suffix": text == "" or value[-len(text) :] == text,
                "contains": any(
                    value[start : start + len(text)] == text for start in range(len(value) + 1)
                ),
            }[operator]


def negation(value: bool | None) -> bool | None:
    return None if value is None else not value


def negation_if(negated: bool, value: bool | None) -> bool | None:
    return negation(value) if negated else value


def conjunction(values: Iterable[bool | None]) -> bool | None:
    seen = list(values)
    if False in seen:
        return False
    return None if None in seen else True


def type_word(value: Anything | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    return "text" if isinstance(value, str) else "number"


def compare(value: Anything | None, operator: str, literal: Anything) -> bool | None:
    """A comparison: unknown across types, and order unknown among bools."""
    if value is None or type_word(value) != type_word(literal):
        return None
    if isinstance(value, bool) and operator not in ("=", "<>", "!="):
        return None
    left, right = sort_key(value), sort_key(literal)
    order = (left > right) - (left < right)
    return {
        "=": order == 0,
        "<>": order != 0,
        "!=": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[operator]


def sort_key(value: Anything) -> tuple[Fraction | int, ...]:
    """Numbers exactly, texts by code points."""
    return tuple(map(ord, value)) if isinstance(value, str) else (Fraction(value),)


def like(value: str, pattern: str, escape: str | None) -> bool:
    """By regular expression, which the package does not use."""
    parts = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            parts.append(re.escape(next(characters)))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return re.fullmatch("".join(parts), value, re.DOTALL) is not None


# --- text ---------------------------------------------------------------------------------


def text_of(expression: Expression) -> str:
    """The expression in the filter language, with parentheses wherever there may be some."""
    match expression:
        case Constant(value):
            return literal_text(value)
        case Not(operand):
            return f"not ({text_of(operand)})"
        case And(operands):
            return " and ".join(f"({text_of(operand)})" for operand in operands)
        case Or(operands):
            return " OR ".join(f"({text_of(operand)})" for operand in operands)
        case Exists(name):
            return f"exists {name}"
        case Is(name, word, negated):
            return f"{name} is {'not ' if negated else ''}{word}"
        case Compare(name, operator, literal, mirrored):
            if mirrored:
                operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
                return f"{literal_text(literal)} {operator} {name}"
            return f"{name}{operator}{literal_text(literal)}"
        case _:
            return other_text(expression, f"{expression.name}{' NOT' * expression.negated}")


def other_text(expression: Between | In | Like | Word, start: str) -> str:
    match expression:
        case Between(_, low, high):
            return f"{start} between {literal_text(low)} and {literal_text(high)}"
        case In(_, literals):
            return f"{start} In ({', '.join(map(literal_text, literals))})"
        case Like(_, pattern, escape):
            suffix = "" if escape is None else f" escape {literal_text(escape)}"
            return f"{start} like {literal_text(pattern)}{suffix}"
        case Word(_, operator, text):
            return f"{start} {operator} {literal_text(text)}"


def literal_text(literal: Literal) -> str:
    if isinstance(literal, bool):
        return str(literal).upper()
    return "'" + literal.replace("'", "''") + "'" if isinstance(literal, str) else repr(literal)


# --- witnesses ----------------------------------------------------------------------------


def conditions(expression: Expression) -> Iterator[Expression]:
    """The single conditions in an expression."""
    match expression:
        case Not(operand):
            yield from conditions(operand)
        case And(operands) | Or(operands):
            for operand in operands:
                yield from conditions(operand)
        case _:
            yield expression


def literals_of(condition: Expression) -> list[Literal]:
    match condition:
        case Compare(_, _, literal):
            return [literal]
        case Between(_, low, high):
            return [low, high]
        case In(_, literals):
            return list(literals)
        case Word(_, "prefix", text):
            return [text, after_prefix(text)]
        case Word(_, _, text) | Like(_, text):
            return [text, text.replace("%", "").replace("_", "x")]
    return []


def after_prefix(text: str) -> str:
    """The first text after all that begin with `text`; some text if there is none."""
    while text.endswith("\U0010ffff"):
        text = text[:-1]
    if not text:
        return text
    code = ord(text[-1]) + 1
    return text[:-1] + chr(0xE000 if code == 0xD800 else code)


def critical_values(expressions: Iterable[Expression]) -> dict[str, list[Anything | None]]:
    """For each attribute, a value for each case that the expressions can tell apart.

    For numbers: each literal, one between each two, and one beyond each end. For texts: each
    literal, and the text right after it; sets of texts begin and end nowhere else. None stands
    for missing.
    """
    literals: dict[str, list[Literal]] = {}
    for expression in expressions:
        for condition in conditions(expression):
            if not isinstance(condition, Constant | Not | And | Or):
                literals.setdefault(condition.name, []).extend(literals_of(condition))
    values: dict[str, list[Anything | None]] = {}
    for name, own in sorted(literals.items()):
        numbers = sorted({Fraction(v) for v in own if not isinstance(v, bool | str)})
        between = [(low + high) / 2 for low, high in itertools.pairwise(numbers)]
        beyond = [numbers[0] - 1, numbers[-1] + 1] if numbers else [Fraction(0)]
        texts = {v for v in own if isinstance(v, str)}
        texts |= {text + "\0" for text in texts} | {""}
        values[name] = [None, True, False, *numbers, *between, *beyond, *sorted(texts)]
    return values


def grid(expressions: Iterable[Expression]) -> Iterator[dict[str, Anything]]:
    """All combinations of critical values, as attributes."""
    values = critical_values(expressions)
    for combination in itertools.product(*values.values()):
        yield {
            name: value
            for name, value in zip(values, combination, strict=True)
            if value is not None
        }
