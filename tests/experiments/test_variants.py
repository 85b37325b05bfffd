"""What the papers name in a sentence: small runs, and what must hold of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.judging import curves_of, samples_here, verdicts
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.variants import EXPERIMENTS, merged

BY_NAME = {one.name: one for one in EXPERIMENTS}
INTERVALS = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 30)).map(lambda one: (one[0], sum(one))),
    min_size=1,
    max_size=12,
)


@given(INTERVALS, st.sampled_from([0.0, 0.1, 0.5, 2.0]))
def test_merged_filters_match_what_is_wanted_and_little_more(
    wanted: list[tuple[int, int]], excess: float
) -> None:
    needed = {value for first, last in wanted for value in range(first, last + 1)}
    found = [value for first, last in merged(wanted, excess) for value in range(first, last + 1)]
    assert needed <= set(found)
    assert len(found) == len(set(found))
    assert len(found) - len(needed) <= excess * len(needed)


@pytest.mark.slow
def test_imperfect_merging_loses_nothing_and_a_filter_that_is_too_narrow_does() -> None:
    experiment = BY_NAME["imperfect-merging"]
    samples = samples_here(experiment, 1)
    claims = experiment.judge(curves_of(samples))
    assert [one.verdict for one in claims] == [HOLDS] * 3
    spoilt = [one._replace(value=1.0) if one.measure == "lost" else one for one in samples]
    assert experiment.judge(curves_of(spoilt))[0].verdict == DIFFERS


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["several-trees", "clusters"])
def test_small_runs_meet_what_is_expected(name: str) -> None:
    found = verdicts(BY_NAME[name].judge(curves_of(samples_here(BY_NAME[name]))))
    assert set(found.values()) == {HOLDS}
