"""Filters and notifications: values, and the algebra on them.

A `Filter` says which notifications someone wants; filters can be compared (covers, overlaps,
equivalent) and merged. A `Notification` is what is published. Nothing in this package does I/O,
reads a clock or draws a random number.

Filters come from text, or from constraints made by the functions below::

    Filter("price > 100 and symbol = 'IBM'")
    Filter.all_of({"price": greater_than(100), "symbol": equal("IBM")})
"""

from __future__ import annotations

from sapwood.filters.bloom import BloomFilter
from sapwood.filters.box import Box
from sapwood.filters.constraint import (
    ANY_BOOL,
    ANY_NUMBER,
    ANY_TEXT,
    ANYTHING,
    MISSING,
    NOTHING,
    PRESENT,
    Constraint,
)
from sapwood.filters.filter import Filter
from sapwood.filters.ids import NotificationId, SessionId
from sapwood.filters.kinds import (
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
from sapwood.filters.limits import DEFAULT_LIMITS, Limits
from sapwood.filters.notification import Notification, attributes_of
from sapwood.filters.pattern import Pattern
from sapwood.filters.text_set import TextSet
from sapwood.filters.values import Value, check_attributes, check_name, check_value

__all__ = [
    "ANYTHING",
    "ANY_BOOL",
    "ANY_NUMBER",
    "ANY_TEXT",
    "DEFAULT_LIMITS",
    "MISSING",
    "NOTHING",
    "PRESENT",
    "BloomFilter",
    "Box",
    "Constraint",
    "Filter",
    "Limits",
    "Notification",
    "NotificationId",
    "Pattern",
    "SessionId",
    "TextSet",
    "Value",
    "at_least",
    "at_most",
    "attributes_of",
    "between",
    "check_attributes",
    "check_name",
    "check_value",
    "contains",
    "equal",
    "greater_than",
    "less_than",
    "like",
    "none_of",
    "not_between",
    "not_equal",
    "one_of",
    "prefix",
    "suffix",
]
