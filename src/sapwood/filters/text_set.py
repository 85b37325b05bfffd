r"""Sets of texts: ranges by code point, narrowed by patterns.

Ranges are cuts (`sapwood.filters.cuts`) that are texts: ``("a", "a\0")`` is the text ``a``
alone, ``("a", "b")`` is everything that begins with ``a``. They express equality, order, sets and
prefixes, and all negations of these, exactly and in one form.

Patterns (suffix, contains, like) cannot be ranges. A `TextSet` lists those a text has to match
and those it must not match, and is kept small by what is certain: see `text_set`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from sapwood.filters import cuts
from sapwood.filters.pattern import ANY_ONE, Pattern

TextCuts: TypeAlias = tuple[str, ...]

LOWEST = ""
"""The cut below all texts: the empty text is the first."""

NO_TEXT_CUTS: TextCuts = ()
ALL_TEXT_CUTS: TextCuts = (LOWEST,)

_LAST_CHARACTER = "\U0010ffff"


class TextSet(msgspec.Struct, frozen=True, order=True, gc=False):
    """The texts within `ranges` that match all `required` and none of the `excluded` patterns.

    Build it with `text_set` where patterns are involved; the empty set is `NO_TEXTS` and nothing
    else.
    """

    ranges: TextCuts
    required: tuple[Pattern, ...] = ()
    excluded: tuple[Pattern, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the set is known to be empty (certain where there are no patterns)."""
        return not self.ranges

    @property
    def has_patterns(self) -> bool:
        """Whether the set is more than ranges."""
        return bool(self.required or self.excluded)

    def matches(self, text: str) -> bool:
        """Whether the text is in the set."""
        if not bisect_right(self.ranges, text) & 1:
            return False
        return _fits(text, self.required, self.excluded)

    def intersection(self, other: TextSet) -> TextSet:
        """The texts in both sets."""
        ranges = cuts.intersection(self.ranges, other.ranges)
        if not self.has_patterns and not other.has_patterns:
            return TextSet(ranges)
        return text_set(ranges, self.required + other.required, self.excluded + other.excluded)

    def union(self, other: TextSet) -> TextSet | None:
        """The texts in either set, or None where patterns stand in the way of an exact answer."""
        if self.covers(other):
            return self
        if other.covers(self):
            return other
        if self.required == other.required and self.excluded == other.excluded:
            ranges = cuts.union(self.ranges, other.ranges)
            return text_set(ranges, self.required, self.excluded)
        return None

    def difference(self, other: TextSet) -> list[TextSet]:
        """The texts in this set only, as a union of sets (one at most where no patterns are).

        A text is outside `other` if it is outside its ranges, or fails one of its required
        patterns, or matches one of its excluded ones.
        """
        inside = cuts.intersection(self.ranges, other.ranges)
        pieces = [self._narrowed(cuts.difference(self.ranges, other.ranges))]
        for pattern in other.required:
            pieces.append(text_set(inside, self.required, (*self.excluded, pattern)))
        for pattern in other.excluded:
            pieces.append(text_set(inside, (*self.required, pattern), self.excluded))
        return [piece for piece in pieces if not piece.is_empty]

    def covers(self, other: TextSet) -> bool:
        """Whether every text of `other` is certainly in this set.

        Exact where this set has no patterns and `other` has none; otherwise yes is always right
        and no may be wrong.
        """
        if not cuts.covers(self.ranges, other.ranges):
            return False
        if not self.has_patterns:
            return True
        return all(other._implies(pattern) for pattern in self.required) and all(
            other._avoids(pattern) for pattern in self.excluded
        )

    def _narrowed(self, ranges: TextCuts) -> TextSet:
        """This set with smaller ranges."""
        return (
            text_set(ranges, self.required, self.excluded) if self.has_patterns else TextSet(ranges)
        )

    def _implies(self, pattern: Pattern) -> bool:
        """Whether every text of this set certainly matches the pattern."""
        if any(pattern.covers(mine) for mine in self.required):
            return True
        return self.ranges != ALL_TEXT_CUTS and all(
            pattern.matches(hull) if isinstance(hull, str) else pattern.covers(hull)
            for hull in _hulls(self.ranges)
        )

    def _avoids(self, pattern: Pattern) -> bool:
        """Whether certainly no text of this set matches the pattern."""
        return (
            any(mine.covers(pattern) for mine in self.excluded)
            or any(mine.disjoint(pattern) for mine in self.required)
            or all(
                not pattern.matches(hull) if isinstance(hull, str) else pattern.disjoint(hull)
                for hull in _hulls(self.ranges)
            )
        )


NO_TEXTS = TextSet(NO_TEXT_CUTS)
ALL_TEXTS = TextSet(ALL_TEXT_CUTS)


def text_set(
    ranges: TextCuts, required: Iterable[Pattern] = (), excluded: Iterable[Pattern] = ()
) -> TextSet:
    """The set with these ranges and patterns, in its smallest known form.

    Ranges shrink to the literal heads of required patterns, and lose single texts that fail a
    pattern and intervals that certainly do. Patterns vanish that the ranges or other patterns
    imply. Where required patterns contradict each other or an excluded one, the set is empty.
    Every rule looks at one pattern and one other thing, and keeps its verdict when the set gets
    smaller; that is why patterns may be added one by one, in any order, with the same result.
    """
    ranges, required, excluded = _with_patterns_as_ranges(ranges, required, excluded)
    ranges = _without_hopeless(ranges, required, excluded)
    intervals = [hull for hull in _hulls(ranges) if isinstance(hull, Pattern)]
    if not intervals:
        return TextSet(ranges)
    if _contradictory(required, excluded):
        return NO_TEXTS
    needed = tuple(
        pattern
        for pattern in _smallest(required)
        if not all(pattern.covers(hull) for hull in intervals)
    )
    harmful = tuple(
        pattern
        for pattern in _largest(excluded)
        if not all(pattern.disjoint(hull) for hull in intervals)
        and not any(pattern.disjoint(wanted) for wanted in required)
    )
    return TextSet(ranges, needed, harmful)


def exactly(text: str) -> TextCuts:
    """The range of one text."""
    return (text, text + "\0")


def below(text: str, inclusive: bool = False) -> TextCuts:
    """The texts before `text` in code point order, with it if `inclusive`."""
    leave = text + "\0" if inclusive else text
    return (LOWEST, leave) if leave else NO_TEXT_CUTS


def above(text: str, inclusive: bool = False) -> TextCuts:
    """The texts after `text` in code point order, with it if `inclusive`."""
    return (text,) if inclusive else (text + "\0",)


def interval(low: str, high: str, low_open: bool = False, high_open: bool = False) -> TextCuts:
    """The texts from `low` to `high`, without an end that is open."""
    enter = low + "\0" if low_open else low
    leave = high if high_open else high + "\0"
    return (enter, leave) if enter < leave else NO_TEXT_CUTS


def complement(ranges: TextCuts) -> TextCuts:
    """All other texts."""
    return cuts.complement(ranges, LOWEST)


def prefix_range(prefix: str) -> TextCuts:
    """The texts that begin with `prefix`: up to the first text after all of them."""
    end = prefix_end(prefix)
    return (prefix,) if end is None else (prefix, end)


def prefix_end(prefix: str) -> str | None:
    """The first text after all that begin with `prefix`; None if there is none.

    The last character is raised by one, over the surrogates, which are no characters. The highest
    character cannot be raised: then the one before it is.
    """
    stem = prefix.rstrip(_LAST_CHARACTER)
    if not stem:
        return None
    raised = ord(stem[-1]) + 1
    return stem[:-1] + ("\ue000" if raised == 0xD800 else chr(raised))


def pattern_set(pattern: Pattern) -> TextSet:
    """The texts that match a pattern: as a range where it is one."""
    return text_set(ALL_TEXT_CUTS, (pattern,))


def pattern_complement(pattern: Pattern) -> TextSet:
    """The texts that do not match a pattern."""
    return text_set(ALL_TEXT_CUTS, (), (pattern,))


def _pattern_range(pattern: Pattern) -> TextCuts | None:
    """The range equal to a pattern: a literal, a prefix, or a prefix and at least one more."""
    head = pattern.head
    match pattern.pieces:
        case (only,) if only == head:
            return exactly(head)
        case (first, "") if first == head:
            return prefix_range(head)
        case (first, "") if first == head + ANY_ONE:
            return cuts.difference(prefix_range(head), exactly(head))
    return None


def _fits(text: str, required: Iterable[Pattern], excluded: Iterable[Pattern]) -> bool:
    for pattern in required:
        if not pattern.matches(text):
            return False
    for pattern in excluded:
        if pattern.matches(text):
            return False
    return True


def _with_patterns_as_ranges(
    ranges: TextCuts, required: Iterable[Pattern], excluded: Iterable[Pattern]
) -> tuple[TextCuts, list[Pattern], list[Pattern]]:
    """What patterns say about ranges goes into the ranges; what they say beyond that remains.

    Some patterns are ranges and vanish; of a required pattern, the literal head narrows them.
    """
    remaining: tuple[list[Pattern], list[Pattern]] = [], []
    for pattern in sorted(set(required)):
        own = _pattern_range(pattern)
        ranges = cuts.intersection(ranges, prefix_range(pattern.head) if own is None else own)
        if own is None:
            remaining[0].append(pattern)
    for pattern in sorted(set(excluded)):
        own = _pattern_range(pattern)
        ranges = cuts.difference(ranges, () if own is None else own)
        if own is None:
            remaining[1].append(pattern)
    return ranges, *remaining


def _hulls(ranges: TextCuts) -> Iterator[str | Pattern]:
    """For each interval, the text if it holds just one, else the tightest prefix around it."""
    for low, high in cuts.segments(ranges):
        if high == low + "\0":
            yield low
        else:
            yield Pattern((_common_prefix(low, high), ""))


def _common_prefix(low: str, high: str | None) -> str:
    """The longest prefix that all texts from `low` up to before `high` share."""
    for length in range(len(low), 0, -1):
        end = prefix_end(low[:length])
        if end is None or (high is not None and high <= end):
            return low[:length]
    return ""


def _without_hopeless(
    ranges: TextCuts, required: list[Pattern], excluded: list[Pattern]
) -> TextCuts:
    """The ranges without the intervals in which certainly no text fits the patterns."""
    kept: list[str] = []
    for hull, (low, high) in zip(_hulls(ranges), cuts.segments(ranges), strict=True):
        if isinstance(hull, str):
            hopeless = not _fits(hull, required, excluded)
        else:
            hopeless = any(pattern.disjoint(hull) for pattern in required) or any(
                pattern.covers(hull) for pattern in excluded
            )
        if not hopeless:
            kept.extend((low,) if high is None else (low, high))
    return tuple(kept)


def _smallest(patterns: list[Pattern]) -> list[Pattern]:
    """The patterns that no other one implies."""
    return [
        pattern
        for pattern in patterns
        if not any(pattern.covers(other) for other in patterns if other is not pattern)
    ]


def _largest(patterns: list[Pattern]) -> list[Pattern]:
    """The patterns that no other one covers."""
    return [
        pattern
        for pattern in patterns
        if not any(other.covers(pattern) for other in patterns if other is not pattern)
    ]


def _contradictory(required: list[Pattern], excluded: list[Pattern]) -> bool:
    """Whether certainly no text matches all required and none of the excluded patterns."""
    for index, pattern in enumerate(required):
        if any(unwanted.covers(pattern) for unwanted in excluded):
            return True
        if any(pattern.disjoint(other) for other in required[index + 1 :]):
            return True
    return False
