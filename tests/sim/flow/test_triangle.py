"""Formulas, flow and exact simulation agree within their intervals on the same scenarios.

The confidence was chosen beforehand, from the number of comparisons (three for each of some fifty
quantities): with fresh seeds all of them hold together with a probability of some 85%; seeds are
fixed, so it is the same every time.
"""

from __future__ import annotations

import pytest

from expecting import expect_none
from sapwood.sim.flow import traffic
from sim.flow.triangle import (
    ALGORITHMS,
    FLOW_RUNS,
    FLOW_SECONDS,
    TREES,
    VARIANTS,
    corners,
    mean_of,
    scenario,
)

pytestmark = pytest.mark.timeout(600)
"""The first run compiles."""

CONFIDENCE = 0.999


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("tree", TREES)
def test_formulas_flow_and_exact_simulation_agree(tree: str, algorithm: str, variant: str) -> None:
    if algorithm == "flooding" and variant != VARIANTS[0]:
        pytest.skip("flooding is the same in every direction")
    found = corners(tree, algorithm, variant, runs=8, seconds=40.0, confidence=CONFIDENCE)
    expect_none([str(one) for one in found if not one.agree])


@pytest.mark.slow
def test_a_wrong_count_would_be_noticed() -> None:
    """Intervals of flow are narrow: three messages in a hundred are seen."""
    found = scenario("random", overlapping=False)
    runs = [
        traffic(found, "identity", seconds=FLOW_SECONDS, seed=seed).traffic
        for seed in range(FLOW_RUNS)
    ]
    for name in ("notifications", "changes", "entries"):
        mean = mean_of([float(getattr(one, name)) for one in runs], CONFIDENCE)
        assert mean.half_width < 0.03 * mean.value
