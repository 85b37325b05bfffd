"""Brokers and clients are killed under load: what was confirmed is read once, and in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.pipeline.auditing.report import AuditReport, audit_directory
from sapwood.testing.killing import Killed, Killing, chain
from sapwood.trace import check, read
from sapwood.trace.judge.verdict import VIOLATIONS

pytestmark = pytest.mark.slow


def kill(brokers: int, kills: int, folder: Path, seed: int) -> tuple[Killing, Killed]:
    """Kill processes; what they did is not judged here."""
    killing = Killing(chain(brokers), folder, seed)
    return killing, killing.run(kills)


def test_what_was_confirmed_survives_kills(tmp_path: Path) -> None:
    killing, killed = kill(2, 6, tmp_path, seed=3)
    assert min(killed.brokers_killed, killed.clients_killed) > 0
    verdict = check(read(killing.clients_trace))
    assert verdict.published >= killed.confirmed > 100
    assert verdict.counts() == {
        **dict.fromkeys(verdict.counts(), 0),
        "published": verdict.published,
        "expected": 2 * verdict.published,
        "delivered": killed.read,
    }
    seen = check(read(killing.brokers_trace)).counts()
    assert not any(seen[kind] for kind in VIOLATIONS), seen


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_hundred_kills_judged_on_spark(tmp_path: Path) -> None:
    killing, killed = kill(3, 200, tmp_path, seed=1)
    report = audit_directory(killing.clients_trace)
    print(killed, report.summary())
    assert (report.lost, report.duplicated, report.unexpected) == (0, 0, 0)
    assert (report.out_of_order_fifo, report.out_of_order_causal) == (0, 0)
    assert (report.unjudged, report.early) == (0, 0)
    assert report.expected == report.delivered == killed.read == 2 * report.published
    assert report.published >= killed.confirmed
    brokers: AuditReport = audit_directory(killing.brokers_trace)
    print(brokers.summary())
    assert brokers.is_correct, brokers.violations
