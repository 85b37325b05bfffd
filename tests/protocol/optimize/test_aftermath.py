"""What swaps have gained."""

from __future__ import annotations

import pytest

from protocol.optimize.middle import Middle, decision
from sapwood.protocol.effects import Send
from sapwood.protocol.optimize.messages import SwapDone, SwapPropose
from sapwood.protocol.optimize.records import Watched


def test_what_it_would_lose_to_undo_it_is_what_it_gained() -> None:
    """A was moved from b onto v: 40 of 60 concern a only, seen from v."""
    middle = Middle()
    middle.hear()
    middle.want("client.1", "x = 1")
    middle.want("b", "x = 2")
    middle.pass_on("a", 40, x=1)
    middle.pass_on("a", 20, x=2)
    proposed = SwapPropose("b.1/s1", "a", "v", cost_old=9.0)
    middle.broker.swapping.watched = [Watched(proposed, "b", 0.0)]
    effects = middle.wait(30.0)
    (done,) = [one for one in effects if isinstance(one, Send) and type(one.message) is SwapDone]
    assert done.destination == "b"
    assert isinstance(done.message, SwapDone)
    assert (done.message.change, done.message.link_cost) == ("b.1/s1", 5.0)
    # Undoing: N 60, J 20, X 20; c_old 5, c_new 9, c_kept 2, p 1 and 1, in all seconds so far.
    lost = 60 * (5 - 9) + 20 * (1 + 2) - (60 - 20) * (1 + 2)
    window = -lost / done.message.gain
    assert 20.0 <= window <= 30.0
    assert middle.broker.swapping.watched == []


def test_what_was_seen_is_noted_with_the_decision() -> None:
    middle = Middle()
    swapping = middle.broker.swapping
    swapping.decisions = [decision(gain=8.0, outcome="completed")]
    middle.tell("c", SwapDone("v.1/s1", 6.0, 2.0))
    assert [one.gain_seen for one in swapping.decisions] == [None]  # it was not onto c
    middle.tell("b", SwapDone("v.1/s1", 6.0, 2.0))
    assert (swapping.decisions[0].gain_seen, swapping.gain_seen) == (6.0, 6.0)
    middle.tell("b", SwapDone("v.1/s1", 100.0, 2.0))
    assert swapping.decisions[0].gain_seen == 6.0  # once is enough


def test_who_promises_too_much_three_times_is_left_out_for_an_hour() -> None:
    middle = Middle()
    swapping = middle.broker.swapping
    for number, seen in enumerate((3.9, 1.0, 5.0, 0.0, -8.0, 3.0)):
        swapping.decisions = [decision(gain=8.0, outcome="completed", change=f"v.1/s{number}")]
        assert "b" not in swapping.left_out
        middle.tell("b", SwapDone(f"v.1/s{number}", seen, 2.0))
    assert swapping.left_out == {"b": 3600.0}
    middle.hear()
    assert not swapping._is_allowed("a", "b", 3599.0)
    assert swapping._is_allowed("b", "a", 3599.0)
    assert swapping._is_allowed("a", "b", 3601.0)


@pytest.mark.parametrize("gain", [float("nan"), float("inf"), -1e9])
def test_what_cannot_be_a_gain_is_not_believed(gain: float) -> None:
    middle = Middle()
    middle.broker.swapping.decisions = [decision(outcome="completed")]
    middle.tell("b", SwapDone("v.1/s1", gain, 2.0))
    assert middle.broker.swapping.decisions[0].gain_seen is None
    assert middle.broker.surroundings.counts["ignored"] == 1
