"""Remove rows from a trace, as if they had never been recorded.

A checker that has only ever said yes proves nothing. Whoever wants to see one say no takes some
rows away, and looks.
"""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

from sapwood.errors import TraceError
from sapwood.trace.files import arrow
from sapwood.trace.files.reader import trace_files
from sapwood.trace.schema import Place

_PLACE = ("run", "broker", "session", "step")


def remove(directory: Path | str, places: Set[Place]) -> None:
    """Remove the rows that stand at these places; a TraceError if one is not there.

    A file changes as a whole or not at all.
    """
    missing = set(places)
    for path in trace_files(Path(directory)):
        table = arrow.read_table(path)
        found = zip(*(table.column(name).to_pylist() for name in _PLACE), strict=True)
        stays = [place not in places for place in found]
        if all(stays):
            continue
        missing -= set(zip(*(table.column(name).to_pylist() for name in _PLACE), strict=True))
        making = path.with_name(f".{path.name}.tmp")
        with making.open("wb") as file:
            arrow.write_rows(arrow.filtered(table, stays), file)
        making.replace(path)
    if missing:
        run, broker, session, step = min(missing)
        raise TraceError(f"there is no row {step} of {broker}.{session} in run {run!r} to remove")
