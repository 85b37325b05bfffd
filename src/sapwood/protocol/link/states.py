"""The states of links, as tables: what may happen in which state, and what follows.

One table for a line (a connection), one for a target (an address that is to be joined), one for
the session of a client. The code asks the tables; the diagrams in the documentation are made from
them (``python tools/diagrams.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias, TypeVar


class LineState(StrEnum):
    """Where a connection is in its life."""

    GREETING = "greeting"
    """The other side dialled, and has not introduced itself."""
    EXAMINING = "examining"
    """It has, and waits for the answer."""
    CALLING = "calling"
    """This side dialled and introduced itself, and waits for the answer."""
    OPEN = "open"
    """Both sides exchange frames."""
    CLOSING = "closing"
    """The last message was sent; nothing that comes is looked at."""


class TargetState(StrEnum):
    """How far the link to an address is that was to be joined."""

    WAITING = "waiting"
    """For the time of the next attempt."""
    QUEUED = "queued"
    """For another attempt to end: only one new way into the tree is looked for at a time."""
    DIALING = "dialing"
    CALLING = "calling"
    LINKED = "linked"
    GIVEN_UP = "given up"


class SessionState(StrEnum):
    """How far a client's session is."""

    IDLE = "idle"
    """Nothing was tried yet."""
    DIALING = "dialing"
    CALLING = "calling"
    CONNECTED = "connected"
    WAITING = "waiting"
    """No server could be reached; the next attempt has its time."""
    CLOSING = "closing"
    """Goodbye was said."""
    FAILED = "failed"
    """The network does not want this client, and says why."""
    CLOSED = "closed"


State = TypeVar("State", bound=StrEnum)
Table: TypeAlias = Mapping[State, Mapping[str, State]]

LINE: Final[Table[LineState]] = {
    LineState.GREETING: {
        "Hello": LineState.EXAMINING,
        "end": LineState.CLOSING,
    },
    LineState.EXAMINING: {
        "admit": LineState.OPEN,
        "Goodbye": LineState.CLOSING,
        "end": LineState.CLOSING,
    },
    LineState.CALLING: {
        "Welcome": LineState.OPEN,
        "Goodbye": LineState.CLOSING,
        "end": LineState.CLOSING,
    },
    LineState.OPEN: {
        "frames": LineState.OPEN,
        "Ack": LineState.OPEN,
        "GivenUp": LineState.OPEN,
        "Check": LineState.OPEN,
        "Ping": LineState.OPEN,
        "Pong": LineState.OPEN,
        "Beacon": LineState.OPEN,
        "Goodbye": LineState.CLOSING,
        "end": LineState.CLOSING,
    },
    LineState.CLOSING: {},
}

TARGET: Final[Table[TargetState]] = {
    TargetState.WAITING: {
        "due": TargetState.QUEUED,
        "found": TargetState.LINKED,
    },
    TargetState.QUEUED: {
        "turn": TargetState.DIALING,
        "found": TargetState.LINKED,
    },
    TargetState.DIALING: {
        "connected": TargetState.CALLING,
        "failed": TargetState.WAITING,
        "refused for good": TargetState.GIVEN_UP,
    },
    TargetState.CALLING: {
        "welcome": TargetState.LINKED,
        "found": TargetState.LINKED,
        "failed": TargetState.WAITING,
        "refused for good": TargetState.GIVEN_UP,
    },
    TargetState.LINKED: {
        "lost": TargetState.WAITING,
    },
    TargetState.GIVEN_UP: {},
}

SESSION: Final[Table[SessionState]] = {
    SessionState.IDLE: {
        "open": SessionState.DIALING,
        "close": SessionState.CLOSED,
    },
    SessionState.DIALING: {
        "connected": SessionState.CALLING,
        "failed": SessionState.DIALING,
        "all failed": SessionState.WAITING,
        "refused for good": SessionState.FAILED,
        "close": SessionState.CLOSED,
    },
    SessionState.CALLING: {
        "welcome": SessionState.CONNECTED,
        "failed": SessionState.DIALING,
        "all failed": SessionState.WAITING,
        "refused for good": SessionState.FAILED,
        "close": SessionState.CLOSED,
    },
    SessionState.CONNECTED: {
        "lost": SessionState.DIALING,
        "sent away": SessionState.FAILED,
        "close": SessionState.CLOSING,
    },
    SessionState.WAITING: {
        "due": SessionState.DIALING,
        "too late": SessionState.FAILED,
        "close": SessionState.CLOSED,
    },
    SessionState.CLOSING: {
        "gone": SessionState.CLOSED,
    },
    SessionState.FAILED: {},
    SessionState.CLOSED: {},
}


def following(table: Table[State], state: State, what: str) -> State | None:
    """The state after something has happened; None if it cannot happen in this one."""
    return table[state].get(what)
