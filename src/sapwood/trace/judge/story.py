"""The story of one notification: everything the trace tells about it, in the order of time.

A count says that something was lost; the story shows where: each hop with the table row that sent
it there, what the clients concerned had asked for by then, and the faults in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sapwood.errors import TraceError
from sapwood.filters import NotificationId
from sapwood.trace.judge.causes import Key
from sapwood.trace.judge.declarations import DECLARATION_KINDS, in_time
from sapwood.trace.schema import (
    ADVERTISED,
    DELIVERED,
    DROPPED,
    FAULT,
    FORWARDED,
    PUBLISHED,
    RECONFIGURED,
    SETTLED,
    TRACE_GAP,
    UNADVERTISED,
    Row,
)

_OWN = (PUBLISHED, FORWARDED, DELIVERED, DROPPED)
_WEATHER = (FAULT, RECONFIGURED, TRACE_GAP)


def story(
    rows: Iterable[Row], notification: NotificationId | str, client: str | None = None
) -> str:
    """Everything about a notification, a line for each row, each run by itself.

    That is its hops; the subscriptions of `client`, or, if none is given, of every client that it
    was delivered to; the advertisements of its publisher; and faults, changes of the tree and
    gaps of the trace, from the time of its first row to that of its last. `rows` are gone
    through once.
    """
    key = _key(notification)
    runs: dict[str, _Told] = {}
    for row in rows:
        runs.setdefault(row.run, _Told(key)).add(row)
    told = {run: lines for run, found in runs.items() if (lines := found.lines(client))}
    if not told:
        return f"The trace has no row about notification {notification}."
    parts = [
        "\n".join([f"Notification {notification} in run {run!r}:", *told[run]])
        for run in sorted(told)
    ]
    return "\n\n".join(parts)


def _key(notification: NotificationId | str) -> Key:
    text = str(notification)
    publisher, colon, sequence = text.rpartition(":")
    if not colon or not publisher or not sequence.isdecimal():
        raise TraceError(f"{text!r} is no notification id such as alice.3:17")
    return publisher, int(sequence)


class _Told:
    """The rows of one run that may belong to the story."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self._own: list[Row] = []
        self._declarations: list[Row] = []
        self._weather: list[Row] = []

    def add(self, row: Row) -> None:
        if row.kind in DECLARATION_KINDS:
            self._declarations.append(row)
        elif row.kind in _WEATHER:
            self._weather.append(row)
        elif (row.publisher, row.sequence) == self._key:
            self._own.append(row)

    def lines(self, client: str | None) -> list[str]:
        """The story, nothing if the notification does not occur."""
        if not self._own:
            return []
        rows = [*self._own, *self._of_clients(client), *self._meanwhile()]
        rows.sort(key=in_time)
        return [_line(row) for row in rows]

    def _of_clients(self, client: str | None) -> Iterator[Row]:
        concerned = {row.client for row in self._own if row.kind == DELIVERED}
        if client is not None:
            concerned = {client}
        for row in self._declarations:
            of_publisher = row.client == self._key[0] and (
                row.kind in {ADVERTISED, UNADVERTISED}
                or (row.kind == SETTLED and row.message == ADVERTISED)
            )
            if of_publisher or row.client in concerned:
                yield row

    def _meanwhile(self) -> Iterator[Row]:
        first, last = min(row.at for row in self._own), max(row.at for row in self._own)
        return (row for row in self._weather if first <= row.at <= last)


def _line(row: Row) -> str:
    where = f"{row.broker}.{row.session}"
    return f"  {row.at:>14.6f}  {where:<10} #{row.step:<8} {row.kind:<12} {_details(row)}".rstrip()


def _details(row: Row) -> str:
    """What the row says beyond when, where and what, in the order of a sentence."""
    parts = []
    if row.kind == PUBLISHED:
        parts.append(f"by {row.publisher}")
    elif row.client is not None:
        parts.append(f"to {row.client}" if row.kind == DELIVERED else f"by {row.client}")
    if row.client_order is not None:
        parts.append(f"as its event {row.client_order}")
    if row.source is not None:
        parts.append(f"from {row.source}")
    if row.target is not None and row.target != row.client:
        parts.append(f"to {row.target}")
    if row.message is not None:
        parts.append(f"({row.message})")
    parts += [text for text in (row.filter, row.attributes) if text is not None]
    parts += [f"{name}={value}" for name, value in sorted((row.extra or {}).items())]
    return " ".join(parts)
