"""What a benchmark hands back: figures for machines, and tables and a conclusion for people."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class Style(Enum):
    """What a line of a table is, so that it can be shown so."""

    HEADING = "heading"
    FIGURE = "figure"
    OWN = "own"
    """The figure this benchmark is about, among those it is compared with."""
    TARGET = "target"


class Line(NamedTuple):
    """A line of a table: what it says, and one text per column."""

    label: str
    cells: tuple[str, ...] = ()
    style: Style = Style.FIGURE


class Table(NamedTuple):
    """Lines under a title; `columns` are the headings of the cells."""

    title: str
    columns: tuple[str, ...]
    lines: list[Line]


class Report(NamedTuple):
    """The outcome of a benchmark; `is_right` says whether what was measured gave right answers."""

    figures: dict[str, Any]
    tables: list[Table]
    notes: list[str]
    conclusion: str
    is_right: bool
