"""The demonstration from beginning to end, with real processes, watched by a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.living import run
from sapwood.demo.run import Moment, Options, run_demo
from sapwood.trace import check, read


class Witness:
    """Notes what it sees."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.moments: list[Moment] = []

    def event(self, elapsed: float, text: str) -> None:
        self.events.append(text)

    def moment(self, now: Moment) -> None:
        self.moments.append(now)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_faults_are_shown_and_nothing_is_lost(tmp_path: Path) -> None:
    witness = Witness()
    outcome = run(
        run_demo(Options(brokers=3, seconds=8.0, rate=100.0), tmp_path, witness), seconds=300.0
    )
    tags = [text.partition(" ")[0] for text in witness.events]
    assert [tag for tag in tags if tag in {"CUT", "KILL", "START"}] == [
        "CUT",
        "CUT",
        "KILL",
        "START",
        "CUT",
    ]
    assert tags.count("BACK") == 4
    assert "GAP" in tags
    assert any(not now.view.brokers["B3"].is_up for now in witness.moments)
    rows = read(tmp_path / "trace")
    last = max(row.at for row in rows if row.kind == "published")
    assert max(row.at for row in rows) > last + 2.0  # so that all of it is judged
    verdict = check(rows)
    assert verdict.violations == []
    assert verdict.expected > 50
    assert outcome.died == ()
    assert 0 < verdict.published <= outcome.published
