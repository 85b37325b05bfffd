"""What a broker keeps for its next start, in its data directory.

The session number is larger at every start, so that no id is ever used twice. That it was part of
its network says that the addresses it joins are right, however long nobody answers there. Who its
neighbours were says for whom it has to wait after a restart, before it takes part again. Where
others can be reached is a hint, for the case that those it joins are gone for good.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from sapwood.errors import ListenError
from sapwood.protocol.ports import Hint, Remember, RememberBook
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.kept_files import KeptFiles, replace


class _Kept(msgspec.Struct):
    """The file about neighbours."""

    sessions: dict[str, int]
    parent: str = ""


class _Book(msgspec.Struct):
    """The file about the addresses of others."""

    written_at: float
    """When, by the clock of the machine."""
    hints: tuple[Hint, ...]


class DataDirectory:
    """The data directory of one broker; without one nothing is kept."""

    def __init__(self, settings: Settings, tell: Callable[[str], None] = lambda text: None) -> None:
        self._folder = Path(settings.data) if settings.data else None
        self._files = KeptFiles(self._folder, tell)
        network = settings.network.encode().hex()
        self._part_file = f"part-of-{network}"
        self._neighbours_file = f"neighbours-in-{network}"
        self._book_file = f"addresses-in-{network}"
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
            replace(path, f"{session}\n")
        except (OSError, ValueError) as problem:
            raise ListenError(f"the session number cannot be kept in {path}: {problem}") from None
        return session

    @property
    def was_part(self) -> bool:
        """Whether this broker was part of its network before, as far as it is known here."""
        return self._files.has(self._part_file)

    def note_part(self) -> None:
        """This broker is part of its network now. If that cannot be kept, it is asked again."""
        self._files.save(self._part_file, True)

    @property
    def neighbours(self) -> Remember:
        """Who the neighbours of the last session were; nobody if that cannot be read."""
        kept = self._files.load(self._neighbours_file, _Kept) or _Kept({})
        return Remember(tuple(kept.sessions), tuple(kept.sessions.values()), kept.parent)

    def note_neighbours(self, neighbours: Remember) -> None:
        """Keep who the neighbours are. If that cannot be kept, nobody is waited for."""
        sessions = dict(zip(neighbours.neighbours, neighbours.sessions, strict=True))
        self._files.save(self._neighbours_file, _Kept(sessions, neighbours.parent))

    @property
    def book(self) -> tuple[Hint, ...]:
        """Where others could be reached, and how long ago that was heard."""
        found = self._files.load(self._book_file, _Book) or _Book(0.0, ())
        since = max(0.0, time.time() - found.written_at)
        return tuple(msgspec.structs.replace(one, age=one.age + since) for one in found.hints)

    def note_book(self, effect: RememberBook) -> None:
        """Keep where others can be reached: a hint, so it may get lost."""
        self._files.save(self._book_file, _Book(time.time(), effect.hints))
