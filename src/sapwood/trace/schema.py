"""What a row of a trace holds: the columns, the kinds, and what a file says about itself.

The columns are a contract (docs/reference/traces.md): brokers, the simulator, the audit on Spark
and people's own tools agree on them. A row is one event at one broker session.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from sapwood.errors import TraceError

TRACE_VERSION: Final = "1"
"""What new files say. A reader takes every minor version of its major one: 1, 1.0, 1.7."""

SETTLE_SECONDS_DEFAULT: Final = 2.0
"""The settling time where neither the caller nor a file states one."""

# --- kinds ----------------------------------------------------------------------------------

PUBLISHED: Final = "published"
FORWARDED: Final = "forwarded"
DELIVERED: Final = "delivered"
DROPPED: Final = "dropped"
SUBSCRIBED: Final = "subscribed"
SETTLED: Final = "settled"
UNSUBSCRIBED: Final = "unsubscribed"
ADVERTISED: Final = "advertised"
UNADVERTISED: Final = "unadvertised"
CONTROL: Final = "control"
RECONFIGURED: Final = "reconfigured"
EDGE_SWITCHED: Final = "edge_switched"
FAULT: Final = "fault"
TRACE_GAP: Final = "trace_gap"
CLOCK: Final = "clock"
LOGIN: Final = "login"

KINDS: Final = (
    PUBLISHED,
    FORWARDED,
    DELIVERED,
    DROPPED,
    SUBSCRIBED,
    SETTLED,
    UNSUBSCRIBED,
    ADVERTISED,
    UNADVERTISED,
    CONTROL,
    RECONFIGURED,
    EDGE_SWITCHED,
    FAULT,
    TRACE_GAP,
    CLOCK,
    LOGIN,
)
"""The kinds known today. Others are read, kept and left alone."""

# --- columns --------------------------------------------------------------------------------

COLUMNS: Final = {
    "run": "string",
    "broker": "string",
    "session": "int64",
    "step": "int64",
    "at": "double",
    "kind": "string",
    "publisher": "string",
    "sequence": "int64",
    "client": "string",
    "client_order": "int64",
    "source": "string",
    "target": "string",
    "message": "string",
    "bytes": "int64",
    "attributes": "string",
    "filter": "string",
}
"""Name and type of every column, in the order in which they are written."""

REQUIRED: Final = ("run", "broker", "session", "step", "at", "kind")
"""Columns without which a row means nothing; all others may be null or missing."""

# --- file metadata --------------------------------------------------------------------------

VERSION_KEY: Final = "sapwood.trace.version"
SETTLE_KEY: Final = "sapwood.trace.settle_seconds"
ADVERTISEMENTS_KEY: Final = "sapwood.trace.advertisements"
ADVERTISEMENTS_REQUIRED: Final = "required"
ADVERTISEMENTS_OFF: Final = "off"

Place: TypeAlias = tuple[str, str, int, int]
"""Where a row stands: run, broker, session, step. No two rows share one."""


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One event, recorded by one broker session.

    >>> Row(run="r", broker="B1", session=1, step=7, at=0.5, kind="clock").place
    ('r', 'B1', 1, 7)
    """

    run: str
    broker: str
    session: int
    step: int
    at: float
    kind: str
    publisher: str | None = None
    sequence: int | None = None
    client: str | None = None
    client_order: int | None = None
    source: str | None = None
    target: str | None = None
    message: str | None = None
    bytes: int | None = None
    attributes: str | None = None
    filter: str | None = None
    extra: dict[str, Any] | None = None
    """Columns that this version does not know, by name, without those that are null."""

    @property
    def place(self) -> Place:
        """Where the row stands: run, broker, session, step."""
        return (self.run, self.broker, self.session, self.step)

    @property
    def notification(self) -> str | None:
        """The id of the notification the row is about, as ``publisher:sequence``."""
        if self.publisher is None or self.sequence is None:
            return None
        return f"{self.publisher}:{self.sequence}"

    def describe(self) -> str:
        """The row in a few words, for messages: which, when and what."""
        return f"row {self.step} of {self.broker}.{self.session} in run {self.run!r} ({self.kind})"


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be known of a run to judge it; files carry it in their metadata."""

    settle_seconds: float | None = None
    """How long a change takes at most to be in effect everywhere; None if nobody said."""

    advertisements_required: bool = False
    """Whether publishers had to advertise before they publish."""

    def __post_init__(self) -> None:
        if self.settle_seconds is not None:
            check_settle(self.settle_seconds)

    def metadata(self) -> dict[str, str]:
        """What a file with rows of such a run says about itself."""
        required = ADVERTISEMENTS_REQUIRED if self.advertisements_required else ADVERTISEMENTS_OFF
        said = {VERSION_KEY: TRACE_VERSION, ADVERTISEMENTS_KEY: required}
        if self.settle_seconds is not None:
            said[SETTLE_KEY] = repr(float(self.settle_seconds))
        return said

    def joined(self, other: RunSettings) -> RunSettings:
        """What holds of a run of which two files say this and that: the more careful of both."""
        stated = [s.settle_seconds for s in (self, other) if s.settle_seconds is not None]
        return RunSettings(
            settle_seconds=max(stated, default=None),
            advertisements_required=self.advertisements_required or other.advertisements_required,
        )


def check_settle(seconds: float) -> float:
    """Refuse a settling time that is no time; give it back otherwise."""
    if not 0 <= seconds < float("inf"):
        raise TraceError(f"the settling time is {seconds!r} s; it is a number from 0 up")
    return seconds
