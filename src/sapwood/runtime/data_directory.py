"""What a broker keeps for its next start, in its data directory.

The session number is larger at every start, so that no id is ever used twice. That it was part of
its network says that the addresses it joins are right, however long nobody answers there. Who its
neighbours were says for whom it has to wait after a restart, before it takes part again.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import msgspec

from sapwood.errors import ListenError
from sapwood.protocol.ports import Remember
from sapwood.runtime.config.settings import Settings


class _Kept(msgspec.Struct):
    """The file about neighbours."""

    sessions: dict[str, int]
    parent: str = ""


class DataDirectory:
    """The data directory of one broker; without one nothing is kept."""

    def __init__(self, settings: Settings) -> None:
        self._folder = Path(settings.data) if settings.data else None
        network = settings.network.encode().hex()
        self._part_file = f"part-of-{network}"
        self._neighbours_file = f"neighbours-in-{network}"
        self.former = 0
        """The number of the last session, once there is a next one; 0 if it is not known."""

    def next_session(self) -> int:
        """A number that is larger than those of all earlier starts of this broker.

        Without a directory the time will do, in milliseconds; it is the least number in the other
        case too, so that a lost directory does no harm.
        """
        now = time.time_ns() // 1_000_000
        if self._folder is None:
            return now
        path = self._folder / "session"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            last = int(path.read_text()) if path.exists() else 0
            session = max(last + 1, now)
            self.former = last
            _write(path, f"{session}\n")
        except (OSError, ValueError) as problem:
            raise ListenError(f"the session number cannot be kept in {path}: {problem}") from None
        return session

    @property
    def was_part(self) -> bool:
        """Whether this broker was part of its network before, as far as it is known here."""
        return self._folder is not None and (self._folder / self._part_file).exists()

    def note_part(self) -> None:
        """This broker is part of its network now. If that cannot be kept, it is asked again."""
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / self._part_file).touch()

    @property
    def neighbours(self) -> Remember:
        """Who the neighbours of the last session were; nobody if that cannot be read."""
        if self._folder is None:
            return Remember(())
        try:
            data = (self._folder / self._neighbours_file).read_bytes()
            kept = msgspec.json.decode(data, type=_Kept)
        except (OSError, msgspec.DecodeError):
            return Remember(())
        return Remember(tuple(kept.sessions), tuple(kept.sessions.values()), kept.parent)

    def note_neighbours(self, neighbours: Remember) -> None:
        """Keep who the neighbours are. If that cannot be kept, nobody is waited for."""
        if self._folder is not None:
            sessions = dict(zip(neighbours.neighbours, neighbours.sessions, strict=True))
            with suppress(OSError):
                text = msgspec.json.encode(_Kept(sessions, neighbours.parent)).decode()
                _write(self._folder / self._neighbours_file, text)


def _write(path: Path, text: str) -> None:
    """Replace a file as a whole, so that a crash leaves the old one or the new one."""
    making = path.with_suffix(".tmp")
    making.write_text(text)
    making.replace(path)
