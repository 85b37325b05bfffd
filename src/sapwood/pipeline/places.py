"""Where the pipeline keeps what it can make again: a folder of the user's own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


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


def _is_own(folder: Path) -> bool:
    """Make a folder if need be; whether it is ours and can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK)
    except OSError:
        return False


__all__ = ["cache_folder"]
