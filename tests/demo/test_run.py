"""The demonstration from beginning to end, with real processes, watched by a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.living import run
from sapwood.demo.judgement import Span, judge
from sapwood.demo.run import Moment, Options, run_demo
from sapwood.demo.script import Act
from sapwood.trace import read


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
def test_acts_are_shown_and_nothing_is_lost_but_amid_faults(tmp_path: Path) -> None:
    witness = Witness()
    outcome = run(
        run_demo(Options(brokers=3, seconds=8.0, rate=100.0), tmp_path, witness), seconds=300.0
    )
    tags = [text.partition(" ")[0] for text in witness.events]
    acts = ["CUT", "OFFER", "SWAP", "SPOIL", "KILL"]
    assert [tag for tag in tags if tag in acts] == acts
    assert (tags.count("DID"), tags.count("RIGHT"), tags.count("DONE")) == (5, 4, 1)
    assert "GAP" in tags
    assert any(not now.view.brokers["B1"].is_up for now in witness.moments)
    assert [one.act for one in outcome.acts] == list(Act)
    cut, offer, change, spoil, kill = outcome.acts
    assert "B1 and B2 kept the place of the other" in cut.did
    assert offer.did == (
        "1 links stand by, none closes a circle; 0 notifications came twice; the tree is as it was"
    )
    assert change.did == (
        "2 exchanges with 18 messages; new parents: B3 B1→B2; then the tree is as it was"
    )
    assert "entries put right" in spoil.did
    assert kill.did.startswith("B2 is the root; new parents: B2 B1→nobody, B3 B1→B2; ")
    rows = read(tmp_path / "trace")
    last = max(row.at for row in rows if row.kind == "published")
    assert max(row.at for row in rows) > last + 2.0  # so that all of it is judged
    spans = [Span(one.began_at, one.ended_at) for one in outcome.acts if one.may_lose]
    judgement = judge(tmp_path / "trace", lambda _: None, spans)
    assert judgement.is_correct, judgement
    assert judgement.gaps == ("B1",)
    assert judgement.counts["expected"] > 50
    assert outcome.died == ()
    assert 0 < judgement.counts["published"] <= outcome.published
