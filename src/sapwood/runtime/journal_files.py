"""The journal of a broker on disk: files of records, written and brought to disk by one thread.

The event loop hands bytes over and goes on. The thread writes them, and brings them to disk when
asked (`Sync`); what comes meanwhile waits, and goes with the next group. A file is called by its
number. One that cannot be read whole is no reason to go on without it: whoever starts the broker is
told which file, where in it, and what can be done.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeAlias

from sapwood.errors import JournalError
from sapwood.protocol.durable.records import JournalDamageError, Segment, decode_segment
from sapwood.protocol.ports import Append, Fetch, Sync, Trim

SUFFIX: Final = ".journal"
REMEDY: Final = (
    "restore it from a backup, or move the folder away to begin with an empty journal (what it "
    "keeps is lost then)"
)

Work: TypeAlias = Append | Sync | Fetch | Trim


class JournalFiles:
    """The files of one journal; one process at a time has them."""

    def __init__(
        self,
        folder: Path,
        synced: Callable[[int], None],
        fetched: Callable[[int, bytes], None],
        failed: Callable[[str], None],
    ) -> None:
        """`synced`, `fetched` and `failed` are called from the thread that writes."""
        self.folder = folder
        self._synced = synced
        self._fetched = fetched
        self._failed = failed
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._file = -1
        self._lock = -1

    # Reading

    def open(self) -> Iterator[Segment]:
        """Take possession, and read what there is; what a crash left unfinished is cut off.

        One segment after the other is in memory, not all of them.
        """
        with self._telling():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise JournalError(
                    f"{self.folder} is in use by another process; stop that, or choose another "
                    "data directory"
                ) from None
            paths = sorted(self.folder.glob(f"*{SUFFIX}"))
        return self._read(paths)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            what = problem.strerror or str(problem)
            raise JournalError(f"the journal in {self.folder} cannot be used: {what}") from None

    def _read(self, paths: list[Path]) -> Iterator[Segment]:
        for path in paths:
            with self._telling():
                segment = self._read_one(path, is_last=path is paths[-1])
            if segment.records:
                yield segment

    def _read_one(self, path: Path, *, is_last: bool) -> Segment:
        data = path.read_bytes()
        try:
            segment = decode_segment(data, is_last=is_last)
        except JournalDamageError as problem:
            raise JournalError(f"{path}: {problem}; {REMEDY}") from None
        if not segment.records and not is_last:
            raise JournalError(f"{path}: it ends at byte {len(data)}; {REMEDY}")
        if not segment.records:
            path.unlink()
        elif segment.end < len(data):
            os.truncate(path, segment.end)
        return segment

    # Writing

    def start(self) -> None:
        """Begin to write."""
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
        self._thread.start()

    def do(self, work: Work) -> None:
        """Let the thread do something, behind everything else."""
        self._queue.put(work)

    def close(self) -> None:
        """Bring everything to disk, and let go."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        with suppress(OSError):
            if self._file >= 0:
                os.fsync(self._file)
                os.close(self._file)
            if self._lock >= 0:
                os.close(self._lock)
        self._file = self._lock = -1

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            try:
                self._carry_out(work)
            except OSError as problem:
                what = problem.strerror or str(problem)
                self._failed(f"the journal in {self.folder} cannot be used: {what}")
                return

    def _carry_out(self, work: Work) -> None:
        if isinstance(work, Append):
            if work.segment:
                self._begin(work.segment)
            data = memoryview(work.data)
            while data:
                data = data[os.write(self._file, data) :]
        elif isinstance(work, Sync):
            if self._file >= 0:
                os.fdatasync(self._file)
            self._synced(work.position)
        elif isinstance(work, Fetch):
            self._fetch(work)
        else:
            for path in sorted(self.folder.glob(f"*{SUFFIX}")):
                if path.name < _name(work.segment):
                    path.unlink()

    def _fetch(self, work: Fetch) -> None:
        """Read bytes back; what is missing at the end is seen by whoever wants them."""
        with (self.folder / _name(work.segment)).open("rb") as file:
            file.seek(work.start)
            self._fetched(work.request, file.read(work.end - work.start))

    def _begin(self, number: int) -> None:
        """Begin a file; the one before is whole then."""
        if self._file >= 0:
            os.fdatasync(self._file)
            os.close(self._file)
        path = self.folder / _name(number)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _name(number: int) -> str:
    return f"{number:020d}{SUFFIX}"
