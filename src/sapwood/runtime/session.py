"""What a broker keeps for its next start, in its data directory.

The session number is larger at every start, so that no id is ever used twice. That it was part of
its network says that the addresses it joins are right, however long nobody answers there.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from sapwood.errors import ListenError
from sapwood.runtime.config.settings import Settings


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


def was_part(settings: Settings) -> bool:
    """Whether this broker was part of its network before, as far as it is known here."""
    return bool(settings.data) and _mark(settings).exists()


def note_part(settings: Settings) -> None:
    """This broker is part of its network now. If that cannot be kept, it is asked again."""
    if settings.data:
        with suppress(OSError):
            _mark(settings).touch()


def _mark(settings: Settings) -> Path:
    return Path(settings.data) / f"part-of-{settings.network.encode().hex()}"
