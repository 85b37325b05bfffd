"""Where machine code is kept, and what of it this process can use.

It lies beside the sources, where installing wrote it; or, where the one who made it may not write
there, in the user's own cache. A process looks for it once, when it needs the first function. If
there is nothing that it can use it knows why, and says so to whoever asks.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sapwood.machine.image import Entry, Image, ImageError, decoded, encoded
from sapwood.machine.mapping import functions
from sapwood.machine.processor import Host, this_host
from sapwood.machine.trust import read_trusted

CHOICE = "SAPWOOD_KERNELS"
"""The variable of the environment that says what to run: ``auto``, ``machine`` or ``numba``."""

_ABSENT = "there is none; run: python -m sapwood.compiled.warm"


class CodeFile(NamedTuple):
    """A file that is mapped."""

    path: Path
    entries: Mapping[str, Entry]
    functions: Mapping[str, Any]


class MachineCode:
    """The functions that were found, by name; or why there are none."""

    def __init__(self, files: Sequence[CodeFile], why: str) -> None:
        self._files = files
        self.why_none = why
        self.why_not: dict[str, str] = {}
        """Of functions that were asked for and not given: the reason."""
        self.used: list[str] = []

    @property
    def names(self) -> list[str]:
        """All functions there are, in some state of their sources."""
        return list({name: None for file in self._files for name in file.entries})

    def file_with(self, name: str, stamp: str) -> CodeFile | None:
        """Where a function is that was compiled from the sources that a stamp is of."""
        for file in self._files:
            if name in file.entries and file.entries[name].stamp == stamp:
                return file
        return None

    def function(self, name: str, stamp: Callable[[], str]) -> Any | None:
        """The function of a name, if it was compiled from the sources that the stamp is of."""
        if name not in self.names:
            self.why_not[name] = self.why_none or "it is compiled when it is first used"
            return None
        file = self.file_with(name, stamp())
        if file is None:
            self.why_not[name] = "its source has changed; run: python -m sapwood.compiled.warm"
            return None
        self.used.append(name)
        return file.functions[name]

    def signature(self, name: str) -> str:
        """For which types a function was compiled."""
        return next(file.entries[name].signature for file in self._files if name in file.entries)


def places(host: Host) -> Iterator[Path]:
    """Where machine code may lie, the best place first."""
    file = f"kernels.{sys.implementation.cache_tag}-{host.machine}.code"
    yield Path(__file__).parents[1] / "compiled" / "__pycache__" / file
    cache = os.environ.get("XDG_CACHE_HOME")
    try:
        yield (Path(cache) if cache else Path.home() / ".cache") / "sapwood" / file
    except RuntimeError:  # a user without a home
        return


def write(image: Image, candidates: Iterable[Path]) -> Path:
    """Write an image to the first place that can be written; OSError if none can."""
    problem = OSError("there is no place for it")
    for path in candidates:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as making:
                making.write(encoded(image))
                os.fchmod(making.fileno(), 0o644)
            Path(making.name).replace(path)
        except OSError as caught:
            problem = caught
        else:
            return path
    raise problem


def opened(candidates: Iterable[Path], host: Host) -> MachineCode:
    """The machine code of all files that can be used; if none can, with the reason."""
    files: list[CodeFile] = []
    reasons: list[str] = []
    for path in candidates:
        if not path.exists():
            continue
        try:
            image = decoded(read_trusted(path))
            reason = image.manifest.host.why_not(host)
            if not reason:
                files.append(CodeFile(path, image.manifest.entries, functions(image)))
        except ImageError as problem:
            reason = str(problem)
        if reason:
            reasons.append(f"{path}: {reason}")
    return MachineCode(files, "" if files else "; ".join(reasons) or _ABSENT)


def choose(choice: str) -> MachineCode:
    """The machine code of this installation, if it is wanted and can be used."""
    if choice == "numba":
        return MachineCode([], f"{CHOICE} is numba")
    host = this_host()
    found = opened(places(host), host)
    if choice == "machine" and found.why_none:
        raise ImportError(f"{CHOICE} is machine, but there is no machine code: {found.why_none}")
    return found


_chosen: list[MachineCode] = []


def machine_code() -> MachineCode:
    """That of this process; looked for when it is first asked for."""
    if not _chosen:
        _chosen.append(choose(os.environ.get(CHOICE, "auto")))
    return _chosen[0]


def use_none(why: str) -> None:
    """Let this process run no machine code: it makes it."""
    _chosen[:] = [MachineCode([], why)]
