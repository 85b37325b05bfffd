"""One page with everything: figures, verdicts, parameters, seeds, versions, time, corrections.

It needs no other file and no network: pictures are in it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import msgspec

from sapwood.errors import ExperimentError
from sapwood.experiments.claims import counts
from sapwood.experiments.running import Outcome

_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1rem; }
img { max-width: 100%; height: auto; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0;
  border-bottom: 1px solid #e4e4e4; overflow-wrap: anywhere; }
.holds { font-weight: 600; } .differs { font-weight: 600; text-decoration: underline; }
.small { color: #555; font-size: 13px; } nav a { margin-right: .8rem; }
"""


def build(folder: Path) -> Path:
    """Put what a folder of results holds on one page."""
    found = outcomes(folder)
    if not found:
        raise ExperimentError(
            "holds no results; run `sapwood experiment NAME --out` with this folder first",
            str(folder),
        )
    path = folder / "report.html"
    path.write_text(page(found, folder), encoding="utf-8")
    return path


def outcomes(folder: Path) -> list[Outcome]:
    """Everything that was run into a folder, by name."""
    found = []
    for path in sorted(folder.glob("*/outcome.json")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=Outcome))
        except msgspec.DecodeError as problem:
            raise ExperimentError(
                f"is of another version ({problem}); remove it", str(path)
            ) from None
    return found


def page(found: Sequence[Outcome], folder: Path) -> str:
    """The whole page."""
    total = counts(claim for one in found for claim in one.claims)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in total.items())
    links = "".join(f'<a href="#{one.name}">{escape(one.name)}</a> ' for one in found)
    body = "\n".join(part for one in found for part in _section(one, folder))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Sapwood: the papers' figures, done again</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>The papers' figures, done again</h1><p>{len(found)} experiments; of the "
        f"claims: {summary}.</p><nav>{links}</nav>\n{body}\n</body></html>\n"
    )


def _section(one: Outcome, folder: Path) -> Iterator[str]:
    yield f'<h2 id="{one.name}">{escape(one.title)}</h2>'
    yield f"<p>{escape(', '.join(one.shows))}</p><p>{escape(one.setup)}</p>"
    for name in one.figures:
        data = base64.b64encode((folder / one.name / name).read_bytes()).decode()
        alt = escape(f"{one.title}: {name}")
        yield f'<p><img alt="{alt}" src="data:image/png;base64,{data}"></p>'
    yield "<table><tr><th>claim</th><th></th><th>verdict</th><th>value</th><th>expected</th></tr>"
    for claim in one.claims:
        why = f'<div class="small">{escape(claim.why)}</div>' if claim.why else ""
        css = claim.verdict.replace(" ", "-")
        yield (
            f"<tr><td>{escape(claim.id)}</td><td>{escape(claim.text)}{why}</td>"
            f'<td class="{css}">{claim.verdict}</td><td>{_shown(claim.value)}</td>'
            f"<td>{_shown(claim.expected)}</td></tr>"
        )
    yield "</table>"
    if one.corrections:
        items = "".join(f"<li>{escape(text)}</li>" for text in one.corrections)
        yield f"<p>Corrections to the papers:</p><ul>{items}</ul>"
    yield f'<p class="small">{escape(_made(one))}</p>'


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return escape(f"{value:,.6g}" if isinstance(value, float) else str(value))


def _made(one: Outcome) -> str:
    """How it came about, in a paragraph."""
    printed = "the printed size" if one.is_printed else "not the printed size"
    libraries = ", ".join(f"{name} {number}" for name, number in one.versions.items())
    shown = "; ".join(_point(point) for point in one.points[:6])
    more = f" and {len(one.points) - 6} more" if len(one.points) > 6 else ""
    failed = f" {len(one.failures)} runs failed." if one.failures else ""
    return (
        f"Size {one.size} ({printed}): {one.runs} runs, {one.repeats} a point, all seeds from "
        f"{one.seed}; {one.seconds:,.0f} s, of which runs took {one.cpu_seconds:,.0f} s of "
        f"processor time, {one.reused} runs were there before.{failed} Points: {shown}{more}. "
        f"Code {one.code}; {libraries}. Digest {one.digest}."
    )


def _point(point: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in point.items()) or "no parameters"


__all__ = ["build", "outcomes", "page"]
