"""Whether a file may be run as machine code: nobody but its owner can have written it.

Who can write a file that is mapped and run is the one who runs it. So it must belong to root or to
the user of this process, and be writable by nobody else; and not everybody may put another in its
place.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sapwood.machine.image import ImageError


def read_trusted(path: Path) -> bytes:
    """The content of a file that may be run; ImageError, with the reason, if it may not.

    What is looked at is the file that was opened, not what a name stands for a moment later.
    """
    try:
        folder = path.parent.stat()
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as problem:
        raise ImageError(f"it cannot be opened: {problem.strerror}") from problem
    with os.fdopen(file, "rb") as opened:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise ImageError("it is no regular file")
        if found.st_uid not in (0, os.geteuid()):
            raise ImageError(
                f"it belongs to user {found.st_uid}, neither to root nor to the user "
                f"of this process ({os.geteuid()})"
            )
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ImageError(
                f"others than its owner can write it (mode {_mode(found)}); run: chmod go-w {path}"
            )
        if folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:
            raise ImageError(
                f"everybody can write to its folder (mode {_mode(folder)}); "
                f"run: chmod o-w {path.parent}"
            )
        return opened.read()


def _mode(found: os.stat_result) -> str:
    return f"{stat.S_IMODE(found.st_mode):o}"
