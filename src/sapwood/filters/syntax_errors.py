"""What to tell someone whose filter text cannot be read.

The parser knows which terminals of the grammar could have come next; people want to hear "an
operator" or "a value", and to be told what they probably meant: that texts stand in single
quotes, that ``==`` is ``=``, that a name alone is no condition.
"""

from __future__ import annotations

import re
from typing import cast

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from sapwood.errors import FilterSyntaxError, UnterminatedTextError
from sapwood.filters.kinds import KEYWORDS, Shape, operators
from sapwood.filters.values import shorten

_SYMBOLS = ", ".join(operators(Shape.SYMBOL))
_WORDS = ", ".join(["between", "in", "like", *operators(Shape.WORD)])
_TYPES = ", ".join(operators(Shape.IS))

_CONDITION = frozenset(
    ["NAME", "QUOTED_NAME", "NOT", "EXISTS", "LPAR", "NUMBER", "TEXT", "TRUE", "FALSE"]
)
_VALUE = frozenset(["NUMBER", "TEXT", "TRUE", "FALSE"])

# Groups of terminals and what they are called, the largest first: each terminal is named once.
_NAMES: list[tuple[frozenset[str], str]] = [
    (_CONDITION, "a condition such as price > 100"),
    (_VALUE, "a value (number, 'text', true or false)"),
    (
        frozenset(["SYMBOL", "NOT", "WORD", "LIKE", "BETWEEN", "IN", "IS"]),
        f"an operator ({_SYMBOLS}, {_WORDS}, is)",
    ),
    (frozenset(["WORD", "LIKE", "BETWEEN", "IN"]), f"one of {_WORDS}"),
    (frozenset(["SYMBOL"]), f"a comparison ({_SYMBOLS})"),
    (frozenset(["NAME", "QUOTED_NAME"]), "an attribute name"),
    (frozenset(["TEXT"]), "a text in single quotes"),
    (frozenset(["NOT"]), "not"),
    (frozenset(["TYPE"]), f"one of {_TYPES}"),
    (frozenset(["LPAR"]), "("),
    (frozenset(["_COMMA"]), "a comma"),
    (frozenset(["_AND"]), "and"),
    (frozenset(["_OR"]), "or"),
    (frozenset(["_ESCAPE"]), "escape"),
    (frozenset(["_RPAR"]), ")"),
    (frozenset(["$END"]), "the end of the filter"),
]

_MISTAKES = {
    "==": "equality is written =",
    "=": "equality is written =",
    "&&": "conditions are joined with and",
    "&": "conditions are joined with and",
    "||": "conditions are joined with or",
    "|": "conditions are joined with or",
    "!": "negation is written not",
    "null": "a missing attribute is asked for with is null",
    ";": "a filter is one expression",
}

_FOUND = re.compile(r"[A-Za-z0-9_.]+|[^\sA-Za-z0-9_.()',\"]+|.", re.DOTALL)


def explain(problem: UnexpectedInput, text: str, terminals: frozenset[str]) -> FilterSyntaxError:
    """The error to raise for what the parser stumbled over, where `terminals` could have come."""
    if isinstance(problem, UnexpectedToken):
        token = problem.token
        if token.type == "$END":
            return _error(text, len(text.rstrip()), "", terminals)
        assert token.start_pos is not None
        return _error(text, token.start_pos, str(token), terminals)
    assert isinstance(problem, UnexpectedCharacters)
    position = cast(int, problem.pos_in_stream)
    if text[position] in "'\"":
        return _unterminated(text, position)
    found = _FOUND.match(text, position)
    assert found is not None
    return _error(text, position, found.group(), terminals)


def _unterminated(text: str, position: int) -> FilterSyntaxError:
    quote = text[position]
    what = "text" if quote == "'" else "name"
    problem = f"the {what} that begins here has no closing {quote}; a {quote} inside is doubled"
    return UnterminatedTextError(problem, text, position, len(text) - position)


def _error(text: str, position: int, found: str, terminals: frozenset[str]) -> FilterSyntaxError:
    expected = _in_words(terminals)
    shown = shorten(found) if found else "the end of the filter"
    problem = f"expected {_listed(expected)}, found {shown}"
    hint = _hint(text, position, found, terminals)
    if hint:
        problem = f"{problem}; {hint}"
    return FilterSyntaxError(problem, text, position, len(found) or 1, expected)


def _in_words(terminals: frozenset[str]) -> tuple[str, ...]:
    words = []
    for group, name in _NAMES:
        if group <= terminals:
            words.append(name)
            terminals -= group
    return tuple(words)


def _listed(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _hint(text: str, position: int, found: str, terminals: frozenset[str]) -> str:
    """What was probably meant; the empty text if that is not clear."""
    before = text[:position].rstrip()
    word = found.lower()
    if word in _MISTAKES:
        return _MISTAKES[word]
    if terminals >= _CONDITION:
        return _keyword_hint(found)
    if terminals >= _VALUE:
        return _value_hint(found)
    if "NAME" in terminals and found:
        return _keyword_hint(found) or "one side of a comparison is an attribute"
    if "SYMBOL" in terminals and "IS" in terminals:
        name = re.search(r'(?:[A-Za-z0-9_.]+|"[^"]*")$', before)
        if name and (not found or word in ("and", "or", ")")):
            alone = name.group()
            return f"a name alone is no condition: write {alone} = true or exists {alone}"
    if before.endswith("'") and before == text[:position] and "_AND" in terminals:
        return "a quote inside a text is doubled"
    return ""


def _keyword_hint(found: str) -> str:
    if found.lower() in KEYWORDS and found.lower() not in ("and", "or"):
        return f'as a name, the keyword {found} is written "{found}"'
    return ""


def _value_hint(found: str) -> str:
    if found.lower() in KEYWORDS:
        return ""
    if found.startswith('"'):
        return f"a text stands in single quotes: '{found[1:-1]}'"
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", found):
        return f"a text stands in single quotes ('{found}'), and attributes are not compared"
    return ""
