"""Keeping results in the documentation."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import msgspec

from reproduction import BEGIN, END, keep, tables_of
from sapwood.experiments.claims import near, not_judged
from sapwood.experiments.running import Outcome

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"

OUTCOME = Outcome(
    name="T3.F9",
    title="title",
    shows=("T3.F9",),
    setup="set-up",
    size="quick",
    is_printed=False,
    claims=[
        near("a", "same", 1.0, 1.0),
        near("a", "other|wise", 1.5, 1.0),
        not_judged("b", "open", 1, "nobody knows"),
    ],
    corrections=(),
    figures=[],
    runs=1,
    repeats=1,
    reused=0,
    points=[{}],
    seed=1,
    code="1-abc",
    versions={},
    seconds=12.3,
    cpu_seconds=1.0,
    digest="",
    failures=[],
)


def test_tables_show_what_does_not_hold() -> None:
    lines = list(tables_of([OUTCOME]))
    assert (
        "| [T3.F9](reproduction/T3.F9.csv) | T3.F9 | quick; **not run at full size** "
        "| 1 | 1 | 1 | 12 |" in lines
    )
    assert "| a | other\\|wise | 1.5 | 1 |  |" in lines
    assert "| b | open |  | 1 | nobody knows |" in lines


def verdicts(docs: Path) -> list[str]:
    """What is kept of the claims of one experiment."""
    with (docs / "reproduction" / "verdicts.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row["verdict"] for row in rows if row["experiment"] == OUTCOME.name]


def test_files_and_page_are_written(tmp_path: Path) -> None:
    """From the curve that is kept; what the outcome said of it is judged anew."""
    results, docs = tmp_path / "results", tmp_path / "docs"
    (results / "T3.F9").mkdir(parents=True)
    (results / "T3.F9" / "outcome.json").write_bytes(msgspec.json.encode(OUTCOME))
    shutil.copyfile(DOCS / "reproduction" / "T3.F9.csv", results / "T3.F9" / "curve.csv")
    (docs / "images").mkdir(parents=True)
    page = docs / "reproduction.md"
    page.write_text(f"before\n{BEGIN}\nwhat was\n{END}\nafter\n", encoding="utf-8")
    keep([results], docs)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "what was" not in text
    assert "nobody knows" not in text
    assert "[T3.F9](reproduction/T3.F9.csv)" in text
    assert verdicts(docs) == verdicts(DOCS) != []
    assert (docs / "reproduction" / "T3.F9.csv").is_file()
