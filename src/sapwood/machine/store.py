"""Where machine code is kept, and what of it this process can use.

It lies beside the sources, where installing wrote it; or, where the one who made it may not write
there, in the user's own cache. A process looks for it once, when it needs the first function. If
there is nothing that it can use it knows why, and says so to whoever asks.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sapwood.machine.image import Entry, Image, ImageError, decoded, encoded
from sapwood.machine.mapping import functions
from sapwood.machine.processor import Host, this_host
from sapwood.machine.trust import read_trusted

CHOICE = "SAPWOOD_KERNELS"
"""The variable of the environment that says what to run: ``auto``, ``machine`` or ``numba``."""

_ABSENT = "there is none; run: python -m sapwood.compiled.warm"


class MachineCode:
    """The functions that were found, by name; or why there are none."""

    def __init__(
        self, found: Mapping[str, Any], entries: Mapping[str, Entry], path: Path | None, why: str
    ) -> None:
        self._found = found
        self._entries = entries
        self.path = path
        self.why_none = why
        self.why_not: dict[str, str] = {}
        """Of functions that were asked for and not given: the reason."""
        self.used: list[str] = []

    def function(self, name: str, stamp: Callable[[], str]) -> Any | None:
        """The function of a name, if it was compiled from the sources that the stamp is of."""
        if name not in self._found:
            self.why_not[name] = self.why_none or "it is compiled when it is first used"
        elif self._entries[name].stamp != stamp():
            self.why_not[name] = "its source has changed; run: python -m sapwood.compiled.warm"
        else:
            self.used.append(name)
            return self._found[name]
        return None

    def signature(self, name: str) -> str:
        """For which types a function was compiled."""
        return self._entries[name].signature


def places(host: Host) -> Iterator[Path]:
    """Where machine code may lie, the best place first."""
    file = f"kernels.{sys.implementation.cache_tag}-{host.machine}.code"
    yield Path(__file__).parents[1] / "compiled" / "__pycache__" / file
    cache = os.environ.get("XDG_CACHE_HOME")
    try:
        yield (Path(cache) if cache else Path.home() / ".cache") / "sapwood" / file
    except RuntimeError:  # a user without a home
        return


def write(image: Image, candidates: Iterator[Path] | list[Path]) -> Path:
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


def opened(candidates: Iterator[Path] | list[Path], host: Host) -> MachineCode:
    """The machine code of the first file that can be used; if none can, with the reason."""
    reasons: list[str] = []
    for path in candidates:
        if not path.exists():
            continue
        try:
            image = decoded(read_trusted(path))
            foreign = image.manifest.host.why_not(host)
            if not foreign:
                return MachineCode(functions(image), image.manifest.entries, path, "")
        except ImageError as problem:
            foreign = str(problem)
        reasons.append(f"{path}: {foreign}")
    return MachineCode({}, {}, None, "; ".join(reasons) or _ABSENT)


def choose(choice: str) -> MachineCode:
    """The machine code of this installation, if it is wanted and can be used."""
    if choice == "numba":
        return MachineCode({}, {}, None, f"{CHOICE} is numba")
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
    _chosen[:] = [MachineCode({}, {}, None, why)]
