"""Swaps: a small selection of the runs, and what is claimed of them."""

from __future__ import annotations

import dataclasses

import pytest

from experiments.judging import curves_of, samples_here, verdicts
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.swap_link import EXPERIMENTS

(SWAP_LINK,) = EXPERIMENTS


@pytest.mark.slow
def test_swaps_take_the_messages_of_the_paper_and_lose_nothing() -> None:
    one_run = dataclasses.replace(SWAP_LINK, quick=SWAP_LINK.quick._replace(runs=1))
    samples = samples_here(one_run)
    found = verdicts(SWAP_LINK.judge(curves_of(samples, is_printed=False)))
    assert found["P3.5", "messages of swap"] == HOLDS
    assert found["P3.3", "lost, turning-waves"] == HOLDS
    assert found["P3-T1", "kept by swap-causal"] == HOLDS
    spoilt = [
        one._replace(value=1.0) if one[:2] == ("duplicated", "swap-causal") else one
        for one in samples
    ]
    found = verdicts(SWAP_LINK.judge(curves_of(spoilt, is_printed=False)))
    assert found["P3-T1", "kept by swap-causal"] == DIFFERS
