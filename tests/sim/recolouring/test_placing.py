"""Placing a broker writes all colours, the flags and the path."""

from __future__ import annotations

from sapwood.protocol.stabilize.published.colour_parts import ColourState
from sapwood.sim.recolouring.placing import place

PARENTS = {"B1": "", "B2": "B1", "B3": "B2", "B4": "B2"}


def test_an_inner_broker() -> None:
    state = ColourState()
    place(state, "B2", PARENTS)
    assert state.children == [{"B3", "B4"}] * 3
    assert (state.flags, state.parent, state.path) == ({"B3", "B4"}, ["B1"] * 3, ("B1", "B2"))


def test_the_root() -> None:
    state = ColourState()
    place(state, "B1", PARENTS)
    assert (state.children[0], state.parent, state.path) == ({"B2"}, [""] * 3, ("B1",))
