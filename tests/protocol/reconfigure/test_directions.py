"""How edges of a ring are routed in the new tree, where routing follows the parents."""

from __future__ import annotations

import pytest

from protocol.reconfigure import suites
from protocol.reconfigure.exploring import CHANGE, Explorer, State, name
from sapwood.protocol.broker import Broker
from sapwood.routing.algorithms import FLOODING


def played(root: int, k: int = 2) -> tuple[Explorer, list[State]]:
    """All that follows if links bring what they have one after the other."""
    _, setup = next(suites.order(4, k, root=root))
    explorer = Explorer(setup)
    state = explorer.initial()
    states = [state]
    while following := list(explorer.following(state)):
        state, problem = following[-1]
        assert problem == ""
        states.append(state)
    return explorer, states


def brokers(explorer: Explorer, state: State) -> list[Broker]:
    return [explorer.lives.broker(one) for one in state.brokers]


@pytest.mark.parametrize("root", range(4))
def test_edges_are_routed_by_the_parents_of_the_new_tree(root: int) -> None:
    explorer, states = played(root)
    for number, broker in enumerate(brokers(explorer, states[-1])):
        parent = explorer.setup.parent(number, is_after=True)
        assert broker.turning.finished[CHANGE] == "completed"
        for other in broker.neighbours.tree():
            one = broker.neighbours[other]
            assert (one.sends == FLOODING) is (other != parent)
            assert one.is_flooded is (other == parent)
            assert one.announced == one.sends
        assert broker.misrouted() == []


@pytest.mark.slow
def test_who_has_turned_gives_everything_to_both_sides_until_the_end() -> None:
    explorer, states = played(root=3, k=3)
    seen = {
        tuple(sorted(broker.forwarding.neighbours.items()))
        for state in states
        for broker in brokers(explorer, state)
        if broker.id == name(1) and broker.turning.ring is not None and broker.turning.ring.is_gray
    }
    assert seen == {(("B1", True), ("B3", True))}


def test_both_ends_count_the_same_switches() -> None:
    explorer, states = played(root=3)
    for state in (states[0], states[-1]):
        known = {one.id: one for one in brokers(explorer, state)}
        for one in known.values():
            for other in one.neighbours.tree():
                there = known[other].neighbours[one.id]
                assert one.neighbours[other].inward_number == there.outward_number
