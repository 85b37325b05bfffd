"""Notifications: what clients publish.

A notification is a set of named attributes, which filters look at, and a payload, which nobody
looks at. Whatever takes a notification takes a plain mapping of attributes as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sapwood.errors import UnsupportedTypeError
from sapwood.filters.ids import NotificationId
from sapwood.filters.limits import DEFAULT_LIMITS, Limits
from sapwood.filters.values import Value, check_attributes


class Notification(Mapping[str, Value]):
    """Attributes, a payload and, once published, an id; checked when it is made.

    >>> quote = Notification({"symbol": "IBM", "price": 120.5})
    >>> quote["price"], "volume" in quote, len(quote)
    (120.5, False, 2)
    """

    __slots__ = ("_attributes", "_id", "_payload")

    def __init__(
        self,
        attributes: Mapping[str, Value],
        payload: bytes = b"",
        id: NotificationId | None = None,  # noqa: A002 - the name of the property
        *,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        check_attributes(attributes, limits)
        if not isinstance(payload, bytes):
            raise UnsupportedTypeError(
                f"the payload is of type {type(payload).__name__}; it must be bytes"
            )
        if id is not None and not isinstance(id, NotificationId):
            raise UnsupportedTypeError(
                f"the id is of type {type(id).__name__}; it must be a NotificationId or None"
            )
        self._attributes = dict(attributes)
        self._payload = payload
        self._id = id

    @property
    def attributes(self) -> Mapping[str, Value]:
        """The attributes, not to be changed."""
        return self._attributes

    @property
    def payload(self) -> bytes:
        """The opaque part."""
        return self._payload

    @property
    def id(self) -> NotificationId | None:
        """Publisher and sequence number; None before it is published."""
        return self._id

    def __getitem__(self, name: str) -> Value:
        return self._attributes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def __contains__(self, name: object) -> bool:
        return name in self._attributes

    def __eq__(self, other: object) -> bool:
        """Equal in attributes, payload and id; ``true`` is not 1."""
        if not isinstance(other, Notification):
            return NotImplemented
        return (
            self._id == other._id
            and self._payload == other._payload
            and _typed(self._attributes) == _typed(other._attributes)
        )

    def __hash__(self) -> int:
        return hash((self._id, self._payload, frozenset(self._attributes.items())))

    def __repr__(self) -> str:
        parts = [repr(self._attributes)]
        if self._payload:
            parts.append(f"payload=<{len(self._payload)} bytes>")
        if self._id is not None:
            parts.append(f"id={str(self._id)!r}")
        return f"Notification({', '.join(parts)})"


def attributes_of(notification: Notification | Mapping[str, Value]) -> Mapping[str, Value]:
    """The attributes of a notification, or of a plain mapping after a check; never a copy."""
    if type(notification) is Notification:
        return notification.attributes
    return check_attributes(notification)


def _typed(attributes: Mapping[str, Value]) -> dict[str, tuple[bool, Value]]:
    """Values that compare as filters compare them: Python thinks that True equals 1."""
    return {name: (type(value) is bool, value) for name, value in attributes.items()}
