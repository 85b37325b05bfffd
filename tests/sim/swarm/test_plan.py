"""Plans of the swarm: a case says what it is, and a network that fell apart is seen as such."""

from __future__ import annotations

from sapwood.sim.swarm.plan import components
from sim.swarm.planning import BEGIN, case_of


def test_a_case_describes_itself() -> None:
    assert case_of(*BEGIN).describe() == (
        "2 brokers, peer-to-peer, advertisements off, 3 steps, fixed tree"
    )


def test_parts_of_a_network() -> None:
    parts = components(("A", "B", "C"), [("A", "B")])
    assert parts["A"] == parts["B"] != parts["C"]
