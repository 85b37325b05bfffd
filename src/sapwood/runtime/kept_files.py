"""Files that are replaced as a whole, so that a crash leaves the old one or the new one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

Read = TypeVar("Read")


class KeptFiles:
    """Files in one folder that are of use, and that nobody depends on; none without a folder."""

    def __init__(self, folder: Path | None, tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._tell = tell

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return self._folder is not None and (self._folder / name).exists()

    def load(self, name: str, kind: type[Read]) -> Read | None:
        """What a file says; nothing, with a notice, if it is damaged."""
        if self._folder is None or not self.has(name):
            return None
        path = self._folder / name
        try:
            return msgspec.json.decode(path.read_bytes(), type=kind)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as problem:
            self._tell(f"{path} cannot be read and is ignored: {problem}")
            return None

    def save(self, name: str, said: object) -> None:
        """Keep something, if that is possible."""
        if self._folder is not None:
            with suppress(OSError):
                replace(self._folder / name, msgspec.json.encode(said).decode())


def replace(path: Path, text: str, mode: int | None = None) -> None:
    """Write a file in place of the one that is there; `mode` says who may read it."""
    making = path.with_suffix(".tmp")
    if mode is not None:
        making.unlink(missing_ok=True)
        making.touch(mode)
    making.write_text(text, encoding="utf-8")
    making.replace(path)
