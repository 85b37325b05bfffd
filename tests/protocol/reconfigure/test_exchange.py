"""One exchange of a link: its ring, its cost, and what is refused."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import PlanError
from sapwood.protocol.reconfigure.exchange import Exchange, exchange, swap
from sapwood.protocol.tree import Link
from sapwood.sim.topology import chain, random_tree

LINE = chain(6)


@pytest.mark.parametrize(
    ("n", "k", "messages", "hold_hops"),
    [
        (3, 1, 8, 4),
        (3, 2, 9, 2),
        (4, 2, 12, 4),
        (5, 2, 15, 6),
        (6, 3, 19, 6),
        (8, 4, 26, 8),
        (10, 5, 33, 10),
        (12, 6, 40, 12),
        (12, 11, 45, 18),
        (12, 1, 35, 22),
    ],
)
def test_messages_and_hold_are_those_of_the_specification(
    n: int, k: int, messages: int, hold_hops: int
) -> None:
    step = Exchange(chain(n).brokers, k)
    assert (step.messages, step.hold_hops) == (messages, hold_hops)


def test_the_longer_side_is_on_the_left_whichever_way_links_are_written() -> None:
    wanted = Exchange(("B6", "B5", "B4", "B3", "B2", "B1"), 4)
    for old in (("B2", "B3"), ("B3", "B2")):
        for new in (("B1", "B6"), ("B6", "B1")):
            assert exchange(LINE, old, new) == wanted
    assert (wanted.old, wanted.new) == (("B3", "B2"), ("B1", "B6"))


def test_a_swap_is_the_exchange_with_three_and_waits_least() -> None:
    step = swap(LINE, "B3", "B2", "B1")
    assert step == Exchange(("B1", "B2", "B3"), 2)
    assert (step.messages, step.hold_hops) == (9, 2)
    assert str(step) == "B2-B3 → B3-B1"


def test_who_cannot_dial_is_asked_along_the_ring() -> None:
    step = exchange(LINE, ("B2", "B3"), ("B1", "B4"), lambda caller, called: caller == "B4")
    assert step == Exchange(("B1", "B2", "B3", "B4"), 2, is_prepared=True)
    assert step.messages == 12 + 3


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (("B1", "B9"), ("B1", "B3"), "there is no broker 'B9'; there are B1, B2, B3, B4, B5, …"),
        (("B1", "B2"), ("B1", "B9"), "there is no broker 'B9'; there are B1, B2, B3, B4, B5, …"),
        (("B1", "B3"), ("B1", "B4"), "there is no link B1-B3 to replace; B1 is linked to B2"),
        (("B1", "B2"), ("B3", "B3"), "B3-B3 would link B3 to itself"),
        (
            ("B1", "B2"),
            ("B2", "B1"),
            "there is nothing to do: B1-B2 would be replaced by itself",
        ),
        (
            ("B1", "B2"),
            ("B2", "B3"),
            "there is a link B2-B3 already; the tree would fall apart without B1-B2",
        ),
        (
            ("B1", "B2"),
            ("B3", "B5"),
            "B3-B5 does not join the two parts again that B1-B2 leaves; it could replace "
            "B3-B4 or B4-B5",
        ),
    ],
)
def test_what_is_no_exchange_is_refused(old: Link, new: Link, problem: str) -> None:
    with pytest.raises(PlanError) as caught:
        exchange(LINE, old, new)
    assert str(caught.value) == problem


def test_a_pair_of_which_neither_can_dial_is_refused() -> None:
    with pytest.raises(PlanError) as caught:
        exchange(LINE, ("B1", "B2"), ("B1", "B3"), lambda caller, called: False)
    assert str(caught.value) == (
        "neither B3 nor B1 can open a connection to the other; let one of them listen where "
        "the other can reach it, or choose another link"
    )


def test_a_swap_to_somebody_further_away_is_refused() -> None:
    with pytest.raises(PlanError) as caught:
        swap(LINE, "B1", "B2", "B4")
    assert str(caught.value) == (
        "there is no link B2-B4; a swap takes B1 from a neighbour to a neighbour of that one"
    )


@given(st.integers(3, 12), st.integers(0, 10**6), st.data())
def test_any_link_of_a_ring_can_be_replaced(count: int, seed: int, data: st.DataObject) -> None:
    tree = random_tree(count, Random(seed))
    pairs = [
        (one, other)
        for one in tree.brokers
        for other in tree.brokers
        if one < other and other not in tree.neighbours(one)
    ]
    if not pairs:
        return
    new = data.draw(st.sampled_from(pairs))
    ring = tree.path(*new)
    place = data.draw(st.integers(1, len(ring) - 1))
    step = exchange(tree, (ring[place - 1], ring[place]), new)
    assert step.k >= step.n - step.k
    after = step.applied(tree)  # a Topology refuses what is no tree
    assert set(map(frozenset, after.links)) == (
        set(map(frozenset, tree.links)) - {frozenset(step.old)} | {frozenset(new)}
    )
    assert step.hold_hops <= Exchange(step.ring[::-1], step.n - step.k).hold_hops
