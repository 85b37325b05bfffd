"""Where the pipeline keeps what it can make again: a folder of the user's own."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

UNUSED_SECONDS_MAX = 30 * 24 * 3600.0
"""How long something is kept that nobody uses: an update leaves what its forerunner made."""


def cache_folder() -> Path:
    """A folder for what can be made again, which nobody else can write to.

    `$XDG_CACHE_HOME/sapwood`, else `~/.cache/sapwood`, else (a service account without a home)
    one below the system's temporary folder.
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    for folder in (
        Path(home) / "sapwood",
        Path(tempfile.gettempdir()) / f"sapwood-{os.getuid()}",
    ):
        if _is_own(folder):
            return folder
    return Path(tempfile.mkdtemp(prefix="sapwood-"))


def mark_used(path: Path) -> Path:
    """Note that something in the folder is in use, so that it is kept."""
    with suppress(OSError):  # another process may have dropped it
        os.utime(path)
    return path


def drop_unused(pattern: str) -> None:
    """Remove what fits a pattern and has not been used for a month."""
    oldest = time.time() - UNUSED_SECONDS_MAX
    for path in cache_folder().glob(pattern):
        with suppress(OSError):  # another process may be quicker
            if path.stat().st_mtime >= oldest:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def _is_own(folder: Path) -> bool:
    """Make a folder if need be; whether it is ours and can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK)
    except OSError:
        return False


__all__ = ["cache_folder", "drop_unused", "mark_used"]
