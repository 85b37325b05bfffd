"""What is remembered of a decision."""

from __future__ import annotations

import msgspec

from protocol.optimize.middle import decision
from sapwood.protocol.optimize.decision import Decision, is_sound


def test_what_a_fault_made_of_it_is_none() -> None:
    assert is_sound(decision())
    assert is_sound(decision(gain_seen=2.0, outcome="completed"))
    assert not is_sound(decision(gain="much"))
    assert not is_sound(decision(outcome="perhaps"))
    assert not is_sound(None)
    assert not is_sound({"at": 1.0})


def test_it_can_be_written_down_and_read() -> None:
    one = decision(reason="to make room for w", outcome="refused")
    assert msgspec.json.decode(msgspec.json.encode(one), type=Decision) == one
