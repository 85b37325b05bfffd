"""The papers' protocols in a given network: each with the shortest period that it allows."""

from __future__ import annotations

import pytest

from analysis.stabilization.samples import LAN
from sapwood.analysis.stabilization.comparing import published_bounds


def test_all_equations_in_one_network() -> None:
    """Diameter 12, height 6, 50 ms: π = 1.01 · 30.6 or (wrapper) 31.2, ξ = 1.01 · 30.9."""
    found = {one.equation: one for one in published_bounds(LAN, 30.0)}
    lease, rebuild, recolor = 1.01 * 30.6, 1.01 * 31.2, 1.01 * 30.9
    short, long = 2 * lease + 0.6, 2 * lease + 30.6
    expected = {
        "3.1": (lease, long, long),
        "3.2": (30.0, 60.0, 60.0),
        "3.4": (lease, short, short),
        "3.5": (lease, short, short),
        "3.6": (lease, short, short),
        "3.7": (lease, long, long),
        "3.8": (lease, short, short),
        "3.9": (lease, long, long),
        "3.10": (rebuild, 2 * rebuild + 0.6, 2 * rebuild + 0.6),
        "3.11": (rebuild, 4 * rebuild + 1.2, 4 * rebuild + 1.2),
        "4.3": (recolor, 4 * recolor + 0.6, 6 * recolor + 0.9),
    }
    assert list(found) == list(expected)
    for equation, values in expected.items():
        one = found[equation]
        assert (one.period, one.printed, one.corrected) == pytest.approx(values), equation
