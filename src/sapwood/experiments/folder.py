"""Where the results of experiments are kept, and what is refused before any run starts.

::

    DIR/NAME/experiment.json     which experiment and version of the code the folder belongs to
    DIR/NAME/runs/               Parquet of every run, as a study keeps it
    DIR/NAME/values/             Parquet of every value of every run
    DIR/NAME/curve.csv           means with confidence intervals
    DIR/NAME/*.png, *.svg        the figures
    DIR/NAME/outcome.json        verdicts, parameters, seeds, versions, time taken
    DIR/report.html              all of it on one page, if that was asked for
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import msgspec

from sapwood.errors import ExperimentError

FORMAT: Final = 1
ROOM_BYTES_MIN: Final = 200_000_000
"""What must be free on the disk before anything starts; a run writes some kilobytes."""

_OWNER: Final = "experiment.json"


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder holds the results of."""

    name: str
    code: str
    size: str
    format: int = FORMAT


def check_folder(folder: Path, owner: Owner, room_bytes: int = ROOM_BYTES_MIN) -> None:
    """Refuse a folder that holds something else, or on whose disk there is too little room."""
    found = owner_of(folder)
    if found is None:
        if folder.is_dir() and any(folder.iterdir()):
            raise ExperimentError("holds something else; name a new folder with --out", str(folder))
    elif found.format != owner.format or found.name != owner.name:
        raise ExperimentError(
            f"holds {found.name!r} in format {found.format}, not {owner.name!r} in format "
            f"{owner.format}; name another folder with --out",
            str(folder),
        )
    elif found.code != owner.code:
        raise ExperimentError(
            f"holds results of version {found.code}, this is {owner.code}; name another folder "
            "with --out, or remove this one",
            str(folder),
        )
    check_room(folder, room_bytes)


def check_room(folder: Path, room_bytes: int) -> None:
    """Refuse a disk with too little room, and a place where no folder can be."""
    above = folder.absolute()
    while not above.exists():
        above = above.parent
    if not above.is_dir():
        raise ExperimentError(f"cannot be a folder: {above} is a file", str(folder))
    free = shutil.disk_usage(above).free
    if free < room_bytes:
        raise ExperimentError(
            f"has {free / 1e6:,.0f} MB free on its disk, {room_bytes / 1e6:,.0f} MB are wanted; "
            "make room, or name another folder with --out",
            str(folder),
        )


def owner_of(folder: Path) -> Owner | None:
    """Whose folder it is; None if nobody has claimed it."""
    path = folder / _OWNER
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Owner)
    except msgspec.DecodeError as problem:
        raise ExperimentError(
            f"cannot be read ({problem}); name a new folder with --out", str(path)
        ) from None


def claim(folder: Path, owner: Owner) -> None:
    """Make the folder the experiment's."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _OWNER).write_bytes(msgspec.json.encode(owner))
    except OSError as problem:
        raise ExperimentError(
            f"cannot be written: {problem.strerror}; name another folder with --out", str(folder)
        ) from None


__all__ = ["Owner", "check_folder", "check_room", "claim", "owner_of"]
