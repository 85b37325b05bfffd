"""Leases and the wrapper in variants: the quick runs, and what is claimed of them."""

from __future__ import annotations

import pytest

from experiments.judging import curves_of, samples_here
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.curves import Curves, Point
from sapwood.experiments.lease_variants import EXPERIMENTS

BY_NAME = {one.name: one for one in EXPERIMENTS}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zones", "two-layers", "cycles"])
def test_what_must_hold_does(name: str) -> None:
    claims = BY_NAME[name].judge(curves_of(samples_here(BY_NAME[name], 3)))
    assert [one for one in claims if one.verdict != HOLDS] == []


def test_a_bound_that_is_missed_is_a_difference() -> None:
    curves = Curves([Point("late", "two layers", 0.0, 9, 0.1, 0.1, None, None)])
    (claim,) = BY_NAME["two-layers"].judge(curves)
    assert claim.verdict == DIFFERS
