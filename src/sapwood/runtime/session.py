"""The session number of a broker: larger at every start, so that no id is ever used twice."""

from __future__ import annotations

import time
from pathlib import Path

from sapwood.errors import ListenError
from sapwood.runtime.settings import Settings


def next_session(settings: Settings) -> int:
    """A number that is larger than those of all earlier starts of this broker.

    Kept in the data directory, if there is one. Else the time will do, in milliseconds; it is the
    least number in the first case too, so that a lost directory does no harm.
    """
    now = time.time_ns() // 1_000_000
    if not settings.data:
        return now
    path = Path(settings.data) / "session"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        last = int(path.read_text()) if path.exists() else 0
        session = max(last + 1, now)
        making = path.with_suffix(".tmp")
        making.write_text(f"{session}\n")
        making.replace(path)
    except (OSError, ValueError) as problem:
        raise ListenError(f"the session number cannot be kept in {path}: {problem}") from None
    return session
