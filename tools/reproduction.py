"""Keep the results of experiments in the documentation: small CSVs, the verdicts, a page.

``python tools/reproduction.py RESULTS…`` takes folders that ``sapwood experiment --out RESULTS``
has filled, and writes docs/reproduction/ and the tables of docs/reproduction.md. What a later
folder holds counts instead of what an earlier one does. Curves are judged and drawn anew: what was
measured is kept, and the predicates are those of now.
"""

from __future__ import annotations

import csv
import dataclasses
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from sapwood.experiments.claims import Claim, counts
from sapwood.experiments.curves import read_csv
from sapwood.experiments.drawing import draw
from sapwood.experiments.registry import experiments
from sapwood.experiments.report import outcomes
from sapwood.experiments.running import Outcome

BEGIN, END = "<!-- results -->", "<!-- end of results -->"
COLUMNS = (
    "experiment", "size", "is_printed", "repeats", "code", "id", "text", "verdict", "value",
    "expected", "why",
)  # fmt: skip
FIGURES = ("T3.F18", "T3.F2", "T3.F3", "T4.F14", "T4.F16", "P3-F13", "P4-F3", "T5.F6", "T5.F9",
           "T5.F15", "T5.F16", "scale")  # fmt: skip
"""Those that the page shows."""


def keep(results: Sequence[Path], docs: Path) -> None:
    """Write everything."""
    found = {one.name: (one, folder) for folder in results for one in outcomes(folder)}
    kept = docs / "reproduction"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    ordered = []
    for name, experiment in experiments().items():
        if name not in found:
            continue
        outcome, folder = found[name]
        shutil.copyfile(folder / name / "curve.csv", kept / f"{name}.csv")
        curves = read_csv(kept / f"{name}.csv", is_printed=outcome.is_printed)
        ordered.append(msgspec.structs.replace(outcome, claims=experiment.judge(curves)))
        for figure in experiment.figures:
            if figure.name in FIGURES:
                drawn = dataclasses.replace(figure, name=f"reproduction-{figure.name}")
                png, _ = draw(drawn, curves, docs / "images")
                png.unlink()
    with (kept / "verdicts.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for one in ordered:
            writer.writerows(_row(one, claim) for claim in one.claims)
    page = docs / "reproduction.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    tables = "\n".join(tables_of(ordered))
    page.write_text(f"{before}{BEGIN}\n{tables}\n{END}{after}", encoding="utf-8")


def _row(one: Outcome, claim: Claim) -> tuple[object, ...]:
    return (
        one.name, one.size, one.is_printed, one.repeats, one.code, claim.id, claim.text,
        claim.verdict, claim.value, claim.expected, claim.why,
    )  # fmt: skip


def tables_of(found: Sequence[Outcome]) -> Iterable[str]:
    """A table of all experiments, and one of every claim that does not simply hold."""
    yield "| experiment | shows | size | holds | differs | not judged | seconds |"
    yield "|---|---|---|---|---|---|---|"
    for one in found:
        number = counts(one.claims)
        size = one.size if one.is_printed else f"{one.size}; **not run at full size**"
        yield (
            f"| [{one.name}](reproduction/{one.name}.csv) | {', '.join(one.shows)} | {size} | "
            f"{number['holds']} | {number['differs']} | {number['not judged']} | "
            f"{one.seconds:.0f} |"
        )
    total = counts(claim for one in found for claim in one.claims)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in total.items())
    yield f"\nAll together: {summary}.\n"
    yield "### What differs\n"
    yield "| claim | | value | expected | why |"
    yield "|---|---|---|---|---|"
    yield from _lines(found, "differs")
    yield "\n### What was not judged\n"
    yield "| claim | | value | expected | why |"
    yield "|---|---|---|---|---|"
    yield from _lines(found, "not judged")


def _lines(found: Sequence[Outcome], verdict: str) -> Iterable[str]:
    for one in found:
        for claim in one.claims:
            if claim.verdict == verdict:
                cells = (claim.id, claim.text, claim.value, claim.expected, claim.why)
                yield "| " + " | ".join(_cell(value) for value in cells) + " |"


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = f"{value:,.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")


if __name__ == "__main__":
    keep([Path(one) for one in sys.argv[1:]], Path("docs"))
