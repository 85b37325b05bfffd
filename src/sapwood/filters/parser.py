"""The parser behind `sapwood.filters.syntax`: lark, the grammar, and what to build at each rule.

The grammar is in ``grammar.lark``; lark makes an LALR parser of it. Actions run while the parser
reduces, without recursion, so no text can exhaust the stack. This module imports lark, which
takes its time, and is itself imported when the first filter text is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from math import isinf
from typing import Any, NamedTuple, cast

from lark import Lark, Token
from lark.exceptions import UnexpectedInput

from sapwood.errors import (
    AttributeNameError,
    FilterError,
    FilterTooDeepError,
    InvalidNotificationError,
    NameLiteralError,
    NumberLiteralError,
    TextLiteralError,
)
from sapwood.filters.expression import And, Condition, Constant, Expression, Not, Or
from sapwood.filters.kinds import KEYWORDS, KINDS, Shape, operators
from sapwood.filters.limits import Limits
from sapwood.filters.syntax_errors import explain
from sapwood.filters.values import (
    INTEGER_MAX,
    INTEGER_MIN,
    Number,
    Value,
    check_name,
    check_value,
    normalised_number,
)

_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")


def read_expression(text: str, limits: Limits) -> Expression:
    """The expression tree of a filter text."""
    parser = _parser(limits)
    try:
        return cast(Expression, parser.parse(text))
    except UnexpectedInput as problem:
        raise explain(problem, text, _acceptable(parser, text)) from None
    except FilterError as problem:  # from an action, which knows the place but not the text
        assert problem.position is not None
        raise problem.located(text, problem.position, problem.length) from None


def _acceptable(parser: Lark, text: str) -> frozenset[str]:
    """The terminals that could have stood where the parser got stuck: a second run tells."""
    interactive = parser.parse_interactive(text)
    try:
        for _ in interactive.iter_parse():
            pass
        interactive.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedInput:
        return frozenset(interactive.accepts())  # type: ignore[no-untyped-call]
    raise AssertionError("a text that could not be parsed was parsed")


@lru_cache(maxsize=8)
def _parser(limits: Limits) -> Lark:
    """The parser, with actions that obey the limits."""
    grammar = resources.files("sapwood.filters").joinpath("grammar.lark").read_text("utf-8")
    for shape in (Shape.SYMBOL, Shape.WORD, Shape.IS):
        grammar = grammar.replace(f"@{shape.name}@", _choice(operators(shape)))
    grammar = grammar.replace("@KEYWORD@", _choice(KEYWORDS))
    return Lark(grammar, parser="lalr", transformer=cast(Any, _Actions(limits)))


def _choice(words: Iterable[str]) -> str:
    """A regular expression for one of the words; the longer first, as ``<=`` begins with ``<``."""
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word)))


class _Node(NamedTuple):
    """An expression, and how deep parentheses and nots nest in it."""

    expression: Expression
    depth: int


class _Actions:
    """What to build at each rule of the grammar; methods are named after its aliases."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def start(self, children: list[Any]) -> Expression:
        (node,) = children
        return cast(Expression, node.expression)

    def disjunction(self, children: list[_Node]) -> _Node:
        operands = tuple(node.expression for node in children)
        return _Node(Or(operands), max(node.depth for node in children))

    def conjunction(self, children: list[_Node]) -> _Node:
        operands = tuple(node.expression for node in children)
        return _Node(And(operands), max(node.depth for node in children))

    def negated(self, children: list[Any]) -> _Node:
        token, node = children
        return self._deeper(token, Not(node.expression), node.depth)

    def group(self, children: list[Any]) -> _Node:
        token, node = children
        return self._deeper(token, node.expression, node.depth)

    def compared(self, children: list[Any]) -> _Node:
        name, token, value = children
        return _condition(Shape.SYMBOL, token, name, value)

    def compared_mirrored(self, children: list[Any]) -> _Node:
        value, token, name = children
        mirrored = KINDS[Shape.SYMBOL, str(token)].mirrored
        assert mirrored is not None
        return _Node(Condition(name, KINDS[Shape.SYMBOL, mirrored], (value,)), 0)

    def worded(self, children: list[Any]) -> _Node:
        name, negation, token, text = children
        return _negated_if(negation, _condition(Shape.WORD, token, name, text))

    def like(self, children: list[Any]) -> _Node:
        name, negation, token, pattern, escape = children
        return _negated_if(negation, _condition(Shape.LIKE, token, name, pattern, escape))

    def between(self, children: list[Any]) -> _Node:
        name, negation, token, low, high = children
        return _negated_if(negation, _condition(Shape.BETWEEN, token, name, low, high))

    def listed(self, children: list[Any]) -> _Node:
        name, negation, token, _, *values = children
        return _negated_if(negation, _condition(Shape.IN, token, name, tuple(values)))

    def typed(self, children: list[Any]) -> _Node:
        name, _, negation, token = children
        return _negated_if(negation, _condition(Shape.IS, token, name))

    def exists(self, children: list[Any]) -> _Node:
        _, name = children
        return _Node(Not(Condition(name, KINDS[Shape.IS, "null"], ())), 0)

    def constant_true(self, _: list[Token]) -> _Node:
        return _Node(Constant(True), 0)

    def constant_false(self, _: list[Token]) -> _Node:
        return _Node(Constant(False), 0)

    def plain_name(self, children: list[Token]) -> str:
        return self._name(children[0], str(children[0]))

    def quoted_name(self, children: list[Token]) -> str:
        return self._name(children[0], children[0][1:-1].replace('""', '"'))

    def number(self, children: list[Token]) -> Number:
        return _number(children[0])

    def text(self, children: list[Token]) -> Value:
        (token,) = children
        try:
            return check_value(token[1:-1].replace("''", "'"), limits=self._limits)
        except InvalidNotificationError as problem:
            raise _at(token, TextLiteralError(str(problem))) from None

    def value_true(self, _: list[Token]) -> bool:
        return True

    def value_false(self, _: list[Token]) -> bool:
        return False

    def _name(self, token: Token, name: str) -> str:
        try:
            return check_name(name, self._limits)
        except AttributeNameError as problem:
            raise _at(token, NameLiteralError(str(problem))) from None

    def _deeper(self, token: Token, expression: Expression, depth: int) -> _Node:
        if depth >= self._limits.filter_nesting_max:
            limit = self._limits.filter_nesting_max
            problem = f"parentheses and nots nest more than {limit} deep; simplify the filter"
            raise _at(token, FilterTooDeepError(problem))
        return _Node(expression, depth + 1)


def _condition(shape: Shape, token: Token, name: str, *operands: object) -> _Node:
    kind = KINDS[shape, token.lower()]
    try:
        kind.true(*operands)
    except FilterError as problem:  # mixed types, wrong escape
        raise _at(token, problem) from None
    return _Node(Condition(name, kind, operands), 0)


def _negated_if(negation: Token | None, node: _Node) -> _Node:
    """``x not in ...`` is ``not (x in ...)``."""
    return node if negation is None else _Node(Not(node.expression), node.depth)


def _number(token: Token) -> Number:
    """The value of a number; refused where it would not be what is written."""
    if any(character in token for character in ".eE"):
        approximate = float(token)
        if isinf(approximate):
            problem = f"{_shown(token)} is beyond the largest number, 1.7976931348623157e+308"
            raise _at(token, NumberLiteralError(problem))
        return normalised_number(approximate)
    integer = _INTEGER.fullmatch(token)  # Python reads no integer of thousands of digits
    value = int(integer.group(1) + integer.group(2)) if integer else INTEGER_MAX + 1
    if not INTEGER_MIN <= value <= INTEGER_MAX:
        problem = (
            f"{_shown(token)} is beyond 64 bits; integers go from {INTEGER_MIN} to {INTEGER_MAX}"
        )
        raise _at(token, NumberLiteralError(problem))
    return value


def _shown(token: str) -> str:
    return token if len(token) <= 40 else f"{token[:40]}... ({len(token)} digits)"


def _at(token: Token, problem: FilterError) -> FilterError:
    """The error with the place of a token; `read_expression` adds the text."""
    position = cast(int, token.start_pos)
    return type(problem)(problem.problem, None, position, len(token), problem.expected)
