"""Write docs/reference/states.md: the state machines of links, as diagrams and tables.

    python tools/diagrams.py

Everything comes from ``sapwood.protocol.link.states``, which the code itself asks, so the page
cannot say anything else than what runs. A test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from sapwood.protocol.link.states import LINE, SESSION, TARGET

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "states.md"

_INTRODUCTION = """# States of links

Made by `tools/diagrams.py` from the tables in `sapwood.protocol.link.states`, which the code asks:
what is not in a table cannot happen, or ends the connection as a breach of the protocol.
"""

_MACHINES: tuple[tuple[str, str, Mapping[Any, Mapping[str, Any]]], ...] = (
    (
        "A line",
        "One connection, at either end. Names in capitals are messages of "
        "[the wire protocol](protocol.md); `admit` is the decision to let somebody in, `end` the "
        "loss of the connection or the decision to end it.",
        LINE,
    ),
    (
        "A target",
        "An address that a broker was told to join, until there is a link, and again when it is "
        "lost.",
        TARGET,
    ),
    (
        "A client's session",
        "From `connect` to `close`, across connections and brokers.",
        SESSION,
    ),
)


def page() -> str:
    """The whole page."""
    parts = [_INTRODUCTION]
    for title, text, table in _MACHINES:
        parts.append(f"\n## {title}\n\n{text}\n")
        parts.append("\n```mermaid\n" + "\n".join(diagram(table)) + "\n```\n")
        parts.append("\n| in state | what happens | next state |\n|---|---|---|\n")
        for state, following in table.items():
            for what, after in following.items():
                parts.append(f"| {state} | {what} | {after} |\n")
    return "".join(parts)


def diagram(table: Mapping[Any, Mapping[str, Any]]) -> Iterator[str]:
    """A table in the language of Mermaid; several ways between two states are one arrow."""
    yield "stateDiagram-v2"
    for state in table:
        yield f'    state "{state}" as {state.name}'
    for state, following in table.items():
        arrows: dict[StrEnum, list[str]] = {}
        for what, after in following.items():
            arrows.setdefault(after, []).append(what)
        for after, reasons in arrows.items():
            yield f"    {state.name} --> {after.name}: {', '.join(reasons)}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
