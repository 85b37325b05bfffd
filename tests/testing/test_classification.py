"""Every field of a node's state is classified: a new one fails until somebody has thought of it."""

from __future__ import annotations

from testing import classification
from testing.classification import KINDS, UNCLASSIFIED

REMEDY = (
    "run `PYTHONPATH=src:tests python tests/testing/classification.py`, then say in "
    f"classification.toml for each field marked '{UNCLASSIFIED}' how a wrong value in it is "
    f"mended: {', '.join(KINDS)}; and let a test in tests/testing/test_recovery.py spoil it"
)


def test_every_field_that_is_found_is_listed_and_no_other() -> None:
    found, known = classification.found(), set(classification.known())
    assert found == known, f"new: {sorted(found - known)}, gone: {sorted(known - found)}; {REMEDY}"


def test_every_listed_field_is_classified() -> None:
    wrong = [field for field, kind in classification.known().items() if kind not in KINDS]
    assert not wrong, f"not classified: {wrong}; {REMEDY}"


def test_the_list_is_kept_as_it_would_be_written() -> None:
    assert classification.FILE.read_text() == classification.written(classification.known())
