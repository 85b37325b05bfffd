"""Edges switch in the waves of the paper: from the ends of ways, and back from their beginnings."""

from __future__ import annotations

import pytest

from sapwood.sim.edge_routing.waves import switching_waves


@pytest.mark.slow
def test_edges_switch_in_waves_and_back_in_the_reverse_order() -> None:
    found = switching_waves()
    assert found.to_simple == {
        ("B3", "B1"): 1, ("B3", "B2"): 1, ("B4", "B5"): 1,
        ("B3", "B4"): 2, ("B4", "B3"): 2,
        ("B1", "B3"): 3, ("B2", "B3"): 3, ("B5", "B4"): 3,
    }  # fmt: skip
    assert found.to_flooding == {edge: 4 - wave for edge, wave in found.to_simple.items()}
