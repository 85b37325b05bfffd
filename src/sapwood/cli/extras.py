"""Which extras of Sapwood are missing when a module is not there: all that a command needs at once.

Modules are imported when they are used, so a command fails at the first one that is missing.
Whoever installs that one should not have to fail again to be told the next.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from typing import Final

NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "audit": ("spark",),
    "broker": ("matching", "network"),
    "demo": ("matching", "network", "trace"),
    "experiment": ("spark",),
    "sim": ("matching",),
    "study": ("spark",),
    "up": ("matching", "network"),
    "--trace": ("trace",),
}
"""By command or option: the extras that it does not work without."""

_OF_EXTRA = re.compile(r"(?P<name>[A-Za-z0-9._-]+).*; extra == \"(?P<extra>[a-z]+)\"")
"""A requirement of an extra, as the metadata of a package writes it."""


def missing_message(module: str, arguments: Sequence[str]) -> str | None:
    """What a command line lacks, and how to get it; None if no extra brings the missing module."""
    smallest = extra_with(module)
    if smallest is None:
        return None
    extras, package = _extras(), _package(module)
    needed = _needed(arguments)
    if not any(package in extras.get(extra, ()) for extra in needed):
        needed.add(smallest)
    absent = {
        extra: {name for name in extras.get(extra, ()) if name == package or not _is_there(name)}
        for extra in sorted(needed)
    }
    named = sorted({name for names in absent.values() for name in names})
    install = ",".join(extra for extra, names in absent.items() if names)
    verb = "is" if len(named) == 1 else "are"
    return f"{', '.join(named)} {verb} not installed; run: pip install 'sapwood[{install}]'"


def extra_with(module: str) -> str | None:
    """The smallest extra of Sapwood that brings a module, if one does."""
    extras = _extras()
    having = [extra for extra, names in extras.items() if _package(module) in names]
    return min(having, key=lambda extra: len(extras[extra]), default=None)


def _extras() -> dict[str, list[str]]:
    """By extra: the packages that it brings."""
    from importlib.metadata import requires

    extras: dict[str, list[str]] = {}
    for requirement in requires("sapwood") or ():
        found = _OF_EXTRA.match(requirement)
        if found is not None:
            extras.setdefault(found["extra"], []).append(found["name"].lower())
    return extras


def _needed(arguments: Sequence[str]) -> set[str]:
    """What the command and its options are known to need."""
    options = [word.partition("=")[0] for word in arguments if word.startswith("-")]
    command = [word for word in arguments if not word.startswith("-")][:1]
    return {extra for word in (*command, *options) for extra in NEEDED.get(word, ())}


def _package(module: str) -> str:
    """The name under which a module is installed; of those here, all differ only in the dash."""
    return module.partition(".")[0].replace("_", "-").lower()


def _is_there(package: str) -> bool:
    return importlib.util.find_spec(package.replace("-", "_")) is not None
