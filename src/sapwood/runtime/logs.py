"""The log of a broker: one line for each thing an operator may ask about later, on stderr.

What is worth a line is decided by the node (``sapwood.protocol.link.notes``); here it gets its time
and its form, and a bound: a neighbour whose link flaps, or a stranger who knocks all day, must not
fill a disk. Of each kind of event a burst is written, then so many a minute; how many were left out
is said with the next one that is written.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from sapwood.protocol.ports import Level

LEVELS: Final[dict[str, int]] = {"debug": 0, "info": 1, "warning": 2, "error": 3, "off": 4}
"""From the least important to nothing at all."""

BURST: Final = 20
"""Lines about one kind of event that may follow each other at once."""

LINES_PER_SECOND: Final = 0.5
"""How often a line about the same kind of event is written in the long run."""

_OWN_KEYS: Final = ("time", "level", "broker", "event")

Write = Callable[[str], None]
Form = Callable[[datetime, str, str, str, Mapping[str, Any]], str]


class Allowance:
    """Lines that may still be written about one kind of event."""

    __slots__ = ("_at", "_left", "left_out")

    def __init__(self, at: float) -> None:
        self._left = float(BURST)
        self._at = at
        self.left_out = 0

    def takes(self, at: float) -> bool:
        """Whether a line may be written now."""
        passed = max(0.0, at - self._at)
        self._left = min(float(BURST), self._left + passed * LINES_PER_SECOND)
        self._at = at
        if self._left < 1.0:
            self.left_out += 1
            return False
        self._left -= 1.0
        return True


class Log:
    """Writes lines about one broker."""

    def __init__(
        self,
        broker: str,
        level: str,
        form: str,
        now: Callable[[], float],
        write: Write,
    ) -> None:
        self._broker = broker
        self._level = LEVELS[level]
        self._form = FORMS[form]
        self._now = now
        self._write = write
        self._allowances: dict[str, Allowance] = {}

    @property
    def is_kept(self) -> bool:
        """Whether anything is written at all."""
        return self._level < LEVELS["off"]

    def note(self, level: Level, event: str, fields: Mapping[str, Any]) -> None:
        """Write a line, if its level is wanted and there were not too many of its kind."""
        if LEVELS[level] < self._level:
            return
        at = self._now()
        allowance = self._allowances.get(event)
        if allowance is None:
            allowance = self._allowances[event] = Allowance(at)
        if not allowance.takes(at):
            return
        if allowance.left_out:
            fields = {**fields, "left_out_before": allowance.left_out}
            allowance.left_out = 0
        time = datetime.fromtimestamp(at, UTC)
        self._write(self._form(time, level, self._broker, event, fields))


def as_text(time: datetime, level: str, broker: str, event: str, fields: Mapping[str, Any]) -> str:
    """A line for people: ``2026-01-31T23:59:59.999Z WARNING B1 link lost peer=B2 reason="…"``."""
    told = "".join(f" {name}={_shown(value)}" for name, value in fields.items())
    return f"{_stamp(time)} {level.upper():<7} {broker} {event}{told}"


def as_json(time: datetime, level: str, broker: str, event: str, fields: Mapping[str, Any]) -> str:
    """The same as one JSON object; a field with the name of one of ours gets a line behind it."""
    told = {f"{name}_" if name in _OWN_KEYS else name: value for name, value in fields.items()}
    line = {"time": _stamp(time), "level": level, "broker": broker, "event": event, **told}
    return json.dumps(line, ensure_ascii=False, default=str)


FORMS: Final[dict[str, Form]] = {"text": as_text, "json": as_json}


def _stamp(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(value: object) -> str:
    """A value that can be told apart from the next one, on one line whatever is in it."""
    text = str(value)
    if text and all(one.isprintable() and one not in ' "=' for one in text):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def to_stderr(line: str) -> None:
    """Write a line, unless that would make the broker wait.

    A log that nobody reads any more, be it a pipe that is closed or one that is full, must not stop
    a broker: what finds no room is left out. Up to `PIPE_BUF` bytes are written at once or not at
    all, and a pipe counts as ready only if there is room for that many.
    """
    data = f"{line}\n".encode(errors="backslashreplace")
    if len(data) > select.PIPE_BUF:
        data = data[: select.PIPE_BUF - 1] + b"\n"
    with suppress(OSError, ValueError):
        number = sys.stderr.fileno()
        sys.stderr.flush()
        if select.select([], [number], [], 0.0)[1]:
            os.write(number, data)
