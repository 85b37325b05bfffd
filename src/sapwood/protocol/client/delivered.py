"""A notification as it came from the network: taken apart when somebody looks at it.

Programs often look at one attribute, or at the payload alone. Taking a notification apart costs
several times as much as receiving it, so each part is decoded when it is first asked for.
"""

from __future__ import annotations

from typing import Any, Final

from sapwood.filters.ids import NotificationId
from sapwood.filters.notification import Notification
from sapwood.wire.frames import decode_envelope, decode_head

_SEQUENCE_SIZE: Final = 8
"""Bytes at the beginning of the body that hold the number."""


class Delivered(Notification):
    """A notification from the network; it has an id and a time.

    Bytes that are no notification are found out when they are looked at, as a FrameError: a broker
    lets none through.
    """

    __slots__ = ("_body", "_expires_at", "_head", "_published_at")

    def __init__(self, head: bytes, body: bytes) -> None:
        # Not the base's: its parts are filled in by __getattr__.
        self._head = head
        self._body = body

    def __getattr__(self, name: str) -> Any:
        """Fill in what is not there yet; Python asks here only for what is missing."""
        if name == "_attributes":
            _, self._attributes = decode_head(self._head)
        elif name == "_id":
            publisher, self._attributes = decode_head(self._head)
            self._id = NotificationId(publisher, decode_envelope(self._body).sequence)
        elif name in {"_payload", "_published_at", "_expires_at"}:
            envelope = decode_envelope(self._body)
            self._payload = envelope.payload
            self._published_at = envelope.published_at
            self._expires_at = envelope.expires_at
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return object.__getattribute__(self, name)

    @property
    def id(self) -> NotificationId:
        """Publisher and sequence number."""
        found: NotificationId = self._id  # type: ignore[assignment]
        return found

    @property
    def sequence(self) -> int:
        """The number among those of its publisher, without decoding anything else."""
        return int.from_bytes(self._body[:_SEQUENCE_SIZE], "little")

    @property
    def published_at(self) -> float:
        """When it was published, by the publisher's clock: seconds since 1970."""
        found: float = self._published_at
        return found

    @property
    def expires_at(self) -> float:
        """When it expires; zero if it does not."""
        found: float = self._expires_at
        return found
