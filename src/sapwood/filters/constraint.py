"""What a filter demands of one attribute.

The value of an attribute is missing, a bool, a number or a text; a constraint says which of each
are allowed. So every condition on one attribute, negated or not, is one constraint, and the
relations between filters come down to relations between sets.
"""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from sapwood.filters import cuts
from sapwood.filters.number_set import ALL_NUMBERS, NO_NUMBERS, NumberCuts
from sapwood.filters.text_set import ALL_TEXTS, NO_TEXTS, TextSet
from sapwood.filters.values import Value

NO_BOOLS = 0
FALSE_ALLOWED = 1
TRUE_ALLOWED = 2
BOTH_BOOLS = FALSE_ALLOWED | TRUE_ALLOWED


class Constraint(msgspec.Struct, frozen=True, order=True, gc=False):
    """A set of values of one attribute, "missing" among them.

    `bools` is a bit mask (1: false is allowed, 2: true is allowed), `numbers` are cuts
    (`sapwood.filters.number_set`), `texts` is a `TextSet`. Without text patterns, constraints of
    equal meaning are equal.
    """

    missing: bool = False
    bools: int = NO_BOOLS
    numbers: NumberCuts = NO_NUMBERS
    texts: TextSet = NO_TEXTS

    @property
    def is_empty(self) -> bool:
        """Whether no value is allowed (certain where there are no text patterns)."""
        return not (self.missing or self.bools or self.numbers or self.texts.ranges)

    @property
    def is_anything(self) -> bool:
        """Whether every value is allowed, and missing too."""
        return self == ANYTHING

    @property
    def has_patterns(self) -> bool:
        """Whether text patterns are involved, which limit what can be decided."""
        return self.texts.has_patterns

    def matches(self, value: Value | None) -> bool:
        """Whether the value is allowed; None stands for a missing attribute."""
        kind = type(value)
        if kind is str:
            return self.texts.matches(value)  # type: ignore[arg-type]
        if kind is bool:
            return (self.bools >> value) & 1 == 1  # type: ignore[operator]
        if value is None:
            return self.missing
        return bisect_right(self.numbers, (value, 0)) & 1 == 1

    def intersection(self, other: Constraint) -> Constraint:
        """What both allow."""
        return Constraint(
            self.missing and other.missing,
            self.bools & other.bools,
            cuts.intersection(self.numbers, other.numbers),
            self.texts.intersection(other.texts),
        )

    def union(self, other: Constraint) -> Constraint | None:
        """What either allows, or None where text patterns prevent an exact answer."""
        texts = self.texts.union(other.texts)
        if texts is None:
            return None
        return Constraint(
            self.missing or other.missing,
            self.bools | other.bools,
            cuts.union(self.numbers, other.numbers),
            texts,
        )

    def difference(self, other: Constraint) -> list[Constraint]:
        """What only this one allows, as a union of constraints (at most one without patterns)."""
        first, *more = self.texts.difference(other.texts) or [NO_TEXTS]
        remainder = Constraint(
            self.missing and not other.missing,
            self.bools & ~other.bools,
            cuts.difference(self.numbers, other.numbers),
            first,
        )
        pieces = [] if remainder.is_empty else [remainder]
        return pieces + [Constraint(texts=texts) for texts in more]

    def covers(self, other: Constraint) -> bool:
        """Whether everything `other` allows is allowed here.

        Exact without text patterns; with them, yes is always right and no may be wrong.
        """
        return (
            self.missing >= other.missing
            and not other.bools & ~self.bools
            and cuts.covers(self.numbers, other.numbers)
            and self.texts.covers(other.texts)
        )

    def overlaps(self, other: Constraint) -> bool:
        """Whether some value may be allowed by both.

        Exact without text patterns; with them, no is always right and yes may be wrong.
        """
        return bool(
            (self.missing and other.missing)
            or self.bools & other.bools
            or cuts.intersection(self.numbers, other.numbers)
            or (
                self.texts.ranges
                and other.texts.ranges
                and self.texts.intersection(other.texts).ranges
            )
        )


NOTHING = Constraint()
"""No value at all."""

MISSING = Constraint(missing=True)
"""``is null``"""

ANY_BOOL = Constraint(bools=BOTH_BOOLS)
"""``is bool``"""

ANY_NUMBER = Constraint(numbers=ALL_NUMBERS)
"""``is number``"""

ANY_TEXT = Constraint(texts=ALL_TEXTS)
"""``is text``"""

PRESENT = Constraint(False, BOTH_BOOLS, ALL_NUMBERS, ALL_TEXTS)
"""``is not null``"""

ANYTHING = Constraint(True, BOTH_BOOLS, ALL_NUMBERS, ALL_TEXTS)
"""No demand."""
