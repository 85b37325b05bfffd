"""What passes through a broker, counted for its neighbours."""

from __future__ import annotations

from protocol.optimize.middle import Middle, decision
from sapwood.protocol.events import LinkDown, LinkUp
from sapwood.protocol.optimize.messages import SWAPS, SwapPropose
from sapwood.protocol.optimize.records import Promise, Proposal


def busy() -> Middle:
    """Five that concern a and b, three that concern a and a client, two that only end here."""
    middle = Middle()
    middle.want("b", "x = 1")
    middle.want("client.1", "x = 2")
    middle.pass_on("a", 5, x=1)
    middle.pass_on("a", 3, x=2)
    middle.pass_on("c", 2, x=7)
    return middle


def test_clients_are_one_and_what_goes_nowhere_ends_here() -> None:
    middle = busy()
    middle.pass_on("client.1", 4, x=1)
    expected = {("a", "b"): 5, ("", "a"): 3, ("", "c"): 2, ("", "b"): 4}
    assert middle.sets == expected


def test_the_middle_of_a_swap_goes_on_counting() -> None:
    middle = busy()
    swapping = middle.broker.swapping
    middle.now = 7.0
    swapping.proposal = Proposal(decision(), -1_000_001, 60.0, is_begun=True)
    middle.bring(LinkDown("a"))
    assert middle.sets == {("", "b"): 3, ("", "c"): 2}
    assert swapping.since == {"b": 0.0, "c": 0.0}


def test_the_mover_of_a_swap_goes_on_counting() -> None:
    """V leaves a for d."""
    middle = busy()
    swapping = middle.broker.swapping
    middle.now = 7.0
    swapping.promise = Promise(SwapPropose("a.1/s1", "v", "d"), "a", 60.0)
    middle.bring(LinkDown("a"))
    middle.bring(LinkUp("d", features=(SWAPS,)))
    assert middle.sets == {("b", "d"): 5, ("", "d"): 3, ("", "c"): 2}
    assert swapping.since == {"b": 0.0, "c": 0.0, "d": 0.0}
    assert swapping.promise.is_done


def test_the_one_that_gets_the_new_link_counts_both_others_anew() -> None:
    """D is moved from a onto v."""
    middle = busy()
    swapping = middle.broker.swapping
    middle.now = 7.0
    proposed = SwapPropose("a.1/s1", "d", "v")
    swapping.promise = Promise(proposed, "a", 60.0)
    middle.bring(LinkUp("d", features=(SWAPS,)))
    assert swapping.since == {"a": 7.0, "b": 0.0, "c": 0.0, "d": 7.0}
    assert [one.proposed for one in swapping.watched] == [proposed]


def test_after_any_other_change_everything_is_counted_anew() -> None:
    middle = busy()
    middle.now = 7.0
    middle.bring(LinkDown("a"))
    assert middle.broker.swapping.since == {"b": 7.0, "c": 7.0}
    middle.bring(LinkUp("d"))
    assert middle.broker.swapping.since == {"b": 7.0, "c": 7.0, "d": 7.0}


def test_the_cost_of_the_traffic_is_that_of_eq_5_3() -> None:
    """P for each that is handled, and half of each link: the other half is the neighbour's."""
    middle = busy()
    middle.now = 10.0
    assert middle.sets
    processing = 1.0 * (5 + 3 + 2)
    links = 5 * (5.0 + 2.0) / 2 + 3 * 5.0 / 2 + 2 * 1.0 / 2
    assert middle.broker.swapping.cost == (processing + links) / 10.0
