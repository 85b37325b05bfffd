"""Which filters match which notification, each pair evaluated once.

Filters and attributes come as text from the trace. A trace has far fewer different filters than
subscriptions, and often fewer different attributes than notifications, so both get a memory.

This layer does not know the matching engine. Who does may hand in a `Finder`, which for large
traces is much quicker than asking every filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from sapwood.errors import FilterError, InvalidNotificationError, TraceRowError
from sapwood.filters import Filter, Notification, Value
from sapwood.trace.schema import Row

Finder: TypeAlias = Callable[[Notification], Iterable[int]]
"""From a notification to the positions of the filters that match it."""

FinderMaker: TypeAlias = Callable[[Sequence[Filter]], Finder]
"""Makes a finder for these filters."""

_decode = msgspec.json.Decoder(dict[str, bool | int | float | str]).decode


class FilterBook:
    """Numbers the filters of a trace by meaning, and remembers what matched.

    Two texts of the same meaning have one number: a subscription may be cancelled in other words
    than it was made in.
    """

    def __init__(self, make_finder: FinderMaker | None = None) -> None:
        self._make_finder = make_finder
        self._finder: Finder | None = None
        self._filters: list[Filter] = []
        self._number_of_text: dict[str, int] = {}
        self._number_of_id: dict[str, int] = {}
        self._notifications: dict[str, Notification] = {}
        self._matches: dict[tuple[int, str], bool] = {}
        self._matching: dict[str, frozenset[int]] = {}

    def number(self, row: Row) -> int:
        """The number of the filter a row is about."""
        if row.filter is None:
            raise TraceRowError(f"{row.describe()} has no filter")
        number = self._number_of_text.get(row.filter)
        if number is None:
            number = self._number_of_text[row.filter] = self._enter(row, row.filter)
        return number

    def matches(self, number: int, published: Row) -> bool:
        """Whether one filter matches the notification that the row published."""
        assert published.attributes is not None
        key = (number, published.attributes)
        found = self._matches.get(key)
        if found is None:
            found = self._filters[number].matches(self._notification(published))
            self._matches[key] = found
        return found

    def matching(self, published: Row) -> frozenset[int]:
        """The numbers of all filters that match the notification that the row published."""
        assert published.attributes is not None
        found = self._matching.get(published.attributes)
        if found is None:
            notification = self._notification(published)
            found = self._matching[published.attributes] = frozenset(self._find(notification))
        return found

    def _enter(self, row: Row, text: str) -> int:
        try:
            filter = Filter(text)
        except FilterError as error:
            raise TraceRowError(f"{row.describe()}: {error.summary}") from error
        number = self._number_of_id.setdefault(filter.id, len(self._filters))
        if number == len(self._filters):
            self._filters.append(filter)
            self._matching.clear()
            self._finder = None
        return number

    def _find(self, notification: Notification) -> Iterable[int]:
        if self._make_finder is None:
            filters = enumerate(self._filters)
            return [number for number, filter in filters if filter.matches(notification)]
        if self._finder is None:
            self._finder = self._make_finder(self._filters)
        return self._finder(notification)

    def _notification(self, published: Row) -> Notification:
        text = published.attributes or ""
        known = self._notifications.get(text)
        if known is None:
            known = self._notifications[text] = _parse(published, text)
        return known


def _parse(published: Row, text: str) -> Notification:
    try:
        attributes: dict[str, Value] = _decode(text)
        return Notification(attributes)
    except (msgspec.DecodeError, InvalidNotificationError) as error:
        raise TraceRowError(f"{published.describe()} has wrong attributes: {error}") from error
