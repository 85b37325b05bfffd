"""The results that are kept in the documentation: judged again, and the headline claims."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.curves import read_csv
from sapwood.experiments.registry import experiments, named

KEPT = Path(__file__).parents[2] / "docs" / "reproduction"


def kept_verdicts() -> dict[str, list[dict[str, str]]]:
    found: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    with (KEPT / "verdicts.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["experiment"]].append(row)
    return dict(found)


VERDICTS = kept_verdicts()


def test_every_kept_file_has_its_verdicts() -> None:
    assert set(VERDICTS) <= set(experiments())
    assert sorted(path.stem for path in KEPT.glob("*.csv")) == sorted([*VERDICTS, "verdicts"])


def test_the_page_names_what_is_not_kept() -> None:
    page = (KEPT.parent / "reproduction.md").read_text(encoding="utf-8")
    assert [name for name in experiments() if name not in page] == []


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_what_is_kept_is_judged_as_it_was(name: str) -> None:
    rows = VERDICTS[name]
    curves = read_csv(KEPT / f"{name}.csv", is_printed=rows[0]["is_printed"] == "True")
    claims = named(name).judge(curves)
    assert [(one.id, one.text, one.verdict) for one in claims] == [
        (row["id"], row["text"], row["verdict"]) for row in rows
    ]


HEADLINES = {
    "T3.F18": ["break-even for 1000/s, 600 s, 60 s"],
    "link-exchange": [
        "lost with exchange-causal, all runs",
        "lost with turning-waves, all runs",
        "duplicated with turning-waves, all runs",
        "lost with the strawman",
    ],
    "recovery": [
        "share of starts that lease-identity heals later than its bound",
        "share of starts that digest heals later than its bound (Sapwood's own)",
    ],
    "three-colours": ["perturbed: share later than 6ξ + 3hδmax"],
    "hybrid-optimum": ["edges that flood at 20,000 a minute"],
    "P4-F3": ["(c) share of the switches to flooding in 400-600 s"],
    "cost-example": ["best of all trees, prices 1 of 4"],
    "swap-link": ["messages of swap", "lost, turning-waves"],
}
"""What must hold in the results that are kept, by experiment."""


@pytest.mark.parametrize("name", HEADLINES)
def test_headline_claims_hold(name: str) -> None:
    found = {row["text"]: row["verdict"] for row in VERDICTS[name]}
    assert {text: found[text] for text in HEADLINES[name]} == dict.fromkeys(HEADLINES[name], HOLDS)


def test_a_difference_stays_in_the_report() -> None:
    page = (KEPT.parent / "reproduction.md").read_text(encoding="utf-8")
    texts = [row["text"] for rows in VERDICTS.values() for row in rows if row["verdict"] == DIFFERS]
    assert texts
    assert [text for text in texts if text not in page] == []
