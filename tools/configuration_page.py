"""Write the tables of docs/reference/configuration.md from the model of the settings.

Usage: python tools/configuration_page.py
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from sapwood.runtime.config.configuration import Described, describe
from sapwood.runtime.config.settings import Settings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "configuration.md"
BEGIN, END = "<!-- settings: begin -->", "<!-- settings: end -->"


def tables() -> str:
    """One table for each section of a configuration file."""
    settings = Settings(id="B1")
    parts = []
    for section, keys in groupby(describe(settings), key=lambda one: one.key.rpartition(".")[0]):
        kind = getattr(settings, section) if section else settings
        title = f"`[{section}]`" if section else "Top level"
        about = (type(kind).__doc__ or "").strip()
        parts += [f"### {title}", "", about, ""]
        parts += ["| key | default | unit, limits | meaning |", "|---|---|---|---|"]
        parts += [_line(one) for one in keys]
        parts.append("")
    return "\n".join(parts)


def _line(one: Described) -> str:
    name = one.key.rpartition(".")[2]
    default = "required" if one.default is None else f"`{_short(one.default)}`"
    limits = "; ".join(text for text in (one.unit, one.limits) if text)
    return f"| `{name}` | {default} | {limits} | {one.description} |"


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:_}" if isinstance(value, int) else str(value)


def filled(page: str) -> str:
    """A page with the tables between the two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
