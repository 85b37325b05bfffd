"""Both ends of a link agree on what it is: what only one of them lets carry is no way."""

from __future__ import annotations

from msgspec.structs import replace

from protocol.brokers import handle
from protocol.stabilize.test_tree import (
    CHILD,
    FEATURES,
    FROM_ROOT,
    below_root,
    broker,
    hear,
    with_child,
)
from sapwood.protocol.effects import CloseLink, Effect, Hold, Say
from sapwood.protocol.events import LinkUp, NeighbourAway, NeighbourBack, Tick
from sapwood.protocol.stabilize.beacon import Beacon

NOT_TAKEN_UP = [CloseLink("C", "the other end has not taken it up")]


def test_a_child_that_has_changed_its_mind_is_no_child() -> None:
    """The parent has let the link carry first; the child has another root meanwhile."""
    made = below_root("C")
    hear(made, "C", replace(CHILD, asks=True))
    assert made.tree.carries("C")
    assert not made.tree.is_shared("C"), "it may have changed its mind"
    assert hear(made, "C", Beacon("D", 2000, 0.0, ("D", "C"), parent="D")) == NOT_TAKEN_UP


def test_a_link_that_nobody_has_taken_up_is_no_way() -> None:
    """Whoever took it for one would let it carry in the other direction, and have asked nobody."""
    made = broker("C")
    hear(made, "C", Beacon("B", 1000, 0.0, ("B", "C"), parent="B", asks=True))
    assert made.tree.carries("C")
    effects = hear(made, "C", Beacon("A", 1000, 0.0, ("A", "C"), parent="A", is_whole=True))
    assert [one for one in effects if isinstance(one, CloseLink)] == NOT_TAKEN_UP
    said = [one.beacon for one in effects if isinstance(one, Say)]
    assert [(one.carries, one.is_whole) for one in said] == [(False, False)]


def test_a_kept_link_that_was_asked_for_in_vain_is_held_before_it_is_a_way() -> None:
    """C has asked B for a link that both keep, and finds a better root by another way."""
    made = broker("C")
    below = Beacon("B", 1000, 0.0, ("B", "C"), parent="B")
    hear(made, "C", replace(below, asks=True))
    hear(made, "C", replace(below, carries=True, is_carried=True, is_whole=True))
    handle(made, NeighbourAway("C"), 2.0)
    handle(made, NeighbourBack("C", in_place=False), 3.0)
    hear(made, "C", replace(below, asks=True, is_kept=True), 3.1)
    assert made.tree.carries("C")
    other = Beacon("A", 1000, 0.0, ("A", "C"), parent="A", is_whole=True, is_kept=True)
    effects = hear(made, "C", other, 3.2)
    assert effects[0] == Hold("C", is_held=True)
    assert (made.tree.parent, made.tree.carries("C")) == ("C", False)
    assert not any(one.beacon.is_carried for one in effects if isinstance(one, Say))


def test_what_another_one_holds_is_held() -> None:
    """One that is neither parent nor child; else notifications would go and nobody take them."""
    made = with_child()
    turned = Beacon("D", 2000, 0.0, ("D", "C"), parent="D", is_kept=True)
    assert hear(made, "C", turned)[0] == Hold("C", is_held=True)


def test_a_child_does_not_follow_its_parent_but_the_parent_its_child() -> None:
    """If each did what the other had just done, they would go on for ever."""
    made = with_child()
    hear(made, "A", replace(FROM_ROOT, is_kept=True))
    assert made.tree.carries("A")
    assert not made.tree.is_shared("A")
    hear(made, "C", replace(CHILD, is_kept=True))
    assert not made.tree.carries("C")
    assert hear(made, "C", replace(CHILD, is_carried=True))[0] == Hold("C", is_held=False)


def test_a_parent_that_has_let_go_a_link_is_a_candidate_again() -> None:
    made = below_root()
    (closed,) = (one for one in hear(made, "A", FROM_ROOT) if isinstance(one, CloseLink))
    assert closed == CloseLink("A", "the other end has not taken it up")


def test_what_does_not_hang_below_is_held_before_a_link_carries_without_a_survey() -> None:
    """A is not heard any more and answers nothing; D knows the same root, but so may A."""
    made = with_child()
    handle(made, LinkUp("D", in_tree=False, features=FEATURES), 1.0)
    way = Beacon("A", 1000, 0.0, ("A", "D"), parent="A", carries=True, is_whole=True)
    effects: list[Effect] = []
    now = 2.0
    while "A" not in made.tree.kept:
        effects += hear(made, "D", way, now)
        child = replace(CHILD, path=(*made.tree.path, "B", "C"), is_carried=True, carries=True)
        effects += hear(made, "C", child, now)
        effects += handle(made, Tick(), now)
        now += 0.5
        assert now < 40.0
    held = [one for one in effects if isinstance(one, Hold | CloseLink)]
    assert held == [Hold("A", is_held=True)]
    assert (made.tree.parent, made.tree.carries("C")) == ("D", True)
    asked = hear(made, "D", replace(way, age=0.1), now)
    assert [one.beacon.asks for one in asked if isinstance(one, Say) and one.neighbour == "D"] == [
        True
    ]
