"""``python -m sapwood.sim.swarm``: what it says, and how it ends."""

from __future__ import annotations

import pytest

from sapwood.sim.swarm import case_run
from sapwood.sim.swarm.__main__ import main


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["--seed", "0", "--count", "2"]) == 0
    assert capsys.readouterr() == ("", "2 seeds, 0 with problems\n")
    monkeypatch.setattr(case_run, "EVENTS_MAX", 50)
    assert main(["--seed", "1"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("seed 1 (")
    assert "\n  it does not come to rest: more than 50 events\n" in out
    assert out.endswith("\n  again: python -m sapwood.sim.swarm --seed 1\n")
    assert err == "1 seeds, 1 with problems\n"
