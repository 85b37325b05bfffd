"""The classification of every field of a node's state: how a wrong value in it is mended.

To take in new fields, run this module; those that nobody has judged yet are marked and fail a test:

    PYTHONPATH=src:tests python tests/testing/classification.py
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from sapwood.testing.perturbing import fields
from testing.specimens import ROM, nodes, specimens

FILE: Final = Path(__file__).with_name("classification.toml")

KINDS: Final = {
    "primary": "compared with what others hold, or with what the driver knows, in every period",
    "derived": "made anew from primary state by every audit, or by a rebirth",
    "clamped": "a time, or what ends at a time, that is used so that a wrong one is due at once",
    "counted": "a number for people to read, on which nothing depends",
    "constant": "made once for a session and never changed: wiring of parts, settings",
    "stream": "of links, lines and streams: judged by the checks of streams",
}
UNCLASSIFIED: Final = "unclassified"

HEADER: Final = "\n".join(
    [
        "# Every field of a node's state that `sapwood.testing.perturbing.walk` finds, by class.",
        "# How a wrong value is mended:",
        *(f"#   {kind}: {text}" for kind, text in KINDS.items()),
        "# New fields: run tests/testing/classification.py, then say for each which it is.",
    ]
)


def found() -> set[str]:
    """The fields that there are."""
    return {
        field
        for one in (*(specimen.broker for specimen in specimens()), *nodes())
        for field in fields(one, ROM)
    }


def known() -> dict[str, str]:
    """The fields that are listed, and what each is."""
    listed = tomllib.loads(FILE.read_text()) if FILE.exists() else {}
    return {f"{name}.{field}": kind for name, own in listed.items() for field, kind in own.items()}


def written(classified: dict[str, str]) -> str:
    """The list as it is kept."""
    lines = [HEADER]
    last = ""
    for field, kind in sorted(classified.items()):
        name, attribute = field.split(".")
        if name != last:
            lines += ["", f"[{name}]"]
            last = name
        lines.append(f'{attribute} = "{kind}"')
    return "\n".join([*lines, ""])


def main() -> None:
    """Bring the list up to date: gone fields leave it, new ones are marked."""
    before = known()
    FILE.write_text(written({field: before.get(field, UNCLASSIFIED) for field in found()}))


if __name__ == "__main__":
    main()
