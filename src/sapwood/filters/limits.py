"""How large a filter or a notification may be, in one place.

`Limits` holds what an operator may set: they refuse what is too large, and two brokers with
different limits still agree on the meaning of everything that both accept.

The constants below it may *not* be set. They bound the work spent on canonical forms and on
covering; since the canonical form decides the id of a filter, they are part of what an id means
and have to be the same everywhere.
"""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on filters and notifications from outside. Names end in their unit."""

    filter_text_bytes_max: int = 64 * 1024
    """Length of a filter's text, in bytes of UTF-8."""

    filter_nesting_max: int = 64
    """How deep parentheses and nots may nest in a filter's text."""

    filter_boxes_max: int = 1024
    """How many boxes a filter may need when it is written as a union of boxes."""

    filter_patterns_max: int = 64
    """How many text patterns (like, suffix, contains) one conjunction may put on one attribute."""

    filter_work_max: int = 16_000
    """How many pairs of boxes are compared, at most, while a text is read; a pair with text
    patterns counts more (`sapwood.filters.box.weight`). Some tens of milliseconds."""

    attribute_name_chars_max: int = 255
    """Length of an attribute's name, in characters."""

    text_bytes_max: int = 64 * 1024
    """Length of one text value, in bytes of UTF-8."""

    attributes_max: int = 1024
    """Number of attributes of one notification."""


DEFAULT_LIMITS = Limits()
"""The limits used where none are given."""

PRIME_BOXES_MAX = 128
"""How many maximal boxes a filter may have for its canonical form to be unique."""

CANONICAL_WORK_MAX = 5_000
"""How many pairs of boxes are compared, at most, for one canonical form; those with text patterns
count more."""

COVER_WORK_MAX = 10_000
"""How many pairs of boxes are compared, at most, to see whether a union covers another; those with
text patterns count more."""

OVERLAP_WORK_MAX = 50_000
"""How many pairs of boxes are looked at, at most, to see whether two unions overlap."""

MERGE_BOXES_MAX = 64
"""How many boxes two filters may have together for their union to be looked at as a merger."""
