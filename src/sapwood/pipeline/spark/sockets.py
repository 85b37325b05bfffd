"""Let Spark's Java and Python talk to each other without TCP where both are on this machine.

Over TCP, each task in Python waits some 40 ms: one side holds its next few bytes back until the
last ones are acknowledged, the other delays the acknowledgement. Through sockets of the file system
nobody waits.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

_PATH_BYTES_MAX: Final = 100
"""How long the path of a socket may be: 103 on macOS, 107 on Linux."""

_NAME_BYTES: Final = len("/.01234567-89ab-cdef-0123-456789abcdef.sock")
"""Of the names that Spark gives."""


def socket_settings() -> dict[str, str]:
    """Settings of Spark for it; none where there are no such sockets."""
    folder = _folder() if hasattr(socket, "AF_UNIX") else None
    if folder is None:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(folder),
    }


@cache
def _folder() -> Path | None:
    """A folder that only this user may enter, until this process ends; None if paths are too long.

    Who may enter it may talk to Spark: there is no other password.
    """
    for parent in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - a folder of our own in it
        if len(os.fsencode(parent)) + len("/sapwood-01234567") + _NAME_BYTES <= _PATH_BYTES_MAX:
            folder = Path(tempfile.mkdtemp(prefix="sapwood-", dir=parent))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            return folder
    return None


__all__ = ["socket_settings"]
