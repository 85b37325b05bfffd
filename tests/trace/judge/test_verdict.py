"""Counts and violations, as people and machines read them."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.trace.judge.verdict import VIOLATIONS, Findings, Verdict, violation
from tracing.files import bare_row

ROW = bare_row(7, at=1.5, kind="delivered", publisher="bob.1", sequence=3)


@pytest.mark.parametrize("kind", VIOLATIONS)
def test_any_violation_makes_it_incorrect(kind: str) -> None:
    assert not Verdict(**{kind: 1}).is_correct  # type: ignore[arg-type]


def test_what_is_no_violation() -> None:
    assert Verdict(published=1, expected=1, delivered=1, early=1, unjudged=1).is_correct


def test_counts_are_those_of_the_contract() -> None:
    assert " ".join(Verdict().counts()) == (
        "published expected delivered lost duplicated early unexpected "
        "out_of_order_fifo out_of_order_causal unjudged"
    )


def test_a_violation_in_one_line() -> None:
    found = violation("duplicated", "ann.1", ROW, ROW)
    assert str(found) == (
        "duplicated: bob.1:3 at ann.1, row 7 of B1.1 in run 'r' (delivered) at 1.5"
    )


def test_a_verdict_is_json() -> None:
    verdict = Verdict(lost=1, violations=[violation("lost", "ann.1", ROW)])
    again = msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict)
    assert again == verdict


def test_findings_come_in_the_order_of_time() -> None:
    findings = Findings(Verdict(), 2)
    rows = [msgspec.structs.replace(ROW, step=step, at=10.0 - step) for step in (1, 2, 3)]
    findings.violation("unexpected", "ann.1", rows[1])
    findings.violation("lost", "ann.1", rows[1])
    findings.violation("lost", "ann.1", rows[0])
    findings.violation("lost", "ann.1", rows[2])
    verdict = findings.finish()
    assert (verdict.lost, verdict.unexpected) == (3, 1)
    assert [(found.kind, found.rows) for found in verdict.violations] == [
        ("lost", (rows[1],)),
        ("unexpected", (rows[1],)),
        ("lost", (rows[0],)),
    ]
