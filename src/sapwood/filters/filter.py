"""Filters: which notifications someone wants.

A `Filter` is made from text in the filter language, or from constraints. What it holds is its
meaning, a union of boxes in canonical form, not its wording: filters that match the same
notifications are equal and have the same id (always without the text patterns suffix, contains
and like; see `sapwood.filters.normal_form` for the fine print).

>>> Filter("price > 100 and symbol = 'IBM'").matches({"symbol": "IBM", "price": 120.5})
True
>>> Filter("price > 100").covers(Filter("price > 200"))
True
>>> str(Filter("not (price <= 100 or price is null)"))
'price > 100'
>>> Filter("x = 1").merge(Filter("x > 1"))
Filter('x >= 1')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NoReturn

from sapwood.errors import FilterTypeError
from sapwood.filters.box import Box, make_box, matches, overlaps
from sapwood.filters.constraint import Constraint
from sapwood.filters.limits import DEFAULT_LIMITS, OVERLAP_WORK_MAX, Limits
from sapwood.filters.merging import perfect_merger, union_covers
from sapwood.filters.normal_form import canonical
from sapwood.filters.notification import Notification, attributes_of
from sapwood.filters.printer import filter_text
from sapwood.filters.syntax import parse
from sapwood.filters.values import Value, check_name

_ID_BYTES = 8


class Filter:
    """A set of notifications, given by a boolean expression over their attributes. Immutable."""

    __slots__ = ("_hash", "_id", "_text", "boxes")

    boxes: tuple[Box, ...]
    """The canonical boxes whose union is the filter."""

    _text: str | None
    _id: str | None
    _hash: int | None

    def __new__(cls, text: str, *, limits: Limits = DEFAULT_LIMITS) -> Filter:
        """Read a filter from text; raises a `sapwood.errors.FilterError` if it cannot."""
        if not isinstance(text, str):
            raise FilterTypeError(
                f'a filter is made from a text such as "price > 100", not {type(text).__name__}'
            )
        boxes, canonical_text = parse(text, limits)
        return cls._of(boxes, canonical_text)

    @classmethod
    def from_boxes(cls, boxes: Iterable[Box]) -> Filter:
        """The filter that is the union of these boxes."""
        boxes = tuple(boxes)
        return cls._of(boxes if len(boxes) < 2 else canonical(boxes))

    @classmethod
    def all_of(cls, constraints: Mapping[str, Constraint]) -> Filter:
        """The conjunction of constraints, by attribute name; quicker than going through text.

        >>> from sapwood.filters import at_least, equal
        >>> Filter.all_of({"price": at_least(100), "symbol": equal("IBM")})
        Filter("price >= 100 and symbol = 'IBM'")
        """
        for name, constraint in constraints.items():
            check_name(name)
            if type(constraint) is not Constraint:
                raise FilterTypeError(
                    f"the constraint on {name!r} is of type {type(constraint).__name__}; "
                    "make it with equal(), between(), prefix() and the like"
                )
        box = make_box(constraints.items())
        return cls._of(() if box is None else (box,))

    @classmethod
    def _of(cls, boxes: tuple[Box, ...], text: str | None = None) -> Filter:
        """A filter with boxes that are canonical already."""
        self = object.__new__(cls)
        set_slot = object.__setattr__
        set_slot(self, "boxes", boxes)
        set_slot(self, "_text", text)
        set_slot(self, "_id", None)
        set_slot(self, "_hash", None)
        return self

    @property
    def id(self) -> str:
        """A short name for the meaning: 16 hexadecimal digits, the same on every machine."""
        if self._id is None:
            digest = blake2b(str(self).encode(), digest_size=_ID_BYTES).hexdigest()
            object.__setattr__(self, "_id", digest)
            return digest
        return self._id

    @property
    def is_empty(self) -> bool:
        """Whether the filter is known to match nothing (certain without text patterns)."""
        return not self.boxes

    @property
    def matches_everything(self) -> bool:
        """Whether the filter is known to match every notification."""
        return self.boxes == ((),)

    def matches(self, notification: Notification | Mapping[str, Value]) -> bool:
        """Whether the filter wants the notification; a plain mapping of attributes will do.

        A mapping that no notification could have is refused.
        """
        attributes = attributes_of(notification)
        for box in self.boxes:
            if matches(box, attributes):
                return True
        return False

    def covers(self, other: Filter) -> bool:
        """Whether this filter matches everything that `other` matches (Jaeger 2007, 2.2.3).

        Yes is always right. No is right too, unless text patterns are involved or very large
        unions of conjunctions have to be compared.
        """
        return union_covers(self.boxes, _filter(other).boxes)

    def overlaps(self, other: Filter) -> bool:
        """Whether some notification may match both filters.

        No is always right. Yes is right too, unless text patterns are involved or two very large
        unions of conjunctions have to be compared.
        """
        others = _filter(other).boxes
        if len(self.boxes) * len(others) > OVERLAP_WORK_MAX:
            return True
        return any(overlaps(box, other_box) for box in self.boxes for other_box in others)

    def equivalent(self, other: Filter) -> bool:
        """Whether both filters match the same notifications; yes is always right."""
        return self == _filter(other) or (self.covers(other) and other.covers(self))

    def merge(self, other: Filter) -> Filter | None:
        """A perfect merger: one simple filter that matches what either matches, and nothing else.

        That is the one that covers the other, or a single conjunction in place of two that
        differ in one attribute. None where there is no such filter.
        """
        boxes = perfect_merger(self.boxes, _filter(other).boxes)
        if boxes is None:
            return None
        for known in (self, other):
            if boxes is known.boxes:
                return known
        return Filter._of(boxes)

    def __str__(self) -> str:
        """The canonical text, which parses to an equal filter."""
        if self._text is None:
            text = filter_text(self.boxes)
            object.__setattr__(self, "_text", text)
            return text
        return self._text

    def __repr__(self) -> str:
        return f"Filter({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Filter):
            return NotImplemented
        return self is other or self.boxes == other.boxes

    def __hash__(self) -> int:
        if self._hash is None:
            computed = hash(self.boxes)
            object.__setattr__(self, "_hash", computed)
            return computed
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return Filter._of, (self.boxes, self._text)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a filter is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a filter is immutable; cannot delete {name!r}")


def _filter(other: Filter) -> Filter:
    if not isinstance(other, Filter):
        raise FilterTypeError(
            f"expected a Filter, not {type(other).__name__}; make one with Filter(text)"
        )
    return other
