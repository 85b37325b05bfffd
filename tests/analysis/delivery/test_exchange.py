"""When a direct link would pay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.analysis.delivery.exchange import Step, path_cost, saves
from sapwood.errors import ParameterError

COSTS = st.floats(0, 100)


@given(COSTS, COSTS, COSTS, COSTS, COSTS, COSTS, *[st.integers(0, 50)] * 3)
def test_it_is_the_comparison_of_both_trees(  # noqa: PLR0917 - as many as the formula has
    c_ij: float, c_ik: float, c_kj: float, p_i: float, p_j: float, p_k: float,
    common: int, only_ij: int, only_ik: int,
) -> None:  # fmt: skip
    """Eq. 5.10 against Eq. 5.8 and 5.9."""
    i_ij, i_ik = common + only_ij + 1, common + only_ik
    now = (
        i_ik * (p_i + c_ik + p_k)
        + i_ij * (p_i + c_ik + p_k + c_kj + p_j)
        - common * (p_i + c_ik + p_k)
    )
    then = i_ik * (p_i + c_ik + p_k) + i_ij * (p_i + c_ij + p_j) - common * p_i
    way = [Step(c_ik, p_k, i_ik), Step(c_kj, p_j, i_ij, common)]
    if abs(then - now) > 1e-9 * (then + now):
        assert saves(c_ij, way) == (then < now)


def test_a_longer_way() -> None:
    way = [Step(1.0, 10.0, 5), Step(2.0, 20.0, 4, 1), Step(3.0, 0.0, 2, 1)]
    second = 3 / 4 * (1.0 + 10.0) + 2.0
    assert path_cost(way) == pytest.approx(1 / 2 * (second + 20.0) + 3.0)
    assert path_cost(way[:1]) == 1.0


def test_nothing_shared_counts_the_whole_way() -> None:
    assert path_cost([Step(1.0, 10.0, 5), Step(2.0, 0.0, 0)]) == 13.0


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="way: is empty"):
        path_cost([])
    with pytest.raises(ParameterError, match="link: is -1"):
        saves(-1.0, [Step(1.0, 0.0, 1)])
    with pytest.raises(ParameterError, match="shared_with_previous: is more than"):
        path_cost([Step(1.0, 0.0, 1), Step(1.0, 0.0, 1, 2)])
