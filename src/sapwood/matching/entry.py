"""What every index of filters is asked and given: keys, entries, notifications."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from sapwood.errors import DuplicateKeyError, FilterTypeError
from sapwood.filters.filter import Filter
from sapwood.filters.notification import Notification, attributes_of
from sapwood.filters.values import Value

Key = TypeVar("Key", bound=Hashable)
Event: TypeAlias = Notification | Mapping[str, Value]


class IndexEntry(NamedTuple, Generic[Key]):
    """A filter under a key, on behalf of a destination or of none."""

    key: Key
    filter: Filter
    destination: Hashable


def check_new(key: object, filter: object, known: Container[object]) -> None:
    """Refuse a key that is known already, and what is no filter."""
    if key in known:
        raise DuplicateKeyError(f"the key {key!r} is in the index already; remove it first")
    if not isinstance(filter, Filter):
        raise FilterTypeError(
            f"expected a Filter, not {type(filter).__name__}; Filter(…) makes one"
        )


def plain(event: Event) -> dict[str, Value]:
    """The attributes of a notification, checked, as a dictionary."""
    attributes = attributes_of(event)
    return attributes if type(attributes) is dict else dict(attributes)
