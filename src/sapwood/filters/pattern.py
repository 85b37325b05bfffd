"""Patterns over texts: what ``like``, ``suffix`` and ``contains`` leave when no range will do.

A pattern is written with literal characters, "any one character" (``_`` in the syntax) and "any
characters" (``%``). Inside a `Pattern` it is split at the ``%`` into pieces; in a piece, "any one
character" stands as `ANY_ONE`, a lone surrogate, which can stand for nothing else because texts
never hold one.

A run of wildcards means the same in any order (``_%`` and ``%_`` are both "at least one more"),
so the ``_`` come first and one ``%`` follows. After that, patterns of equal meaning are equal.

Matching is greedy: each piece is taken where it first fits, which never spoils a later piece, so
nothing is ever tried twice. A piece with wildcards is searched bit-parallel (Shift-And). The time
is linear in the text, whatever the pattern; no regular expression, no backtracking.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from sapwood.errors import PatternError

ANY_ONE = "\udc5f"
"""Stands for "any one character" within a piece."""

ANY_MANY = "\udc25"
"""Stands for "any characters" between pieces; never inside one."""

_WILDCARD_RUN = re.compile(f"[{ANY_ONE}{ANY_MANY}]+")
_ESCAPE = "\\"


class Pattern(msgspec.Struct, frozen=True, order=True, gc=False):
    """A set of texts given by pieces with any characters between them, in canonical form.

    ``contains 'a'`` is ``("", "a", "")``, ``suffix 'a'`` is ``("", "a")``. Build it with
    `parse_like` or `from_symbols`, which bring it into canonical form.
    """

    pieces: tuple[str, ...]

    @classmethod
    def from_symbols(cls, symbols: str) -> Pattern:
        """The pattern for literal characters mixed with `ANY_ONE` and `ANY_MANY`."""
        ordered = _WILDCARD_RUN.sub(lambda run: _ordered_run(run.group()), symbols)
        return cls(tuple(ordered.split(ANY_MANY)))

    @property
    def symbols(self) -> str:
        """The whole pattern as one text of literals and wildcard symbols."""
        return ANY_MANY.join(self.pieces)

    @property
    def head(self) -> str:
        """The literal characters that every matching text begins with."""
        return self.pieces[0].split(ANY_ONE, 1)[0]

    @property
    def length_min(self) -> int:
        """How many characters a matching text has at least."""
        return sum(map(len, self.pieces))

    @property
    def length_max(self) -> int | None:
        """How many characters a matching text has at most; None without bound."""
        return len(self.pieces[0]) if len(self.pieces) == 1 else None

    def matches(self, text: str) -> bool:
        """Whether the text is in the set."""
        return _absorbs(self.pieces, text)

    def covers(self, other: Pattern) -> bool:
        """Whether every text of `other` is certainly in this set.

        The other pattern's symbols are matched like a text: "any characters" here absorbs
        anything, "any one" absorbs a literal or another "any one". Yes is always right; no may
        be wrong.
        """
        return _absorbs(self.pieces, other.symbols)

    def disjoint(self, other: Pattern) -> bool:
        """Whether certainly no text is in both sets. Yes is always right; no may be wrong."""
        for shorter, longer in ((self, other), (other, self)):
            if shorter.length_max is not None and shorter.length_max < longer.length_min:
                return True
        if _clash(self.pieces[0], other.pieces[0]):
            return True
        return _clash(self.pieces[-1][::-1], other.pieces[-1][::-1])

    def literal_kind(self) -> tuple[str, str]:
        """The simplest operator that says it: suffix or contains with its literal, or like."""
        match self.pieces:
            case ("", text) if ANY_ONE not in text:
                return "suffix", text
            case ("", text, "") if ANY_ONE not in text:
                return "contains", text
        return "like", self.like()[0]

    def like(self) -> tuple[str, str | None]:
        """The pattern as ``like`` takes it, and the escape character if it needs one."""
        literals = self.symbols.translate({ord(ANY_ONE): None, ord(ANY_MANY): None})
        escape = _ESCAPE if "%" in literals or "_" in literals else None
        text = self.symbols
        if escape:
            text = re.sub(r"[%_\\]", lambda special: _ESCAPE + special.group(), text)
        return text.replace(ANY_ONE, "_").replace(ANY_MANY, "%"), escape


def parse_like(text: str, escape: str | None = None) -> Pattern:
    """The pattern that ``like 'text' escape 'escape'`` means.

    The escape character takes the meaning from a following ``%``, ``_`` or itself; before
    anything else it is an error, as in SQL-92.
    """
    if escape is not None and len(escape) != 1:
        raise PatternError(f"the escape is {escape!r}; it must be exactly one character")
    symbols: list[str] = []
    characters = iter(text)
    for character in characters:
        if character == escape:
            escaped = next(characters, "")
            if escaped not in ("%", "_", escape):
                raise PatternError(
                    f"in the pattern {text!r} the escape {escape!r} stands before "
                    f"{escaped!r}; it must stand before %, _ or itself"
                    if escaped
                    else f"the pattern {text!r} ends with its escape {escape!r}; "
                    "it must stand before %, _ or itself"
                )
            symbols.append(escaped)
        elif character == "%":
            symbols.append(ANY_MANY)
        elif character == "_":
            symbols.append(ANY_ONE)
        else:
            symbols.append(character)
    return Pattern.from_symbols("".join(symbols))


def suffix_pattern(text: str) -> Pattern:
    """All texts that end with `text`."""
    return Pattern.from_symbols(ANY_MANY + text)


def contains_pattern(text: str) -> Pattern:
    """All texts that contain `text`."""
    return Pattern.from_symbols(ANY_MANY + text + ANY_MANY)


def _ordered_run(run: str) -> str:
    return ANY_ONE * run.count(ANY_ONE) + (ANY_MANY if ANY_MANY in run else "")


def _absorbs(pieces: tuple[str, ...], subject: str) -> bool:
    """Whether the pieces, with anything between them, account for the whole subject.

    The subject is a text, or the symbols of a pattern. Each piece but the last may end with "any
    one" symbols; as anything may follow them, they only ask for that many more characters.
    """
    if len(pieces) == 1:
        return len(subject) == len(pieces[0]) and _fits(pieces[0], subject, 0)
    core = pieces[0].rstrip(ANY_ONE)
    if not _fits(core, subject, 0):
        return False
    position = _skip(subject, len(core), len(pieces[0]) - len(core))
    for piece in pieces[1:-1]:
        core = piece.rstrip(ANY_ONE)
        found = _find(core, subject, position)
        if found < 0:
            return False
        position = _skip(subject, found + len(core), len(piece) - len(core))
    start = len(subject) - len(pieces[-1])
    return position <= start and _fits(pieces[-1], subject, start)


def _fits(piece: str, subject: str, start: int) -> bool:
    """Whether the piece stands in the subject at `start`."""
    if ANY_ONE not in piece:
        return subject.startswith(piece, start)
    if start + len(piece) > len(subject):
        return False
    return all(
        wanted == found or (wanted == ANY_ONE and found != ANY_MANY)
        for wanted, found in zip(piece, subject[start : start + len(piece)], strict=True)
    )


def _find(piece: str, subject: str, start: int) -> int:
    """Where the piece first stands in the subject from `start` on; -1 if nowhere."""
    if ANY_ONE not in piece:
        return subject.find(piece, start)
    masks, elsewhere = _bit_masks(piece)
    complete = 1 << (len(piece) - 1)
    state = 0  # bit i is set while the last i + 1 characters fit the first i + 1 of the piece
    for position in range(start, len(subject)):
        state = (state << 1 | 1) & masks.get(subject[position], elsewhere)
        if state & complete:
            return position - len(piece) + 1
    return -1


@lru_cache(maxsize=256)
def _bit_masks(piece: str) -> tuple[dict[str, int], int]:
    """For each character, the places of the piece where it fits; and the same for all others."""
    elsewhere = sum(1 << index for index, symbol in enumerate(piece) if symbol == ANY_ONE)
    masks: dict[str, int] = {}
    for index, symbol in enumerate(piece):
        masks[symbol] = masks.get(symbol, elsewhere) | 1 << index
    masks[ANY_MANY] = 0  # no single character stands for it
    return masks, elsewhere


def _skip(subject: str, position: int, count: int) -> int:
    """The place `count` characters further; beyond the end if there are not so many."""
    if ANY_MANY not in subject:
        return position + count
    while count:
        if position >= len(subject):
            return len(subject) + 1
        count -= subject[position] != ANY_MANY
        position += 1
    return position


def _clash(left: str, right: str) -> bool:
    """Whether two pieces, laid over each other from the start, differ in a literal."""
    return any(
        one != other and ANY_ONE not in (one, other)
        for one, other in zip(left, right, strict=False)
    )
