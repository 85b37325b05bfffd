"""The list of claims in the reference names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LISTED = (ROOT / "docs/reference/schemes.md").read_text().partition("## Claims")[2]
SOURCES = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))


def test_every_test_that_is_named_exists() -> None:
    names = re.findall(r"`(test_\w+)(…?)`", LISTED)
    assert len(names) > 20
    missing = [name for name, _ in names if f"def {name}" not in SOURCES]
    assert [name for name in missing if not list(ROOT.rglob(f"tests/**/{name}.py"))] == []
    files = re.findall(r"`(tests/[\w/]+\.py)`", LISTED)
    assert [name for name in files if not (ROOT / name).is_file()] == []


def test_every_claim_that_was_to_be_shown_is_listed() -> None:
    claims = ["1.5", "1.6", *(f"T3.{n}" for n in range(1, 17)), *(f"T4.{n}" for n in range(13, 21))]
    found = {
        name for row in re.findall(r"^\| ([^|]+) \|", LISTED, re.M) for name in row.split(", ")
    }
    assert [claim for claim in claims if claim not in found] == []
