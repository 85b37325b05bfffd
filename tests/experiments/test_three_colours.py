"""Three colours: a run of every case, and what is claimed of them."""

from __future__ import annotations

import dataclasses

import pytest

from experiments.judging import curves_of, samples_here, verdicts
from sapwood.experiments.claims import DIFFERS, NOT_JUDGED
from sapwood.experiments.three_colours import EXPERIMENTS, settings_of

(THREE_COLOURS,) = EXPERIMENTS


@pytest.mark.slow
def test_coloured_trees_heal_in_time() -> None:
    one_run = dataclasses.replace(THREE_COLOURS, quick=THREE_COLOURS.quick._replace(runs=1))
    samples = samples_here(one_run)
    found = verdicts(THREE_COLOURS.judge(curves_of(samples)))
    assert DIFFERS not in found.values()
    assert {key for key, verdict in found.items() if verdict == NOT_JUDGED} == {
        key for key in found if key[0] in {"T4.16", "T4.17", "T4.20", "T4.21"}
    }
    spoilt = [
        one._replace(value=1.0) if one[:2] == ("late", "corrected, cut") else one for one in samples
    ]
    late = verdicts(THREE_COLOURS.judge(curves_of(spoilt)))
    assert late["T4.18", "cut: share later than 6ξ + 3hδmax"] == DIFFERS


def test_a_seed_gives_one_run() -> None:
    point = THREE_COLOURS.quick.points[0]
    assert settings_of(point, 7) == settings_of(point, 7) != settings_of(point, 8)
