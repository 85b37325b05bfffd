"""Names that survive restarts: sessions, and notifications by session and count.

A client or a broker keeps its name for life; with every start its session number grows. A
notification is named after the session that published it and its place in what that session
published, so no name is ever used twice, whatever crashes and comes back.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from sapwood.errors import InvalidIdError
from sapwood.filters.values import shorten

_SESSION_SEPARATOR = "."
_SEQUENCE_SEPARATOR = ":"


class SessionId(msgspec.Struct, frozen=True, order=True, gc=False):
    """One life of a client or broker: its name and how many times it has started.

    >>> str(SessionId("alice", 3))
    'alice.3'
    """

    name: str
    session: int

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_count(self.session, "session", minimum=0)

    @classmethod
    def parse(cls, text: str) -> SessionId:
        """Read what ``str()`` writes."""
        name, number = _split(text, _SESSION_SEPARATOR, "session id such as alice.3")
        return cls(name, number)

    def __str__(self) -> str:
        return f"{self.name}{_SESSION_SEPARATOR}{self.session}"


class NotificationId(msgspec.Struct, frozen=True, order=True, gc=False):
    """The name of a notification: the publishing client's session and its count from 1.

    >>> str(NotificationId("alice.3", 17))
    'alice.3:17'
    """

    publisher: str
    sequence: int

    def __post_init__(self) -> None:
        _check_is_text(self.publisher)
        _check_publisher(self.publisher)
        _check_count(self.sequence, "sequence", minimum=1)

    @classmethod
    def parse(cls, text: str) -> NotificationId:
        """Read what ``str()`` writes."""
        publisher, number = _split(text, _SEQUENCE_SEPARATOR, "notification id such as alice.3:17")
        return cls(publisher, number)

    @property
    def session(self) -> SessionId:
        """The publishing client's session, in its parts."""
        return SessionId.parse(self.publisher)

    def __str__(self) -> str:
        return f"{self.publisher}{_SEQUENCE_SEPARATOR}{self.sequence}"


@lru_cache(maxsize=1024)
def _check_publisher(text: str) -> None:
    """Refuse what is no session; remembered, since a publisher publishes more than once."""
    SessionId.parse(text)


def _split(text: str, separator: str, what: str) -> tuple[str, int]:
    """The part before the last separator, and the number after it."""
    _check_is_text(text)
    front, found, digits = text.rpartition(separator)
    canonical = digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")
    if not found or not front or not canonical or len(digits) > 19:
        raise InvalidIdError(f"{shorten(text)} is no {what}")
    return front, int(digits)


def _check_name(name: str) -> None:
    _check_is_text(name)
    if not name or not name.isprintable() or any(character.isspace() for character in name):
        raise InvalidIdError(
            f"{shorten(name)} is no name; it needs printable characters without spaces"
        )


def _check_is_text(text: Any) -> None:
    if type(text) is not str:
        raise InvalidIdError(f"expected a text, not {type(text).__name__}: {text!r}")


def _check_count(count: Any, what: str, minimum: int) -> None:
    if type(count) is not int or not minimum <= count < 2**63:
        raise InvalidIdError(f"the {what} is {count!r}; it is an integer from {minimum} to 2**63-1")
